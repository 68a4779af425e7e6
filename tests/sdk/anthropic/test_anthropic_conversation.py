"""Conversations with features of Anthropic's client: failed tools, its tool loop and threads."""

from typing import Any

import anthropic
import pytest
from anthropic import beta_tool

from tests.sdk.anthropic.anthropic_client import AnthropicClient
from tests.sdk.paris import paris_scenario
from tests.serving.pipelines import scenario
from tests.support.live_server import Live

RESULTS = {"get_weather": "18 degrees, sunny", "get_time": "21:40"}
QUESTION = {"role": "user", "content": "How is Paris tonight?"}


def test_a_failed_tool_is_told_from_one_that_worked(live: Live, claude: AnthropicClient) -> None:
    failed = {"tool_results": [{"name": "get_weather", "is_error": True}]}
    live.load(
        scenario("sorry", {"match": failed, "produce": {"text": "Sorry, no weather."}}),
        scenario("fine", {"produce": {"text": "Fine."}, "consume": False}, priority=-1),
    )
    call = {"type": "tool_use", "id": "toolu_w", "name": "get_weather", "input": {}}
    result = {"type": "tool_result", "tool_use_id": "toolu_w", "content": "no network"}
    for is_error, expected in ((False, "Fine."), (True, "Sorry, no weather.")):
        messages = [
            QUESTION,
            {"role": "assistant", "content": [call]},
            {"role": "user", "content": [{**result, "is_error": is_error}]},
        ]
        answer = claude.create(model="claude-sonnet-5-5", max_tokens=99, messages=messages)
        assert answer.content[0].text == expected


@pytest.mark.parametrize("thread", [None, False])
def test_tool_runner_of_the_client_completes(live: Live, thread: bool | None) -> None:
    """By default the client expects the server to store the conversation; this server does not."""
    live.load(paris_scenario("anthropic"))
    tool_calls: list[tuple[str, str]] = []

    @beta_tool
    def get_weather(city: str) -> str:
        """Tells the weather."""
        tool_calls.append(("weather", city))
        return RESULTS["get_weather"]

    @beta_tool
    def get_time(city: str) -> str:
        """Tells the time."""
        tool_calls.append(("time", city))
        return RESULTS["get_time"]

    thread_options: dict[str, Any] = {} if thread is None else {"thread": thread}
    with anthropic.Anthropic(base_url=live.base_url, api_key=live.key, max_retries=0) as client:
        runner = client.beta.messages.tool_runner(
            model="claude-sonnet-5-5",
            max_tokens=4096,
            messages=[{"role": "user", "content": "How is Paris tonight?"}],
            tools=[get_weather, get_time],
            thinking={"type": "enabled", "budget_tokens": 1024},
            **thread_options,
        )
        last = runner.until_done()
    assert sorted(tool_calls) == [("time", "Paris"), ("weather", "Paris")]
    assert last.content[0].type == "text"
    assert last.content[0].text == "It is a sunny evening."


def test_thread_of_the_beta_client_is_answered_turn_by_turn(live: Live) -> None:
    live.load(
        scenario("first", {"match": {"messages": ["One?"]}, "turn": 1, "produce": {"text": "1"}}),
        scenario("second", {"match": {"messages": ["Two?"]}, "turn": 2, "produce": {"text": "2"}}),
        scenario("third", {"match": {"messages": ["Three?"]}, "turn": 3, "produce": {"text": "3"}}),
    )
    with anthropic.Anthropic(base_url=live.base_url, api_key=live.key, max_retries=0) as client:
        thread = client.beta.messages.thread(model="claude-sonnet-5-5", max_tokens=9)
        answers = [thread.send({"role": "user", "content": q}) for q in ("One?", "Two?", "Three?")]
    assert [answer.to_dict()["content"] for answer in answers] == [
        [{"type": "text", "text": text}] for text in "123"
    ]
