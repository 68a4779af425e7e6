"""The editor with the keyboard: all controls are reachable and the focus is visible."""

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.admin.pages import create_scenario, texts
from tests.browser.conftest import Admin
from tests.browser.editing import page_of, row
from tests.browser.measuring import disable_animations, is_focus_visible

pytestmark = pytest.mark.browser

# More than any page has focusable elements.
MAX_TAB_STOPS = 150


def tab_to(page: Page, target: Locator) -> None:
    """Press Tab until an element has the focus; fail if the focus is invisible on the way."""
    for _ in range(MAX_TAB_STOPS):
        page.keyboard.press("Tab")
        assert is_focus_visible(page), page.evaluate("document.activeElement.outerHTML")
        if target.evaluate("one => one === document.activeElement"):
            return
    raise AssertionError(f"Tab does not lead to {target}")


def test_step_is_edited_and_saved_with_the_keyboard(admin: Admin) -> None:
    scenario = create_scenario("two", {"produce.text": "a"}, {"produce.text": "b"})
    page = admin.page
    admin.go(page_of(scenario))
    disable_animations(page)
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
