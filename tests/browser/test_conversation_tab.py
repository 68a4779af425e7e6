"""An example's conversation is played, changed and saved in the browser."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import expect

from scenarios_app.models import Draft, Scenario, TrialConversation
from tests.admin.pages import create_scenario, texts
from tests.browser.conftest import Admin
from tests.browser.editing import open_row, open_test, page_of

pytestmark = pytest.mark.browser


@pytest.mark.parametrize("width", [1280, 420])
def test_example_is_played_changed_and_saved(log_in: Callable[..., Admin], width: int) -> None:
    admin = log_in(width=width)
    page = admin.page
    page.get_by_role("link", name="Add scenario").click()
    page.get_by_role("link", name="start from an example").click()
    page.get_by_role("button", name="Tool loop").click()
    expect(page.get_by_label("Draft", exact=True)).to_be_visible()
    tab = open_test(page, "Conversation")
    play = tab.get_by_role("button", name="Play", exact=True)
    expect(play).to_be_in_viewport(ratio=1)
    play.click()
    expect(tab.locator("#told")).to_have_text("All turns passed.")
    turns = tab.locator(".sc-tried-step")
    expect(turns).to_have_count(3)
    tab.get_by_label("Turn 2: expected answer").fill("It was lost.")
    tab.keyboard.press("Control+Enter")
    expect(turns.nth(1)).to_have_attribute("data-state", "failed")
    expect(turns.nth(1)).to_contain_text("arrives on Friday")
    turns.nth(1).get_by_role("button", name="Accept this answer as expected").click()
    tab.get_by_role("button", name="+ The user says").click()
    tab.get_by_label("Turn 4: what the user says").fill("And order 4713?")
    tab.get_by_role("button", name="Save and play").click()
    expect(turns).to_have_count(4)
    expect(tab.locator("#told")).to_have_text("All turns passed.")
    assert tab.evaluate("document.documentElement.scrollWidth") <= width
    saved = TrialConversation.objects.get(scenario=Draft.objects.get().name).content
    assert len(saved["turns"]) == 4
    # Keys without a field on the page are kept.
    assert saved["turns"][0]["expect"]["tool_calls"][0]["arguments"] == {"number": "4711"}


def test_unsaved_edits_are_played(admin: Admin) -> None:
    page = admin.page
    scenario = create_scenario("weather", {"match.messages(user)": "sun", "consume": False})
    admin.go(page_of(scenario))
    open_row(page, 0).get_by_label("Answer text").fill("It burns.")
    tab = open_test(page, "Conversation")
    tab.get_by_role("button", name="Play", exact=True).click()
    expect(tab.locator(".sc-tried-step")).to_contain_text("It burns.")
    assert texts(Scenario.objects.get()) == ["answer 1"]


def test_dropped_file_is_previewed_on_the_import_page(admin: Admin, tmp_path: Path) -> None:
    page = admin.page
    document = {"name": "dropped", "steps": [{"produce": {"text": "hi"}}]}
    admin.go("scenarios_app/scenario/import/")
    page.evaluate(
        """text => {
          const data = new DataTransfer();
          data.items.add(new File([text], "one.json", { type: "application/json" }));
          const form = document.getElementById("import_form");
          const given = { dataTransfer: data, bubbles: true, cancelable: true };
          form.dispatchEvent(new DragEvent("drop", given));
        }""",
        json.dumps(document),
    )
    page.get_by_role("button", name="Import 1 scenario").click()
    expect(page.get_by_text("Scenarios imported: 1 added.")).to_be_visible()
    assert Scenario.objects.filter(name="dropped").exists()
