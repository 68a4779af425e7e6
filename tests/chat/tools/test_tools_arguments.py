"""Arguments of tool calls are a JSON object or an error with a reason."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chat_app.tools import MAX_DEPTH, ArgumentsError, parse_arguments

JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=20,
)


def nested_objects(depth: int) -> str:
    """Return an object with `depth` levels of objects."""
    return '{"a":' * (depth - 1) + "{}" + "}" * (depth - 1)


def nested_lists(depth: int) -> str:
    return '{"a":' + "[" * (depth - 1) + "]" * (depth - 1) + "}"


@given(st.dictionaries(st.text(), JSON, max_size=5))
def test_json_object_is_parsed_unchanged(value: dict[str, Any]) -> None:
    assert parse_arguments(json.dumps(value)) == value


@pytest.mark.parametrize("text", ["", " ", "\n"])
def test_blank_text_is_an_object_without_members(text: str) -> None:
    assert parse_arguments(text) == {}


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("[]", "not a JSON object"),
        ("null", "not a JSON object"),
        ("1", "not a JSON object"),
        ('"{}"', "not a JSON object"),
        ("{", "not valid JSON"),
        ("{'a': 1}", "not valid JSON"),
        ('{"a": 1} {}', "not valid JSON"),
        ('{"a": 1,}', "not valid JSON"),
        ("\ufeff{}", "not valid JSON"),
        ('{"a": NaN}', "not valid JSON"),
        ('{"a": -Infinity}', "not valid JSON"),
        ('{"a": 1e999}', "not valid JSON"),
        ('{"a": ' + "9" * 100_000 + "}", "not valid JSON"),
        ('{"a": "\\ud800"}', "not valid JSON"),
        ('{"\\udc00": 1}', "not valid JSON"),
        ('{"a": "\ud800"}', "not valid JSON"),
        ('{"a": "\x00"}', "not valid JSON"),
        (nested_objects(MAX_DEPTH + 1), "nested deeper"),
        (nested_lists(MAX_DEPTH + 1), "nested deeper"),
        (nested_objects(100_000), "nested deeper"),
        ("[" * 1_000_000, "nested deeper"),
    ],
)
def test_other_arguments_are_refused_with_the_reason(text: str, reason: str) -> None:
    with pytest.raises(ArgumentsError, match=reason):
        parse_arguments(text)


def test_object_of_the_maximum_depth_is_parsed() -> None:
    for text in (nested_objects(MAX_DEPTH), nested_lists(MAX_DEPTH)):
        assert parse_arguments(text) == json.loads(text)


@given(st.text())
def test_invalid_text_raises_only_arguments_error(text: str) -> None:
    try:
        parse_arguments(text)
    except ArgumentsError as error:
        assert str(error)
