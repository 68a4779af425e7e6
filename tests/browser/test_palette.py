"""Ctrl+K, J and K, and copy buttons, by keyboard alone."""

import pytest
from playwright.sync_api import expect

from scenarios_app.models import Scenario, ServedRequest
from tests.admin.pages import create_scenario
from tests.admin.traffic import create_journal_row
from tests.browser.axe import violations
from tests.browser.conftest import Admin
from tests.browser.measuring import disable_animations

pytestmark = pytest.mark.browser


def test_palette_and_lists_are_used_by_keyboard_alone(admin: Admin) -> None:
    page = admin.page
    for name in ("weather", "weather tomorrow", "refunds"):
        create_scenario(name, {})
    for text in ("first", "second"):
        create_journal_row(request_preview=text)
    admin.go()
    page.keyboard.press("Control+k")
    field = page.get_by_role("combobox")
    expect(field).to_be_focused()
    page.keyboard.press("Enter")
    page.keyboard.type("weath")
    options = page.get_by_role("option")
    expect(options).to_have_count(2)
    expect(options.first).to_have_attribute("aria-selected", "true")
    disable_animations(page)
    assert violations(page) == []
    page.keyboard.press("ArrowDown")
    expect(field).to_have_attribute("aria-activedescendant", "result-2")
    page.keyboard.press("Enter")
    page.wait_for_url(f"**/{Scenario.objects.get(name='weather tomorrow').pk}/change/")
    # While a field is edited, the keys are text.
    page.get_by_label("Name", exact=True).first.press("End")
    page.keyboard.type("jk")
    expect(page.get_by_label("Name", exact=True).first).to_have_value("weather tomorrowjk")

    admin.go("scenarios_app/servedrequest/")
    expect(page.locator("#state")).to_have_text("live")
    page.keyboard.press("Control+k")
    page.keyboard.press("Escape")
    expect(field).to_be_hidden()
    page.keyboard.press("j")
    page.keyboard.press("j")
    row = ServedRequest.objects.get(request_preview="first")
    link = page.locator(f'#result_list a[href*="/{row.pk}/change/"]').first
    expect(link).to_be_focused()
    # New rows move the list, not the focus.
    page.evaluate("document.getElementById('live').dispatchEvent(new Event('journal:new'))")
    page.wait_for_load_state("networkidle")
    expect(link).to_be_focused()
    page.keyboard.press("k")
    page.keyboard.press("j")
    page.keyboard.press("Enter")
    page.wait_for_url(f"**/{row.pk}/change/")
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.get_by_role("button", name=f"Copy {row.uid}").press("Enter")
    expect(page.get_by_role("button", name=f"Copy {row.uid}")).to_have_text("Copied")
    assert page.evaluate("navigator.clipboard.readText()") == str(row.uid)
