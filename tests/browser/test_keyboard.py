"""The editor without a mouse: everything can be reached, and where one is can be seen."""

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.admin.pages import a_scenario, texts
from tests.browser.conftest import Admin
from tests.browser.editing import page_of, row
from tests.browser.measuring import focus_is_seen, hold_still

pytestmark = pytest.mark.browser

# More than any page has focusable elements.
STOPS = 150


def tab_to(page: Page, wanted: Locator) -> None:
    """Press Tab until it has the focus; at each stop on the way the focus can be seen."""
    for _ in range(STOPS):
        page.keyboard.press("Tab")
        assert focus_is_seen(page), page.evaluate("document.activeElement.outerHTML")
        if wanted.evaluate("one => one === document.activeElement"):
            return
    raise AssertionError(f"Tab does not lead to {wanted}")


def test_step_is_edited_and_saved_with_the_keyboard(admin: Admin) -> None:
    scenario = a_scenario("two", {"answer_text": "a"}, {"answer_text": "b"})
    page = admin.page
    admin.go(page_of(scenario))
    hold_still(page)
    tab_to(page, row(page, 1).locator("summary").first)
    page.keyboard.press("Alt+ArrowUp")
    expect(row(page, 0).locator(".sc-title")).to_contain_text("text “b”")
    page.keyboard.press("Enter")
    tab_to(page, row(page, 0).get_by_label("Answer text"))
    page.keyboard.press("Control+A")
    page.keyboard.type("b again")
    tab_to(page, page.get_by_role("button", name="Add a step"))
    page.keyboard.press("Enter")
    expect(row(page, 2).get_by_label("Last user message").last).to_be_focused()
    tab_to(page, row(page, 2).get_by_label("Answer text"))
    page.keyboard.type("c")
    tab_to(page, page.get_by_role("button", name="Save", exact=True))
    page.keyboard.press("Enter")
    expect(page.get_by_text("was changed successfully")).to_be_visible()
    assert texts(scenario) == ["b again", "a", "c"]
