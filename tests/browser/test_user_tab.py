"""A scripted user is written and played in the editor."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import expect

from scenarios_app.models import Scenario
from tests.admin.pages import create_scenario
from tests.browser.conftest import Admin
from tests.browser.editing import open_test, page_of

pytestmark = pytest.mark.browser

SCRIPT = {
    "turns": [
        {"say": "I want my money back."},
        {
            "when": {"say": {"contains": "order number"}},
            "say": "12",
            "must": [{"say": {"contains": "on its way"}}, {"not_call": {"name": "refund"}}],
        },
    ],
    "must": [{"not_say": {"contains": "sorry", "ignore_case": True}}],
}
STEPS = (
    {"match.messages(user)": "money", "produce.text": "What is your order number?"},
    {"match.messages(user)": "12", "produce.text": "Sorry, that is lost."},
)


@pytest.mark.parametrize("width", [1280, 420])
def test_script_is_written_and_played(
    log_in: Callable[..., Admin], width: int, tmp_path: Path
) -> None:
    admin = log_in(width=width)
    page = admin.page
    admin.go(page_of(create_scenario("refund", *STEPS)))
    page.get_by_text("Scripted user", exact=True).click()
    page.get_by_label("Scripted user (JSON)").fill(json.dumps(SCRIPT, indent=1))
    tab = open_test(page, "Scripted user")
    expect(tab.locator("#told")).to_have_text("A checkpoint failed.")
    turns = tab.locator("[data-state]")
    expect(turns).to_have_count(2)
    expect(turns.nth(0)).to_have_attribute("data-state", "passed")
    expect(turns.nth(1)).to_have_attribute("data-state", "failed")
    expect(turns.nth(1)).to_contain_text('contains "on its way"')
    expect(tab.locator("#whole")).to_contain_text("must not say")
    tab.get_by_role("button", name="Play again").click()
    expect(turns).to_have_count(2)
    tab.screenshot(path=tmp_path / f"user-{width}.png", full_page=True)
    assert tab.evaluate("document.documentElement.scrollWidth") <= width
    page.screenshot(path=tmp_path / f"editor-{width}.png", full_page=True)
    # Nothing was saved.
    assert Scenario.objects.get().user == {}


def test_wrong_script_is_shown_at_its_field(admin: Admin) -> None:
    page = admin.page
    admin.go(page_of(create_scenario("refund", *STEPS)))
    page.get_by_text("Scripted user", exact=True).click()
    page.get_by_label("Scripted user (JSON)").fill('{"turns": [{"sya": "x"}]}')
    expect(page.locator("#notes")).to_contain_text('turns[0].sya: unknown key, did you mean "say"?')
