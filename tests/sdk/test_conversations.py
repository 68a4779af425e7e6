"""Conversations of several turns over each client, with tool calls, results and reasoning."""

from dataclasses import replace
from typing import Any

import pytest

from tests.engine.turn_scripts import shipped_scripts
from tests.sdk.client_factories import SYNC_OR_ASYNC
from tests.sdk.clients import MODELS, make_client
from tests.sdk.conversations import Call, ConversationOptions, start_conversation
from tests.sdk.paris import paris_scenario
from tests.serving.pipelines import scenario, text_step
from tests.support.live_server import Live

RESULTS = {"get_weather": "18 degrees, sunny", "get_time": "21:40"}
AGENTS = {
    "read_metrics": "errors: 38 %",
    "read_logs": "no connection",
    "agent__task_status": "ok",
    "agent__final_report": "read",
}
# Providers whose reasoning is sent back with its signature.
SIGNING = ("anthropic", "anthropic beta", "gemini")
sync_and_async = pytest.mark.parametrize("mode", SYNC_OR_ASYNC)
streamed_and_not = pytest.mark.parametrize("streamed", [False, True], ids=["whole", "streamed"])


@sync_and_async
@streamed_and_not
@pytest.mark.parametrize(
    ("provider", "minimal_results"),
    [
        ("openai", False),
        ("responses", False),
        ("anthropic", False),
        ("anthropic beta", False),
        ("gemini", False),
        ("gemini", True),
        ("ollama", False),
        ("ollama", True),
    ],
)
def test_a_conversation_with_two_tools(
    live: Live, mode: str, provider: str, *, streamed: bool, minimal_results: bool
) -> None:
    live.load(paris_scenario(provider))
    options = ConversationOptions(mode, streamed, tuple(RESULTS), minimal_results)
    conversation = start_conversation(live, provider, MODELS[provider], options)
    first = conversation.send_user_message("How is Paris tonight?")
    assert first.text == "Let me look."
    weather, time = (None, None) if provider == "ollama" else ("call_w", "call_t")
    assert first.calls == [
        Call(weather, "get_weather", {"city": "Paris"}),
        Call(time, "get_time", {"city": "Paris"}),
    ]
    second = conversation.send_tool_results(RESULTS)
    assert (second.text, second.calls) == ("It is a sunny evening.", [])
    assert conversation.send_user_message("Thanks!").text == "Enjoy it."
    rows = live.requests()
    assert [row.step for row in rows] == ["ask for both", "tell", "say goodbye"]
    assert live.state().violations == ()
    if provider.startswith("anthropic"):
        assert first.answer.content[0].signature == "sig-paris"
        assert "sig-paris" in rows[1].request_body


@sync_and_async
@pytest.mark.parametrize("provider", ["openai", "responses", "anthropic", "gemini", "ollama"])
def test_each_api_key_has_its_conversation(live: Live, mode: str, provider: str) -> None:
    live.load(scenario("one", text_step("Once.", consume=True)))
    for key in ("one", "two"):
        client = make_client(replace(live, key=live.key + key), provider, mode)
        assert client.create() == "Once."


@sync_and_async
@pytest.mark.parametrize("provider", MODELS)
def test_first_of_two_requests_consumes_the_step(live: Live, mode: str, provider: str) -> None:
    live.load(scenario("two", text_step("Once.", consume=True), text_step("Ever after.")))
    client = make_client(live, provider, mode)
    assert [client.create() for _ in range(3)] == ["Once.", "Ever after.", "Ever after."]
    assert [ref.label for ref in live.state().consumed] == ["1"]


@sync_and_async
@streamed_and_not
@pytest.mark.parametrize(
    ("provider", "model"),
    [
        *(("openai", "gpt-4o"), ("openai", "test-llm/gpt-4o")),
        *(("responses", "gpt-4o"), ("responses", "test-llm/gpt-4o")),
        *(("anthropic", "test-llm-claude"), ("anthropic beta", "test-llm-claude")),
        *(("gemini", "test-llm-gemini"),),
        *(("ollama", "llama3.2"), ("ollama", "test-llm/llama3.2")),
    ],
)
def test_an_agents_run_of_three_turns(
    live: Live, mode: str, provider: str, model: str, *, streamed: bool
) -> None:
    live.load(*shipped_scripts())
    conversation = start_conversation(
        live, provider, model, ConversationOptions(mode, streamed, tuple(AGENTS))
    )
    first, second = (
        conversation.send_user_message("investigate-outage"),
        conversation.send_tool_results(AGENTS),
    )
    third = conversation.send_tool_results(AGENTS)
    assert first.text == "I will look at the service first.Its logs may say more."
    assert [(call.name, call.arguments) for call in first.calls] == [
        ("read_metrics", {"service": "checkout", "minutes": 30}),
        ("read_logs", {"service": "checkout", "level": "error"}),
    ]
    assert [call.name for call in second.calls] == ["agent__task_status"]
    assert third.text == "Here is what I found."
    (report,) = third.calls
    assert report.name == "agent__final_report"
    assert list(report.arguments) == ["status", "report_format", "report_content", "content_json"]
    assert report.arguments["status"] == "success"
    assert report.arguments["content_json"]["cause"] == "nightly export"
    if provider != "ollama":
        ids = [call.id for reply in (first, second, third) for call in reply.calls]
        assert ids == ["call-metrics", "call-logs", "call-1", "agent-final-report"]
    assert live.state().violations == ()
    assert [row.way for row in live.requests()] == ["by_id"] * 3
    ANSWER_CHECKS[provider](first.answer, second.answer, third.answer)


def check_openai_answers(*answers: Any) -> None:
    assert [answer.choices[0].finish_reason for answer in answers] == ["tool_calls"] * 3
    thought = answers[0].choices[0].message.reasoning
    assert thought == "Errors began half an hour ago, so I start there."


def check_responses_answers(*answers: Any) -> None:
    assert [item.type for item in answers[0].output] == [
        *("reasoning", "message", "function_call", "message", "function_call")
    ]


def check_anthropic_answers(*answers: Any) -> None:
    first, second, third = answers
    assert [block.type for block in first.content] == [
        *("thinking", "text", "tool_use", "text", "tool_use")
    ]
    assert first.content[0].signature == "investigate-outage-1"
    assert [block.type for block in second.content] == ["thinking", "tool_use"]
    assert [block.type for block in third.content] == ["text", "tool_use"]
    assert [answer.stop_reason for answer in answers] == ["tool_use"] * 3
    assert (first.usage.input_tokens, second.usage.input_tokens) == (310, 64)


def check_gemini_answers(*answers: Any) -> None:
    parts = answers[0].parts
    signed = [part.thought_signature for part in parts if part.thought_signature]
    assert set(signed) == {b"investigate-outage-1"}


ANSWER_CHECKS = {
    "openai": check_openai_answers,
    "responses": check_responses_answers,
    "anthropic": check_anthropic_answers,
    "anthropic beta": check_anthropic_answers,
    "gemini": check_gemini_answers,
    "ollama": lambda *answers: None,
}
