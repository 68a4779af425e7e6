"""The live journal in a browser: new rows appear and respect the list's filters."""

from collections.abc import Callable

import httpx2
import pytest
from playwright.sync_api import expect

from mockllm_site.roles import READER
from scenarios_app.journal.live import LOOK_SECONDS
from tests.browser.conftest import Admin, OpenPage
from tests.chat.chat_helpers import scenario
from tests.support.live_server import Live

pytestmark = pytest.mark.browser

ROWS = "#result_list tbody tr"


def ask(live: Live, text: str = "Hello", model: str = "gpt-4o") -> None:
    httpx2.post(
        f"{live.openai_base_url}/chat/completions",
        headers={"Authorization": f"Bearer {live.key}"},
        json={"model": model, "messages": [{"role": "user", "content": text}]},
    )


def open_journal(admin: Admin, query: str = "") -> None:
    admin.page.goto(f"{admin.live.base_url}/journal/{query}")
    expect(admin.page.locator("#state")).to_have_text("live")


def test_request_appears_in_the_journal_within_a_second(admin: Admin) -> None:
    # The delay depends on how often the journal is polled.
    assert LOOK_SECONDS < 1
    admin.live.load(scenario({"text": "Hi."}))
    page = admin.page
    open_journal(admin)
    expect(page.locator(ROWS)).to_have_count(0)
    page.evaluate("window.same = true")
    ask(admin.live)
    row = page.locator(ROWS)
    expect(row).to_contain_text("/v1/chat/completions")
    expect(row).to_contain_text("talk")
    expect(row.locator(".sc-outcome")).to_have_text("200 complete")
    assert page.evaluate("window.same")


def test_all_journal_columns_are_visible(admin: Admin) -> None:
    admin.live.load(scenario({"text": "Hi. " * 40}))
    session = "chat-00000000-0000-4000-8000-000000000000-a"
    for headers in ({"x-mockllm-session": session}, {}):
        headers |= {"Authorization": f"Bearer {admin.live.key}"}
        url = f"{admin.live.openai_base_url}/chat/completions"
        messages = [{"role": "user", "content": "How are you today? " * 9}]
        httpx2.post(url, headers=headers, json={"model": "claude-sonnet-5-5", "messages": messages})
    open_journal(admin)
    # Rows are replaced when the page has joined, so find the cell in one call.
    box_handle = admin.page.wait_for_function(
        """title => {
            const cell = document.querySelector(`#result_list tbody [title="${title}"]`);
            const { x, width, height } = cell?.getBoundingClientRect() ?? {};
            return height ? { x, width, height } : null;
        }""",
        arg=session,
    )
    box = box_handle.json_value()
    assert box["height"] < 30
    right_edge = admin.page.evaluate(
        "document.querySelector('#result_list').getBoundingClientRect().right"
    )
    assert box["x"] + box["width"] < right_edge <= 1280


def test_unmatched_request_names_the_closest_step(admin: Admin) -> None:
    step = {"match": {"model": "gpt-5"}, "produce": {"text": "Hi."}}
    admin.live.load({"name": "other", "steps": [step]})
    ask(admin.live)
    open_journal(admin)
    row = admin.page.locator(ROWS)
    expect(row).to_contain_text('match.model wanted equals "gpt-5", got "gpt-4o"')
    row.get_by_role("link").first.click()
    expect(admin.page.get_by_role("heading", name="Decision")).to_be_visible()


def test_new_rows_respect_filters_and_can_be_paused(admin: Admin) -> None:
    admin.live.load(scenario({"text": "Hi."}))
    ask(admin.live, model="first")
    page = admin.page
    open_journal(admin, "?found=no")
    expect(page.locator(ROWS)).to_have_count(0)
    ask(admin.live, model="second")
    expect(page.locator(ROWS)).to_have_count(1)
    expect(page.locator(ROWS)).to_contain_text("second")
    with page.expect_websocket() as socket_info:
        page.reload()
    page.get_by_role("button", name="Pause").click()
    expect(page.locator("#state")).to_have_text("paused")
    with socket_info.value.expect_event("framereceived"):
        ask(admin.live, model="third")
    expect(page.locator(ROWS)).to_have_count(1)
    page.get_by_role("button", name="Pause").click()
    expect(page.locator(ROWS)).to_have_count(2)
    expect(page.locator(ROWS).first).to_contain_text("third")


def test_live_journal_needs_a_login(open_page: OpenPage, live: Live) -> None:
    page = open_page()
    page.goto(f"{live.base_url}/journal/")
    expect(page.locator("#id_username")).to_be_visible()


@pytest.mark.parametrize(("width", "dark"), [(1280, True), (420, False)])
def test_journal_fits_the_screen(log_in: object, width: int, dark: bool) -> None:
    admin = log_in(READER, width=width, dark=dark)
    ask(admin.live, model="m" * 300)
    open_journal(admin)
    expect(admin.page.locator(ROWS)).to_have_count(1)
    assert admin.page.evaluate("document.documentElement.scrollWidth") <= width


def test_five_requests_are_visible_on_a_phone(log_in: Callable[..., Admin]) -> None:
    admin = log_in(READER, width=420, height=900)
    admin.live.load(scenario({"text": "A long answer. " * 20}))
    for number in range(6):
        ask(admin.live, text=f"Question {number}, " * 20, model="claude-sonnet-5-5")
    open_journal(admin)
    expect(admin.page.locator(ROWS)).to_have_count(6)
    # Measured in one call, because requests replace the list.
    rows = admin.page.locator(ROWS)
    boxes = rows.evaluate_all(
        "rows => rows.map((row) => row.getBoundingClientRect()).map(({ y, height }) => [y, height])"
    )
    assert [y + 30 <= 900 for y, _ in boxes[:5]] == [True] * 5
    assert max(height for _, height in boxes) < 150
