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
from tests.chat.ways import FAMILIES, ReceivedAnswer, Way
from tests.engine.instructions.blocks import text_with_block
from tests.serving.pipelines import scenario

WEATHER = Tool(
    "get_weather",
    "The weather in a city.",
    {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
)
PARIS = '{"city":"Paris"}'

each_family = pytest.mark.parametrize("family", FAMILIES)


def load(way: Way, **produce: Any) -> None:
    way.live.load(scenario("one", {"consume": False, "produce": produce}))


def matches(way: Way, *steps: dict[str, Any]) -> None:
    way.live.load(scenario("one", *[{"consume": False, **step} for step in steps]))


def turn_of(received: ReceivedAnswer) -> AssistantTurn:
    """The answer as the next prompt has it: text and thinking joined, then the calls."""
    thinking = ThinkingPart(
        "".join(piece.text for piece in received.thinking),
        "".join(piece.signature for piece in received.thinking),
    )
    parts = [thinking] if thinking != ThinkingPart() else []
    text_parts = [TextPart(received.text)] if received.text else []
    calls = [ToolCall(call_id, *call) for call_id, call in received.calls.items()]
    return AssistantTurn((*parts, *text_parts, *calls))


@each_family
def test_text_comes_in_pieces_and_ends_with_its_tokens(way: Way, family: str) -> None:
    load(
        way,
        text="one two three",
        pacing={"words_per_chunk": 1},
        usage={"input_tokens": 7, "output_tokens": 3},
    )
    received = way.ask(family)
    assert received.text == "one two three"
    assert sum(isinstance(event, TextPart) for event in received.events) == 3
    assert received.finished == Finished("stop", 7, 3)


@each_family
@pytest.mark.parametrize(
    ("scripted", "reason"),
    [("stop", "stop"), ("length", "length"), ("content_filter", "content_filter")],
)
def test_the_reason_to_finish_is_the_chats_word(
    way: Way, family: str, scripted: str, reason: str
) -> None:
    load(way, text="Enough.", finish_reason=scripted)
    assert way.ask(family).finished.reason == reason


@each_family
def test_a_tool_call_streams(way: Way, family: str) -> None:
    call = {"id": "call_1", "name": "get_weather", "arguments": {"city": "Paris"}}
    load(way, text="Let me look.", tool_calls=[call])
    received = way.ask(family, tools=(WEATHER,))
    name, arguments = received.calls["call_1"]
    assert (name, json.loads(arguments)) == ("get_weather", {"city": "Paris"})
    kinds = [type(event) for event in received.events]
    assert kinds.index(TextPart) < kinds.index(CallStarted)
    assert received.finished.reason == "tool_calls"


@each_family
def test_parallel_calls_stay_apart(way: Way, family: str) -> None:
    cities = ("Paris", "Rome", "Oslo")
    calls = [
        {"id": f"call_{city}", "name": "get_weather", "arguments": {"city": city}}
        for city in cities
    ]
    load(way, tool_calls=calls)
    received = way.ask(family, tools=(WEATHER,))
    assert {key: json.loads(args) for key, (_, args) in received.calls.items()} == {
        f"call_{city}": {"city": city} for city in cities
    }


@each_family
def test_ch_t8_the_system_prompt_and_parameters_are_on_the_wire(way: Way, family: str) -> None:
    """The mock matches them as what they mean to the provider."""
    expect = {"temperature": 0.25, "reasoning": "disabled"}
    messages = [{"role": "system", "equals": "Be brief."}]
    matches(way, {"match": {"messages": messages}, "expect": expect, "produce": {"text": "Yes."}})
    received = way.ask(family, system_prompt="Be brief.", temperature=0.25, max_tokens=99)
    assert received.text == "Yes."
    (row,) = way.rows()
    assert row.violations == []
    assert "99" in row.request_body


@each_family
def test_ch_t9_the_tools_are_on_the_wire(way: Way, family: str) -> None:
    block = {"messages": [{"tool_schema": {"name": "get_weather"}}]}
    expect = {"tools": ["get_weather"]}
    matches(way, {"expect": expect, "produce": {"text": "Yes."}})
    assert way.ask(family, tools=(WEATHER,)).text == "Yes."
    assert way.rows()[0].violations == []
    schema = way.ask(family, UserTurn(text_with_block(block)), tools=(WEATHER,)).text
    assert json.loads(schema[schema.index("{") :]) == WEATHER.input_schema


@each_family
def test_thinking_is_asked_for_and_told_apart(way: Way, family: str) -> None:
    reasoning = [{"text": "Hm, let me see.", "signature": "c2VhbA=="}]
    step = {
        "expect": {"reasoning": "enabled"},
        "produce": {"reasoning": reasoning, "text": "Four."},
    }
    matches(way, step)
    received = way.ask(family, thinking_budget=2_000)
    assert way.rows()[0].violations == []
    assert "".join(piece.text for piece in received.thinking) == "Hm, let me see."
    assert received.text == "Four."
    kinds = [type(event) for event in received.events]
    assert kinds.index(TextPart) > max(i for i, k in enumerate(kinds) if k is ThinkingPart)


@each_family
def test_results_go_back_with_their_calls(way: Way, family: str) -> None:
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
    matches(
        way,
        {"turn": 1, "produce": {"tool_calls": calls}},
        {
            "match": {"tool_results": results, "tool_calls": calls_sent},
            "produce": {"text": "Sunny."},
        },
    )
    question = UserTurn("The weather?")
    first = way.ask(family, question, tools=(WEATHER,))
    results = ToolResults(
        (
            ToolOutput("call_1", "get_weather", "sunny"),
            ToolOutput("call_2", "get_weather", "Error: no such city", is_error=True),
        )
    )
    second = way.ask(family, question, turn_of(first), results, tools=(WEATHER,))
    assert second.text == "Sunny."


@pytest.mark.parametrize("family", ["anthropic", "google"])
def test_thinking_goes_back_with_its_signature(way: Way, family: str) -> None:
    reasoning = [{"text": "I need the tool.", "signature": "c2VhbCAx"}]
    call = {"id": "call_1", "name": "get_weather", "arguments": {"city": "Paris"}}
    matches(
        way,
        {"turn": 1, "produce": {"reasoning": reasoning, "tool_calls": [call]}},
        # Thinking whose signature is missing counts as disabled.
        {
            "turn": 2,
            "expect": {"reasoning": "enabled"},
            "produce": {"text": "Sunny."},
        },
    )
    first = way.ask(family, tools=(WEATHER,), thinking_budget=2_000)
    assert [piece.signature for piece in first.thinking if piece.signature] == ["c2VhbCAx"]
    results = ToolResults((ToolOutput("call_1", "get_weather", "sunny"),))
    turns = (UserTurn("The weather?"), turn_of(first), results)
    second = way.ask(family, *turns, tools=(WEATHER,), thinking_budget=2_000)
    assert second.text == "Sunny."
    row = way.rows()[1]
    assert row.violations == []
    assert "c2VhbCAx" in row.request_body and "I need the tool." in row.request_body


def test_redacted_thinking_goes_back_as_it_came(way: Way) -> None:
    load(way, reasoning=[{"text": "", "redacted": "b3BhcXVl"}], text="Four.")
    first = way.ask("anthropic", thinking_budget=2_000)
    assert first.thinking == [ThinkingPart(redacted="b3BhcXVl")]
    turn = AssistantTurn((ThinkingPart(redacted="b3BhcXVl"), TextPart("Four.")))
    way.ask("anthropic", UserTurn("2+2?"), turn, UserTurn("Sure?"), thinking_budget=2_000)
    sent = way.rows()[1].request_body
    assert "redacted_thinking" in sent and "b3BhcXVl" in sent


@each_family
def test_the_messages_of_a_block_are_one_answer_in_their_order(way: Way, family: str) -> None:
    messages = [
        {"text": "First. "},
        {"tool_call": [{"name": "get_weather", "args": {"city": "Paris"}}]},
        {"text": "Second."},
    ]
    received = way.ask(family, UserTurn(text_with_block({"id": "b1", "messages": messages})))
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
def test_choices_beside_one_another_are_one_answer(way: Way, family: str) -> None:
    load(way, choices=[{"text": "one two"}, {"text": "three four"}])
    received = way.ask(family)
    assert received.text == "one twothree four"
    assert received.finished.reason == "stop"


def test_a_refusal_is_a_text(way: Way) -> None:
    load(way, refusal="I would rather not.")
    assert way.ask("openai").text == "I would rather not."


def test_a_blocked_prompt_is_an_error(way: Way) -> None:
    blocked = {"promptFeedback": {"blockReason": "SAFETY"}}
    load(way, text="", provider_metadata={"gemini": blocked})
    code, message = way.ask("google").failed
    assert (code, message) == ("SERVICE_UNAVAILABLE", "The prompt was blocked: SAFETY")
