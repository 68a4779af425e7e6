"""Rules that make two bodies the same conversation; each can be switched off."""

from typing import Any, get_args

import pytest

from scenarios_app.engine.canonical import Json
from scenarios_app.engine.recorded.rules import (
    RULE_NAMES,
    RULES,
    RuleName,
    normalize_body,
)


def is_same(first: Json, second: Json, *exact: str) -> bool:
    exact_rules = frozenset(exact)
    return normalize_body(first, exact=exact_rules) == normalize_body(second, exact=exact_rules)


CASES: dict[str, tuple[Any, Any]] = {
    "secrets": ({"tools": [{"api_key": "one"}]}, {"tools": [{"api_key": "two"}]}),
    "ids": (
        {"m": [{"id": "call_1"}, {"tool_call_id": "call_1"}]},
        {"m": [{"id": "x"}, {"tool_call_id": "x"}]},
    ),
    "uuids": (
        {"t": "run 3f2504e0-4f89-11d3-9a0c-0305e82c3301"},
        {"t": "run 9f2504e0-4f89-11d3-9a0c-0305e82c3302"},
    ),
    "dates": ({"t": "Today is 2026-05-01."}, {"t": "Today is 2026-11-23."}),
    "durations": ({"t": "2 passed in 0.31s"}, {"t": "2 passed in 12.4s"}),
    "labels": (
        {"user": "a", "metadata": {"run": "1"}, "client_metadata": {"thread_id": "a"}},
        {"safety_identifier": "b", "client_metadata": {"thread_id": "b"}},
    ),
    "caches": ({"prompt_cache_key": "a"}, {"prompt_cache_key": "b"}),
    "defaults": ({"stream": False, "n": 1, "tools": [], "stop": None}, {}),
    "texts": (
        {"messages": [{"content": "hi"}]},
        {"messages": [{"content": [{"type": "input_text", "text": "hi"}]}]},
    ),
    "arguments": ({"arguments": '{"a":1,"b":2}'}, {"arguments": '{"b": 2, "a": 1}'}),
}


def test_every_rule_is_named_once() -> None:
    assert list(RULES) == list(get_args(RuleName))
    assert len(RULE_NAMES) == len(RULES)


@pytest.mark.parametrize("name", CASES)
def test_a_rule_makes_two_bodies_the_same_until_it_is_switched_off(name: str) -> None:
    first, second = CASES[name]
    assert is_same(first, second)
    assert not is_same(first, second, name)
    assert is_same(first, second, *(RULE_NAMES - {name, "texts", "defaults"}))


def test_differently_paired_ids_are_a_difference() -> None:
    first = {"m": [{"id": "a"}, {"id": "b"}, {"tool_call_id": "a"}]}
    second = {"m": [{"id": "x"}, {"id": "y"}, {"tool_call_id": "y"}]}
    assert not is_same(first, second)


def test_roles_and_texts_of_messages_are_compared() -> None:
    body = {"messages": [{"role": "user", "content": "hi"}]}
    assert not is_same(body, {"messages": [{"role": "user", "content": "ho"}]})
    assert not is_same(body, {"messages": [{"role": "system", "content": "hi"}]})
    assert not is_same({"temperature": 0}, {"temperature": 1})
    assert not is_same({"stream": True}, {})


def test_a_signature_of_thinking_is_no_secret() -> None:
    assert not is_same({"signature": "abc"}, {"signature": "def"})


def test_integers_equal_floats_but_not_booleans() -> None:
    assert is_same({"temperature": 1}, {"temperature": 1.0})
    assert normalize_body({"x": True}) == {"x": True}
    assert normalize_body({"x": 0.5}) == {"x": 0.5}


@pytest.mark.parametrize(
    "text",
    [
        "at 2026-05-01T09:30:00Z",
        "at 2026-05-01T09:30:00.123+02:00",
        "at 2026-05-01 09:30",
        "at 2026-05-01",
    ],
)
def test_date_in_a_common_format_is_replaced(text: str) -> None:
    assert normalize_body(text) == "at <date>"


@pytest.mark.parametrize("text", ["2026-13-01", "version 12026-05-01", "1-2-3", "2026-05-011"])
def test_other_numbers_are_no_dates(text: str) -> None:
    assert normalize_body(text) == text


@pytest.mark.parametrize("text", ["Wall time 0.3 seconds", "0.3s", "ran for 12.25 ms"])
def test_measured_durations_are_not_compared(text: str) -> None:
    assert "<duration>" in str(normalize_body(text))


@pytest.mark.parametrize("text", ["wait 3 seconds", "version 1.2.3 s", "0.3 score", "5s", "$1.5"])
def test_other_numbers_before_words_are_compared(text: str) -> None:
    assert normalize_body(text) == text


def test_invalid_json_arguments_are_compared_as_text() -> None:
    assert normalize_body({"arguments": '{"a": '}) == {"arguments": '{"a": '}
    deep = "[" * 100_000
    assert normalize_body({"arguments": deep}) == {"arguments": deep}


def test_the_boundary_of_a_form_is_not_compared() -> None:
    form = '--abc\r\nContent-Disposition: form-data; name="a"\r\n\r\n1\r\n--abc--\r\n'
    form_with_other_boundary = form.replace("abc", "xyz")
    assert normalize_body(form) == normalize_body(form_with_other_boundary)
    assert normalize_body(form, exact=frozenset({"boundaries"})) == form
    assert normalize_body("plain") == "plain"
