"""Decoding of JSON: duplicate keys and values that are no JSON are errors."""

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scenarios_app.engine.canonical import Json
from scenarios_app.engine.document.json_text import MAX_DEPTH, decode, to_plain_json
from scenarios_app.engine.shapes import DocumentError

JSON: st.SearchStrategy[Json] = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(codec="utf-8")),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(st.characters(codec="utf-8")), inner),
    max_leaves=20,
)


def decode_error(text: bytes) -> str:
    with pytest.raises(DocumentError) as error:
        decode(text, source="a.json")
    return str(error.value)


@settings(deadline=None)
@given(JSON)
def test_json_value_is_unchanged(value: Json) -> None:
    assert to_plain_json(value) == value
    assert decode(json.dumps(value).encode()) == value


@settings(deadline=None)
@given(st.binary())
def test_bytes_are_json_or_an_error(text: bytes) -> None:
    try:
        decode(text)
    except DocumentError as error:
        assert str(error)


def test_tuple_becomes_a_list() -> None:
    assert to_plain_json({"a": (1, 2)}) == {"a": [1, 2]}


INVALID_JSON: list[tuple[bytes, str]] = [
    (b"", "1:1: not valid JSON: Expecting value"),
    (b'{"a": 1,\n "b" 2}', "2:6: not valid JSON: Expecting ':' delimiter"),
    (b"{} {}", "1:4: not valid JSON: Extra data"),
    (b"\xef\xbb\xbf{}", "begins with a byte order mark: save it as UTF-8 without one"),
    ("{}".encode("utf-16"), "expected UTF-8 text, this is UTF-16"),
    ("{}".encode("utf-16-be"), "1:1: not valid JSON: Expecting value"),
    (b'{"a": "\xe9"}', "expected UTF-8 text, byte 8 is not"),
    (b"[" * 100_000, f"nested deeper than {MAX_DEPTH} levels"),
    (b"1" * 5_000, "holds a number too large to read"),
    (b'{"a": [1, NaN]}', "a[1]: expected a finite number"),
    (b'{"a": -Infinity}', "a: expected a finite number"),
    (b'{"a": 1e999}', "a: expected a finite number"),
    (b'{"a": 1' + b"0" * 400 + b"}", "a: a number too large to use"),
    (b'{"a": "\\ud83d"}', "a: holds half of a surrogate pair, which is not text"),
    (b'{"a": {"b": 1, "c": 2, "b": 3}}', "a.b: this key is given twice"),
]


@pytest.mark.parametrize(("text", "line"), INVALID_JSON)
def test_invalid_json_is_rejected_with_line_and_column(text: bytes, line: str) -> None:
    separator = "" if line[0].isdigit() else " "
    assert decode_error(text) == f"a.json:{separator}{line}"


def test_key_with_half_a_surrogate_pair_is_rejected() -> None:
    assert decode_error(b'{"\\ud83d": 1}') == r"a.json: expected keys that are text, got '\ud83d'"


def test_all_problems_are_reported_together() -> None:
    assert decode_error(b'{"a": NaN, "b": [1e999]}').splitlines() == [
        "a.json: a: expected a finite number",
        "a.json: b[0]: expected a finite number",
    ]


@pytest.mark.parametrize(
    ("value", "line"),
    [
        ({1: 2}, "expected keys that are text, got 1"),
        ({"a": object}, "a: expected a JSON value, got type"),
        ({"a": b"text"}, "a: expected a JSON value, got bytes"),
        ({"a": {1, 2}}, "a: expected a JSON value, got set"),
    ],
)
def test_value_that_is_no_json_is_rejected(value: object, line: str) -> None:
    with pytest.raises(DocumentError) as error:
        to_plain_json(value)
    assert str(error.value) == line


def test_nesting_beyond_the_limit_is_rejected() -> None:
    value: Any = 1
    for _ in range(MAX_DEPTH):
        value = [value]
    assert to_plain_json(value) == value
    with pytest.raises(DocumentError) as error:
        to_plain_json({"a": [value]})
    assert str(error.value) == f"a[0][0]: nested deeper than {MAX_DEPTH} levels"


def test_recursive_value_is_rejected() -> None:
    recursive_list: list[Any] = []
    recursive_list.append(recursive_list)
    with pytest.raises(DocumentError):
        to_plain_json(recursive_list)
