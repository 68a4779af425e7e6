"""A draft is edited and published in the browser; until then the old scenario is served."""

import pytest
from playwright.sync_api import expect

from scenarios_app.models import Draft
from tests.admin.pages import create_scenario
from tests.browser.conftest import Admin
from tests.browser.editing import open_row, page_of, request_answer

pytestmark = pytest.mark.browser


def test_draft_is_edited_unserved_and_then_published(admin: Admin) -> None:
    page = admin.page
    scenario = create_scenario("weather", {"produce.text": "old", "consume": False})
    admin.go(page_of(scenario))
    page.get_by_role("button", name="Edit as draft").click()
    banner = page.get_by_label("Draft", exact=True)
    expect(banner).to_contain_text("Draft of weather")
    open_row(page, 0).get_by_label("Answer text").fill("new")
    admin.save()
    expect(banner).to_contain_text('step 1: Answer text from "old" to "new"')
    assert request_answer(admin, "hello") == "old"
    admin.go(page_of(scenario))
    page.get_by_role("link", name="Open the draft").click()
    banner.get_by_role("link", name="Publish…").click()
    page.get_by_role("button", name="Publish", exact=True).click()
    expect(page.get_by_text("“weather” is published.")).to_be_visible()
    assert request_answer(admin, "hello") == "new"
    assert not Draft.objects.exists()
