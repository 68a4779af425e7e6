"""Each switch of the scenario list is saved when it is clicked."""

import pytest
from playwright.sync_api import expect

from scenarios_app.models import Scenario
from tests.admin.pages import create_scenario
from tests.browser.conftest import Admin
from tests.browser.editing import request_answer

pytestmark = pytest.mark.browser


def test_switch_in_the_list_is_saved_immediately(admin: Admin) -> None:
    create_scenario("one", {"produce.text": "Hi!", "consume": False})
    create_scenario("two", {"match.messages(user)": "nothing"})
    assert request_answer(admin, "hello") == "Hi!"
    page = admin.page
    admin.go("scenarios_app/scenario/")
    switches = page.locator("#result_list input[name^='enabled-']")
    with page.expect_response(lambda response: response.request.method == "POST"):
        switches.first.uncheck()
    switches.last.uncheck()
    expect(page.get_by_text("Saved.")).to_be_visible()
    page.wait_for_load_state("networkidle")
    assert set(Scenario.objects.values_list("enabled", flat=True)) == {False}
    assert request_answer(admin, "hello") == "none"
