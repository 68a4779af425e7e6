"""*Test* of one request in a browser: values of each step, and the response bytes."""

import json
from collections.abc import Callable
from typing import Any

import httpx2
import pytest
from playwright.sync_api import Locator, expect

from scenarios_app.models import Scenario, ServedRequest
from tests.admin.pages import texts
from tests.browser.conftest import Admin
from tests.support.live_server import Live

pytestmark = pytest.mark.browser

QUESTION = "Is there sun in Paris?"
CARDS = ("wins", "misses")
UNUSED = "not yet served in this session"
SCENARIO: dict[str, Any] = {
    "name": "weather",
    "steps": [
        {
            "name": "rain",
            "match": {"messages": [{"role": "user", "contains": "rain"}], "model": "gpt-4o"},
            "produce": {"text": "It rains."},
        },
        {
            "name": "sun",
            "match": {"messages": [{"role": "user", "contains": "sun"}]},
            "side_effects": {"counter": "suns"},
            "produce": {"text": "It is sunny."},
        },
    ],
}


def conditions(card: Locator) -> list[list[str]]:
    """Return the cells of each line of a card."""
    return [line.locator("td").all_inner_texts() for line in card.locator("tr").all()]


def state(live: Live) -> Any:
    """Return the consumed steps and counters of the session."""
    return httpx2.get(f"{live.base_url}/control/state", params={"session": live.session}).json()


def stream_events(live: Live) -> list[str]:
    """Return the events of the response as the page labels them."""
    messages = [{"role": "user", "content": QUESTION}]
    body = {"model": "gpt-4o", "messages": messages, "stream": True}
    headers = {"Authorization": f"Bearer {live.key}"}
    url = f"{live.openai_base_url}/chat/completions"
    # Encoded as by the page, because the answer's id is a hash of the body.
    return httpx2.post(url, content=json.dumps(body), headers=headers).text.strip().split("\n\n")


def test_tried_request_uses_up_no_step(admin: Admin) -> None:
    page, live = admin.page, admin.live
    live.load(SCENARIO)
    before = state(live)
    page.get_by_role("link", name="Test", exact=True).click()
    page.get_by_label("User message").fill(QUESTION)
    page.get_by_label("Session", exact=True).fill(live.session)
    page.get_by_role("button", name="Try", exact=True).click()
    winning_step, missed_steps = (
        page.locator(f".sc-tried-step[data-state={state}]") for state in CARDS
    )
    expect(winning_step.locator("h3")).to_have_text("weather, step sun answers")
    summary = missed_steps.locator("summary")
    expect(summary).to_have_text("weather, step rain 1 of 3 failed Message")
    # Folded at first.
    summary.click()
    expected = f'got "{QUESTION}"'
    assert conditions(winning_step) == [
        ["✓", "Can answer", f"wants {UNUSED}", f"got {UNUSED}"],
        ["✓", "Message", 'wants last user message contains "sun"', expected],
    ]
    assert conditions(missed_steps) == [
        ["✓", "Can answer", f"wants {UNUSED}", f"got {UNUSED}"],
        ["✓", "Model", 'wants equals "gpt-4o"', 'got "gpt-4o"'],
        ["✗", "Message", 'wants last user message contains "rain"', expected],
    ]
    assert state(live) == before and not ServedRequest.objects.exists()
    text = page.locator(".sc-bytes[open] pre").first.inner_text()
    # A real request gets the same bytes, and consumes the step.
    assert [line.split(" ms ", 1)[1] for line in text.split("\n") if line] == stream_events(live)
    assert state(live)["counters"] == {"suns": 1}


@pytest.mark.parametrize(("width", "height"), [(1280, 900), (1280, 600), (420, 800)])
def test_unsaved_edits_are_tried_in_a_new_tab_and_stay(
    log_in: Callable[..., Admin], width: int, height: int
) -> None:
    admin = log_in(width=width, height=height)
    page, live = admin.page, admin.live
    live.load(SCENARIO)
    admin.go(f"scenarios_app/scenario/{Scenario.objects.get().pk}/change/")
    row = page.locator(".sc-list > .sc-step").nth(1)
    row.locator("summary").first.click()
    row.get_by_label("Answer text").fill("It burns.")
    with page.expect_popup() as popup_info:
        page.get_by_role("button", name="Test", exact=True).click()
    tab = popup_info.value
    tab.get_by_label("User message").fill(QUESTION)
    expect(tab.get_by_role("button", name="Try", exact=True)).to_be_in_viewport(ratio=1)
    tab.keyboard.press("Control+Enter")
    errors = tab.locator("#told")
    expect(errors).to_have_text("Step sun of weather would say: It burns.")
    assert tab.evaluate("document.documentElement.scrollWidth") <= width
    expect(row.get_by_label("Answer text")).to_have_value("It burns.")
    assert texts(Scenario.objects.get())[-1] == "It is sunny."
