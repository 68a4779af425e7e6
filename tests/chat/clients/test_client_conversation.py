"""Requests to each provider and their answers: text, tools, thinking, over several turns."""

import json
from typing import Any

import pytest

from chat_app.values.events import ToolCall
from chat_app.values.model_call import (
    AssistantTurn,
    CallStarted,
    Finished,
    TextPart,
    ThinkingPart,
    Tool,
    ToolOutput,
    ToolResults,
    Usage,
    UserTurn,
)
from tests.chat.mock_provider import FAMILIES, MockProvider, ReceivedAnswer
from tests.engine.instructions.blocks import text_with_block
from tests.serving.pipelines import scenario

WEATHER = Tool(
    "get_weather",
    "The weather in a city.",
    {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
)
PARIS = '{"city":"Paris"}'

each_family = pytest.mark.parametrize("family", FAMILIES)


def load_answer(mock_provider: MockProvider, **produce: Any) -> None:
    mock_provider.live.load(scenario("one", {"consume": False, "produce": produce}))


def load_steps(mock_provider: MockProvider, *steps: dict[str, Any]) -> None:
    mock_provider.live.load(scenario("one", *[{"consume": False, **step} for step in steps]))


def turn_of(received: ReceivedAnswer) -> AssistantTurn:
    """Return the answer as a turn of the next prompt: thinking, text, then tool calls."""
    thinking = ThinkingPart(
        "".join(piece.text for piece in received.thinking),
        "".join(piece.signature for piece in received.thinking),
    )
    parts = [thinking] if thinking != ThinkingPart() else []
    text_parts = [TextPart(received.text)] if received.text else []
    calls = [ToolCall(call_id, *call) for call_id, call in received.calls.items()]
    return AssistantTurn((*parts, *text_parts, *calls))


@each_family
def test_text_comes_in_pieces_and_ends_with_its_tokens(
    mock_provider: MockProvider, family: str
) -> None:
    load_answer(
        mock_provider,
        text="one two three",
        pacing={"words_per_chunk": 1},
        usage={"input_tokens": 7, "output_tokens": 3},
    )
    received = mock_provider.call(family)
    assert received.text == "one two three"
    assert sum(isinstance(event, TextPart) for event in received.events) == 3
    assert received.finished == Finished("stop", 7, 3)


@each_family
@pytest.mark.parametrize(
    ("scripted_reason", "reason"),
    [("stop", "stop"), ("length", "length"), ("content_filter", "content_filter")],
)
def test_finish_reason_is_the_chats_term(
    mock_provider: MockProvider, family: str, scripted_reason: str, reason: str
) -> None:
    load_answer(mock_provider, text="Enough.", finish_reason=scripted_reason)
    assert mock_provider.call(family).finished.reason == reason


@each_family
def test_a_tool_call_streams(mock_provider: MockProvider, family: str) -> None:
    call = {"id": "call_1", "name": "get_weather", "arguments": {"city": "Paris"}}
    load_answer(mock_provider, text="Let me look.", tool_calls=[call])
    received = mock_provider.call(family, tools=(WEATHER,))
    name, arguments = received.calls["call_1"]
    assert (name, json.loads(arguments)) == ("get_weather", {"city": "Paris"})
    kinds = [type(event) for event in received.events]
    assert kinds.index(TextPart) < kinds.index(CallStarted)
    assert received.finished.reason == "tool_calls"


@each_family
def test_parallel_calls_stay_apart(mock_provider: MockProvider, family: str) -> None:
    cities = ("Paris", "Rome", "Oslo")
    calls = [
        {"id": f"call_{city}", "name": "get_weather", "arguments": {"city": city}}
        for city in cities
    ]
    load_answer(mock_provider, tool_calls=calls)
    received = mock_provider.call(family, tools=(WEATHER,))
    assert {key: json.loads(args) for key, (_, args) in received.calls.items()} == {
        f"call_{city}": {"city": city} for city in cities
    }


@each_family
def test_ch_t8_the_system_prompt_and_parameters_are_on_the_wire(
    mock_provider: MockProvider, family: str
) -> None:
    """The mock matches them in the provider's format."""
    expect = {"temperature": 0.25, "reasoning": "disabled"}
    messages = [{"role": "system", "equals": "Be brief."}]
    load_steps(
        mock_provider,
        {"match": {"messages": messages}, "expect": expect, "produce": {"text": "Yes."}},
    )
    received = mock_provider.call(
        family, system_prompt="Be brief.", temperature=0.25, max_tokens=99
    )
    assert received.text == "Yes."
    (row,) = mock_provider.journal_rows()
    assert row.violations == []
    assert "99" in row.request_body


@each_family
def test_ch_t9_the_tools_are_on_the_wire(mock_provider: MockProvider, family: str) -> None:
    block = {"messages": [{"tool_schema": {"name": "get_weather"}}]}
    expect = {"tools": ["get_weather"]}
    load_steps(mock_provider, {"expect": expect, "produce": {"text": "Yes."}})
    assert mock_provider.call(family, tools=(WEATHER,)).text == "Yes."
    assert mock_provider.journal_rows()[0].violations == []
    schema = mock_provider.call(family, UserTurn(text_with_block(block)), tools=(WEATHER,)).text
    assert json.loads(schema[schema.index("{") :]) == WEATHER.input_schema


@each_family
def test_thinking_is_requested_and_received_separately(
    mock_provider: MockProvider, family: str
) -> None:
    reasoning = [{"text": "Hm, let me see.", "signature": "c2VhbA=="}]
    step = {
        "expect": {"reasoning": "enabled"},
        "produce": {"reasoning": reasoning, "text": "Four."},
    }
    load_steps(mock_provider, step)
    received = mock_provider.call(family, thinking_budget=2_000)
    assert mock_provider.journal_rows()[0].violations == []
    assert "".join(piece.text for piece in received.thinking) == "Hm, let me see."
    assert received.text == "Four."
    kinds = [type(event) for event in received.events]
    assert kinds.index(TextPart) > max(i for i, k in enumerate(kinds) if k is ThinkingPart)


@each_family
def test_tool_results_are_sent_with_their_calls(mock_provider: MockProvider, family: str) -> None:
    calls = [
        {"id": f"call_{number}", "name": "get_weather", "arguments": {"city": city}}
        for number, city in enumerate(("Paris", "Rome"), 1)
    ]
    results = [
        {"tool_call_id": "call_1", "equals": "sunny", "is_error": False},
        {"tool_call_id": "call_2", "contains": "no such city", "is_error": True},
    ]
    if family == "openai":
        # The API has no field for the result of a failed tool.
        for result in results:
            del result["is_error"]
    calls_sent = [{"name": "get_weather", "arguments": {"city": "Paris"}}]
    load_steps(
        mock_provider,
        {"turn": 1, "produce": {"tool_calls": calls}},
        {
            "match": {"tool_results": results, "tool_calls": calls_sent},
            "produce": {"text": "Sunny."},
        },
    )
    question = UserTurn("The weather?")
    first = mock_provider.call(family, question, tools=(WEATHER,))
    results = ToolResults(
        (
            ToolOutput("call_1", "get_weather", "sunny"),
            ToolOutput("call_2", "get_weather", "Error: no such city", is_error=True),
        )
    )
    second = mock_provider.call(family, question, turn_of(first), results, tools=(WEATHER,))
    assert second.text == "Sunny."


@pytest.mark.parametrize("family", ["anthropic", "google"])
def test_thinking_goes_back_with_its_signature(mock_provider: MockProvider, family: str) -> None:
    reasoning = [{"text": "I need the tool.", "signature": "c2VhbCAx"}]
    call = {"id": "call_1", "name": "get_weather", "arguments": {"city": "Paris"}}
    load_steps(
        mock_provider,
        {"turn": 1, "produce": {"reasoning": reasoning, "tool_calls": [call]}},
        # Thinking whose signature is missing counts as disabled.
        {
            "turn": 2,
            "expect": {"reasoning": "enabled"},
            "produce": {"text": "Sunny."},
        },
    )
    first = mock_provider.call(family, tools=(WEATHER,), thinking_budget=2_000)
    assert [piece.signature for piece in first.thinking if piece.signature] == ["c2VhbCAx"]
    results = ToolResults((ToolOutput("call_1", "get_weather", "sunny"),))
    turns = (UserTurn("The weather?"), turn_of(first), results)
    second = mock_provider.call(family, *turns, tools=(WEATHER,), thinking_budget=2_000)
    assert second.text == "Sunny."
    row = mock_provider.journal_rows()[1]
    assert row.violations == []
    assert "c2VhbCAx" in row.request_body and "I need the tool." in row.request_body


def test_redacted_thinking_goes_back_as_it_came(mock_provider: MockProvider) -> None:
    load_answer(mock_provider, reasoning=[{"text": "", "redacted": "b3BhcXVl"}], text="Four.")
    first = mock_provider.call("anthropic", thinking_budget=2_000)
    assert first.thinking == [ThinkingPart(redacted="b3BhcXVl")]
    turn = AssistantTurn((ThinkingPart(redacted="b3BhcXVl"), TextPart("Four.")))
    mock_provider.call(
        "anthropic", UserTurn("2+2?"), turn, UserTurn("Sure?"), thinking_budget=2_000
    )
    request_body = mock_provider.journal_rows()[1].request_body
    assert "redacted_thinking" in request_body and "b3BhcXVl" in request_body


@each_family
def test_the_messages_of_a_block_are_one_answer_in_their_order(
    mock_provider: MockProvider, family: str
) -> None:
    messages = [
        {"text": "First. "},
        {"tool_call": [{"name": "get_weather", "args": {"city": "Paris"}}]},
        {"text": "Second."},
    ]
    received = mock_provider.call(
        family, UserTurn(text_with_block({"id": "b1", "messages": messages}))
    )
    assert received.text.index("First.") < received.text.index("Second.")
    ((name, arguments),) = received.calls.values()
    assert (name, json.loads(arguments)) == ("get_weather", {"city": "Paris"})
    kinds = [
        type(event) for event in received.events if not isinstance(event, ThinkingPart | Usage)
    ]
    assert kinds.index(CallStarted) > kinds.index(TextPart)
    assert kinds[-2] is TextPart
    assert received.finished.reason == "tool_calls"


@pytest.mark.parametrize("family", ["openai", "google"])
def test_parallel_choices_become_one_answer(mock_provider: MockProvider, family: str) -> None:
    load_answer(mock_provider, choices=[{"text": "one two"}, {"text": "three four"}])
    received = mock_provider.call(family)
    assert received.text == "one twothree four"
    assert received.finished.reason == "stop"


def test_a_refusal_is_a_text(mock_provider: MockProvider) -> None:
    load_answer(mock_provider, refusal="I would rather not.")
    assert mock_provider.call("openai").text == "I would rather not."


def test_blocked_prompt_is_an_error(mock_provider: MockProvider) -> None:
    blocked = {"promptFeedback": {"blockReason": "SAFETY"}}
    load_answer(mock_provider, text="", provider_metadata={"gemini": blocked})
    code, message = mock_provider.call("google").failure
    assert (code, message) == ("SERVICE_UNAVAILABLE", "The prompt was blocked: SAFETY")
