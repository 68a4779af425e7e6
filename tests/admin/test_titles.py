"""The title of a step describes it, for any data."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scenarios_app.admin.editor.sentence import title_of
from tests.support.hypothesis_profiles import example_count


def sentence(**step: object) -> str:
    return title_of(1, step).sentence


def test_title_joins_number_name_and_sentence() -> None:
    step = {
        "match": {"provider": "openai", "messages": [{"role": "user", "contains": "weather"}]},
        "produce": {"tool_calls": [{"name": "get_weather"}]},
    }
    assert str(title_of(1, step)) == "1 · openai · user contains “weather” → tool call get_weather"


def test_name_precedes_the_sentence() -> None:
    title = title_of(3, {"name": "greet", "produce": {"text": "Hi"}})
    assert str(title) == "3 · greet · anything → text “Hi”"


@pytest.mark.parametrize(
    ("match", "phrase"),
    [
        ({"path": "/v1/messages"}, "/v1/messages"),
        ({"model": "gpt-4o"}, "model gpt-4o"),
        ({"model": {"regex": "^gpt"}}, "model matches “^gpt”"),
        ({"model": ["a", {"startswith": "b"}]}, "model a or starts with “b”"),
        ({"stream": True}, "streamed"),
        ({"stream": False}, "not streamed"),
        ({"messages": [{"role": "system", "equals": "Be brief"}]}, "system prompt is “Be brief”"),
        ({"messages": [{"contains": "x", "regex": "y"}]}, "message contains “x” and matches “y”"),
        (
            {"messages": [{"role": "tool", "which": "any", "contains": "1"}]},
            "any tool result contains “1”",
        ),
        ({"messages": [{"role": "user", "which": 2, "contains": "1"}]}, "user 2 contains “1”"),
        ({"messages": [{"role": "assistant"}]}, "has assistant message"),
        ({"tools": ["a", "b", "c", "d"]}, "offers a, b, c and 1 more"),
        ({"tool_calls": [{"name": "f"}, {}]}, "called f · called a tool"),
        ({"tool_results": [{"name": "f", "contains": "ok"}]}, "result of f contains “ok”"),
        ({"headers": {"x-team": "qa"}}, "header x-team"),
        ({"metadata": {"run": "1"}}, "metadata run"),
        ({}, "anything"),
    ],
)
def test_condition_is_described_in_the_title(match: object, phrase: str) -> None:
    assert title_of(1, {"match": match}).when == phrase


def test_turn_is_described_as_a_condition() -> None:
    assert title_of(1, {"turn": 2}).when == "turn 2"


@pytest.mark.parametrize(
    ("produce", "phrase"),
    [
        ({"text": "one\n  two"}, "text “one two”"),
        ({"text": ""}, "empty text"),
        ({"text": "x" * 50}, f"text “{'x' * 39}…”"),
        ({"reasoning": "hm", "text": "Hi"}, "reasoning + text “Hi”"),
        ({"tool_calls": [{"name": "a"}, {"name": "b"}]}, "tool calls a, b"),
        ({"refusal": "no"}, "refusal “no”"),
        ({"parts": [{"text": "a"}, {"tool_call": {"name": "f"}}]}, "text “a” + tool call f"),
        ({"raw": {"status": 418}}, "raw HTTP 418"),
        ({"choices": [{"text": "a"}, {"text": "b"}]}, "2 choices"),
        ({"chunks": ["a"]}, "1 chunk"),
        ({"generate": {"kind": "lorem"}}, "generated lorem"),
        ({"generate": {"kind": "auto"}}, "made for the request"),
        ({"final_report": {"status": "success"}}, "final report"),
        ({"fault": {"kind": "http", "status": 503}}, "HTTP error 503"),
        ({"text": "a", "fault": {"kind": "disconnect"}}, "text “a”, cut short"),
        ({"streaming": {"text": "a"}}, "text “a”"),
        (
            {"streaming": {"text": "a"}, "non_streaming": {"text": "b"}},
            "text “a” streamed, else text “b”",
        ),
        ({}, "nothing yet"),
    ],
)
def test_answer_is_described_in_the_title(produce: object, phrase: str) -> None:
    assert title_of(1, {"produce": produce}).then == phrase


def test_failures_precede_the_answer_in_the_title() -> None:
    fault = {"kind": "rate_limit"}
    step = {"failures": {"times": 2, "fault": fault}, "produce": {"text": "ok"}}
    assert title_of(1, step).then == "rate limit 2 times, then text “ok”"
    assert sentence(failures={"times": 1}).endswith("model error once, then nothing yet")


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)
KEYS = ["name", "turn", "match", "produce", "failures"]
INNER = [
    "messages",
    "model",
    "provider",
    "tools",
    "tool_calls",
    "headers",
    "text",
    "parts",
    "times",
]
INNER += [
    "fault",
    "kind",
    "status",
    "choices",
    "raw",
    "role",
    "which",
    "contains",
    "name",
    "streaming",
]


@settings(max_examples=example_count(40), deadline=None)
@given(
    st.dictionaries(
        st.sampled_from(KEYS),
        st.dictionaries(
            st.sampled_from(INNER),
            json_values
            | st.dictionaries(st.sampled_from(INNER), json_values)
            | st.lists(st.dictionaries(st.sampled_from(INNER), json_values), max_size=2),
        ),
    )
)
def test_title_of_any_data_raises_nothing(step: dict[str, object]) -> None:
    assert "→" in str(title_of(1, step))
