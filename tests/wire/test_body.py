"""Reading of untrusted JSON: limits, types and error messages."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scenarios_app.engine.canonical import ErrorAnswer
from scenarios_app.wire import body as bodies
from scenarios_app.wire.body import Limits, Node, read_body
from scenarios_app.wire.errors import WireError
from tests.wire.json_strategies import JSON

LIMITS = Limits()


def catch_error(body: bytes, limits: Limits = LIMITS) -> ErrorAnswer:
    with pytest.raises(WireError) as raised:
        read_body(body, limits)
    assert raised.value.answer.status == 400
    return raised.value.answer


def nested_arrays(levels: int, innermost: str) -> bytes:
    return ('{"a":' + "[" * (levels - 1) + innermost + "]" * (levels - 1) + "}").encode()


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"   ",
        b"{",
        b'{"a":1}x',
        b"{'a':1}",
        b'{"a":NaN}',
        b'{"a":Infinity}',
        b'{"a":1e999}',
        b'{"a":"\\ud800"}',
        b'{"a":"\xed\xa0\x80"}',
        b'{"a":"\xff"}',
        b"\xef\xbb\xbf{}",
        '{"a":1}'.encode("utf-16"),
        b'{"a":' + b"9" * 5000 + b"}",
    ],
)
def test_invalid_json_is_rejected(body: bytes) -> None:
    assert catch_error(body).message.startswith("The body of the request is not valid JSON: ")


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        (b"[]", "an array"),
        (b"null", "null"),
        (b'"a"', "a string"),
        (b"1", "an integer"),
        (b"1.5", "a decimal number"),
        (b"true", "a boolean"),
    ],
)
def test_body_that_is_no_object_is_rejected(body: bytes, kind: str) -> None:
    assert catch_error(body).message == f"The JSON body must be an object, but got {kind}."


def test_depth_counts_objects_and_arrays() -> None:
    limits = Limits(depth=4)
    for innermost in ("", "1"):
        assert read_body(nested_arrays(4, innermost), limits).value is not None
        assert catch_error(nested_arrays(5, innermost), limits).message == (
            "The JSON body is nested deeper than 4 levels."
        )


def test_body_too_deep_for_the_decoder_has_the_same_error() -> None:
    assert catch_error(b"[" * 100_000 + b"]" * 100_000).message == (
        "The JSON body is nested deeper than 64 levels."
    )


def test_number_of_values_is_limited() -> None:
    body = b'{"a":[1,2],"b":{"c":null}}'
    assert read_body(body, Limits(nodes=6)).value is not None
    assert catch_error(body, Limits(nodes=5)).message == "The JSON body holds more than 5 values."


def test_body_with_too_many_values_is_rejected_undecoded(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(bodies, "_decode", None)
    for body in (b'{"a":[1,2,3,4,5,6,7]}', b'{"a":[[[[[[]]]]]]}'):
        assert (
            catch_error(body, Limits(nodes=5)).message == "The JSON body holds more than 5 values."
        )


@pytest.mark.parametrize("slice_bytes", [1, 7, 9, 262_144])
@pytest.mark.parametrize("text", [",[{,[{,[{", r"\",[{,[{,[{", "a\\\\"])
def test_separators_in_strings_add_no_values(
    monkeypatch: pytest.MonkeyPatch, text: str, slice_bytes: int
) -> None:
    monkeypatch.setattr(bodies, "SLICE_BYTES", slice_bytes)
    body = b'{"a":"%s","b":[1,2,3]}' % text.encode()
    assert read_body(body, Limits(nodes=6)).value is not None
    assert catch_error(body, Limits(nodes=5)).message == "The JSON body holds more than 5 values."
    monkeypatch.setattr(bodies, "_decode", None)
    assert catch_error(body, Limits(nodes=1)).message == "The JSON body holds more than 1 values."


def test_number_of_messages_is_limited() -> None:
    limits = Limits(messages=2)
    assert read_body(b'{"messages":[1,2]}', limits).value is not None
    error = catch_error(b'{"messages":[1,2,3]}', limits)
    assert error.param == "messages"
    assert error.code == "array_above_max_length"
    assert error.message == "Invalid 'messages': at most 2 are taken, but got 3."


def test_messages_that_are_no_array_are_not_counted() -> None:
    assert read_body(b'{"messages":"abc"}', Limits(messages=2)).get("messages").text() == "abc"


def test_the_last_of_duplicate_keys_wins() -> None:
    assert read_body(b'{"a":1,"a":2}', LIMITS).get("a").integer() == 2


def test_integers_keep_every_digit() -> None:
    assert read_body(b'{"a":18446744073709551617}', LIMITS).get("a").integer() == 2**64 + 1


def test_place_of_a_node_is_its_path() -> None:
    node = Node({"messages": [{"content": [{"text": 1}]}]})
    (message,) = node.get("messages").items()
    (part,) = message.get("content").items()
    assert part.get("text").place == "messages[0].content[0].text"


def test_null_and_missing_are_the_same() -> None:
    node = Node({"a": None}, "at")
    for key in ("a", "b"):
        assert node.get(key).value is None
        assert node.maybe(key) is None
        with pytest.raises(WireError) as raised:
            node.need(key)
        assert raised.value.answer == ErrorAnswer(
            400,
            f"Missing required parameter: 'at.{key}'.",
            param=f"at.{key}",
            code="missing_required_parameter",
        )


@pytest.mark.parametrize("falsy", [0, False, "", [], {}])
def test_empty_value_counts_as_present(falsy: Any) -> None:
    node = Node({"a": falsy})
    assert node.need("a").value == falsy
    optional_node = node.maybe("a")
    assert optional_node is not None
    assert bool(optional_node)


@pytest.mark.parametrize(
    ("method", "valid_values", "invalid_values", "expected_type"),
    [
        ("object", [{}], ["", [], 1, True, 1.5, None], "an object"),
        ("text", ["", "é"], [{}, [], 1, True, None], "a string"),
        ("flag", [True, False], [0, 1, "true", None], "a boolean"),
        ("number", [0, 1.5, -3], ["1", True, None, [], 10**400], "a number"),
        ("integer", [0, 10**400], [1.0, "1", False, None], "an integer"),
        ("items", [[], [1]], [{}, "ab", None, 1], "an array"),
    ],
)
def test_each_method_accepts_only_its_type(
    method: str, valid_values: list[Any], invalid_values: list[Any], expected_type: str
) -> None:
    for value in valid_values:
        getattr(Node(value, "a.b"), method)()
    for value in invalid_values:
        with pytest.raises(WireError) as raised:
            getattr(Node(value, "a.b"), method)()
        error = raised.value.answer
        assert (error.status, error.param, error.code) == (400, "a.b", "invalid_type")
        assert error.message.startswith(
            f"Invalid type for 'a.b': expected {expected_type}, but got "
        )


def test_methods_return_the_value() -> None:
    assert Node({"a": 1}).object() == {"a": 1}
    assert Node("a").text() == "a"
    assert Node(True).flag() is True
    assert Node(3).number() == 3.0
    assert [node.value for node in Node([1, 2]).items()] == [1, 2]


@given(st.dictionaries(st.text(), JSON))
def test_any_json_object_is_read_unchanged(value: dict[str, Any]) -> None:
    assert read_body(json.dumps(value).encode(), LIMITS).value == value


@given(st.binary(max_size=60))
def test_any_bytes_are_an_object_or_a_400(body: bytes) -> None:
    try:
        assert isinstance(read_body(body, LIMITS).value, dict)
    except WireError as error:
        assert error.answer.status == 400
