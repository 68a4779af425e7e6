"""A step is created from an unmatched request in the browser."""

import httpx2
import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import Admin
from tests.support.live_server import Live

pytestmark = pytest.mark.browser


def ask(live: Live, text: str = 'Who are "you"?') -> httpx2.Response:
    body = {"model": "gpt-4o", "messages": [{"role": "user", "content": text}]}
    headers = {"Authorization": f"Bearer {live.key}"}
    return httpx2.post(f"{live.openai_base_url}/chat/completions", json=body, headers=headers)


def open_first_row(page: Page) -> None:
    page.locator("#result_list tbody tr").first.locator(".field-answered_by").click()
    page.wait_for_url("**/change/**")


def test_unmatched_request_is_answered_after_three_clicks(admin: Admin) -> None:
    page, live = admin.page, admin.live
    assert ask(live, "Please refund my order 4711").status_code == 404
    page.goto(f"{live.base_url}/journal/")
    open_first_row(page)
    page.get_by_role("link", name="Make a step").click()
    expect(page.get_by_role("textbox", name="User message")).to_have_value("refund my order")
    answer = page.get_by_label("Answer")
    expect(answer).to_be_focused()
    expect(answer).to_be_in_viewport()
    expect(answer).to_have_value("")
    page.keyboard.type("Refunded.")
    page.get_by_role("button", name="Save and enable").click()
    expect(page.get_by_text("answers this request now")).to_be_visible()
    response = ask(live, "REFUND MY ORDER 4712!")
    assert response.json()["choices"][0]["message"]["content"] == "Refunded."
    assert [request.matched for request in live.requests()] == [False, True]


def test_preview_follows_typing(admin: Admin) -> None:
    page, live = admin.page, admin.live
    for text in ("refund my order", "refund my ticket"):
        assert ask(live, text).status_code == 404
    page.goto(f"{live.base_url}/journal/")
    open_first_row(page)
    page.get_by_role("link", name="Make a step").click()
    preview = page.locator("#preview")
    expect(preview.get_by_role("link")).to_have_count(0)
    page.get_by_role("textbox", name="User message").fill("refund")
    expect(preview.get_by_role("link", name="refund my order")).to_be_visible()
    page.get_by_role("textbox", name="User message").fill("nothing like it")
    expect(preview.get_by_text("a condition does not match it")).to_be_visible()


def test_middle_click_on_a_row_opens_its_request_in_a_new_tab(admin: Admin) -> None:
    page, live = admin.page, admin.live
    ask(live)
    page.goto(f"{live.base_url}/journal/")
    with page.context.expect_page() as page_info:
        page.locator("#result_list tbody .field-answered_by").first.click(button="middle")
    page_info.value.wait_for_url("**/change/**")


def test_selecting_text_in_a_row_does_not_open_its_request(admin: Admin) -> None:
    page, live = admin.page, admin.live
    ask(live)
    page.goto(f"{live.base_url}/journal/")
    # The page replaces its rows once when its WebSocket connects.
    page.wait_for_load_state("networkidle")
    message = page.locator("#result_list tbody .sc-said").first
    expect(message).to_be_visible()
    box = message.bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + 1, box["y"] + box["height"] / 2)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] - 2, box["y"] + box["height"] / 2, steps=4)
    page.mouse.up()
    assert page.evaluate("String(getSelection())").strip()
    page.wait_for_timeout(300)
    expect(page.locator("#result_list")).to_be_visible()
