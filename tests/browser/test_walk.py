"""The walk of somebody new to it, counted: how many clicks it takes to get what one wants."""

from typing import Any

import httpx2
import pytest
from playwright.sync_api import Locator, expect

from tests.browser.conftest import Admin
from tests.browser.editing import add_step
from tests.chat.asking import Api
from tests.chat.chatting import scenario
from tests.live import Live

pytestmark = pytest.mark.browser

QUESTION = "What is the weather in Paris?"


class Counted:
    """Clicks, choices among them; what is typed is none."""

    def __init__(self) -> None:
        self.clicks = 0

    def click(self, what: Locator) -> None:
        self.clicks += 1
        what.click()

    def choose(self, what: Locator, label: str) -> None:
        # One opens it, one takes the choice.
        self.clicks += 2
        what.select_option(label=label)


def ask(live: Live, *messages: dict[str, Any], stream: bool = False) -> httpx2.Response:
    body = {"model": "gpt-4o", "messages": list(messages), "stream": stream}
    headers = {"Authorization": f"Bearer {live.key}"}
    return httpx2.post(f"{live.openai_base_url}/chat/completions", json=body, headers=headers)


def test_the_weather_scenario_with_its_429_takes_twenty_clicks(admin: Admin) -> None:
    page, live, walk = admin.page, admin.live, Counted()
    walk.click(page.get_by_role("link", name="New scenario").first)
    walk.click(page.get_by_role("link", name="Empty"))
    page.get_by_label("Name", exact=True).fill("weather")
    walk.clicks += 1
    answer = add_step(page)
    walk.click(answer.get_by_text("More conditions"))
    answer.get_by_label("Last tool result").last.fill("sunny")
    answer.get_by_label("Answer text").fill("It is sunny in Paris.")
    walk.clicks += 1
    call = add_step(page)
    walk.click(call.locator("summary", has_text="Failures"))
    first = "the first requests, then it answers"
    walk.choose(call.get_by_label("When it fails"), first)
    expect(call.get_by_label("Failure type")).to_have_value("rate_limit")
    call.get_by_label("Last user message").last.fill("weather")
    walk.click(call.get_by_role("button", name="Add a tool call"))
    call.get_by_label("Tool", exact=True).fill("get_weather")
    walk.clicks += 1
    other = add_step(page)
    other.get_by_label("Last user message").last.fill("thanks")
    other.get_by_label("Answer text").fill("You are welcome.")
    walk.click(page.get_by_role("button", name="Save", exact=True))
    expect(page.get_by_text("was added successfully")).to_be_visible()
    assert walk.clicks <= 20
    user = {"role": "user", "content": QUESTION}
    assert ask(live, user).status_code == 429
    # Repeated, then streamed, with the same key.
    for stream in (False, False, True):
        first = ask(live, user, stream=stream)
        assert first.status_code == 200 and "get_weather" in first.text
    asked = {"id": "c", "type": "function", "function": {"name": "get_weather", "arguments": "{}"}}
    said = {"role": "assistant", "content": None, "tool_calls": [asked]}
    result = {"role": "tool", "tool_call_id": "c", "content": "sunny"}
    assert "It is sunny in Paris." in ask(live, user, said, result).text
    thanks = {"role": "user", "content": "thanks"}
    assert "You are welcome." in ask(live, thanks).text


def test_unmatched_request_is_served_after_three_clicks(admin: Admin) -> None:
    page, live, walk = admin.page, admin.live, Counted()
    asked = {"role": "user", "content": "Who are you?"}
    assert ask(live, asked).status_code == 404
    admin.go()
    walk.click(page.locator("main table a").first)
    walk.click(page.get_by_role("link", name="Make a step"))
    page.keyboard.type("Nobody.")
    walk.click(page.get_by_role("button", name="Save and enable"))
    expect(page.get_by_text("answers this request now")).to_be_visible()
    assert walk.clicks <= 3
    assert "Nobody." in ask(live, asked).text


def test_from_a_trace_to_its_scenario_replayed_in_two_clicks(admin: Admin) -> None:
    page, live, walk = admin.page, admin.live, Counted()
    live.load(scenario({"text": "It rains."}))
    trace = Api(live.base_url, "walker").send("Rain?").trace_id
    page.goto(f"{live.base_url}/traces/{trace}/")
    walk.click(page.get_by_role("button", name="Make a scenario of it"))
    expect(page.get_by_label("Draft", exact=True)).to_be_visible()
    with page.expect_popup() as opened:
        walk.click(page.get_by_role("button", name="Play it"))
    tab = opened.value
    expect(tab.locator(".sc-tried-step")).to_contain_text("It rains.")
    expect(tab.locator("#told")).to_have_text("All is as expected.")
    assert walk.clicks <= 2
