"""The shape of a response: its fields and their types, without their values."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scenarios_app.recording.drift import Shape, response_shape, shape_differences

STREAM = "text/event-stream; charset=utf-8"


def json_shape(value: object) -> Shape:
    return response_shape(200, "application/json", json.dumps(value).encode())


def list_differences(recorded: Shape, today: Shape) -> list[tuple[str, str]]:
    return [
        (difference.kind, difference.place) for difference in shape_differences(recorded, today)
    ]


def test_types_that_share_only_null_are_changed() -> None:
    recorded, today = json_shape([{"a": None}, {"a": "x"}]), json_shape([{"a": None}, {"a": 1}])
    assert list_differences(recorded, today) == [("changed", "body[].a")]


def test_shape_ignores_values() -> None:
    first = {"id": "a", "choices": [{"text": "x"}], "usage": {"n": 1}}
    second = {"id": "b", "choices": [{"text": "y"}, {"text": "z"}], "usage": {"n": 2.5}}
    assert list_differences(json_shape(first), json_shape(second)) == []


@pytest.mark.parametrize(
    ("today", "expected"),
    [
        ({"a": 1, "b": {"c": "x"}}, [("new", "body.b"), ("new", "body.b.c")]),
        ({}, [("removed", "body.a")]),
        ({"a": "1"}, [("changed", "body.a")]),
        ({"a": None}, []),
        ({"a": [1]}, [("changed", "body.a"), ("new", "body.a[]")]),
    ],
)
def test_differences_are_new_removed_and_changed_fields(
    today: object, expected: list[tuple[str, str]]
) -> None:
    assert list_differences(json_shape({"a": 1}), json_shape(today)) == expected


def test_shape_contains_status_and_media_type() -> None:
    page = response_shape(500, "text/html", b"<p>")
    assert ("changed", "status") in list_differences(json_shape({}), page)
    assert ("changed", "content-type") in list_differences(json_shape({}), page)


def test_each_kind_of_event_has_its_own_shape() -> None:
    body = b'event: start\ndata: {"a": 1}\n\ndata: {"type": "x", "b": 1}\n\ndata: [DONE]\n\n'
    shape = response_shape(200, STREAM, body)
    assert shape["event start.a"] == {"number"} and shape["event x.b"] == {"number"}
    again = body.replace(b"\n", b"\r\n") + b'data: {"type": "x", "b": 2}\r\n\r\n'
    assert list_differences(shape, response_shape(200, STREAM, again)) == []
    assert list_differences(
        shape, response_shape(200, STREAM, body.replace(b"event: start", b"event: begin"))
    ) == [
        ("new", "event begin"),
        ("new", "event begin.a"),
        ("removed", "event start"),
        ("removed", "event start.a"),
    ]


def test_lines_of_json_are_one_shape() -> None:
    kind = "application/x-ndjson"
    assert response_shape(200, kind, b'{"a": 1}\n{"b": 2}\n')["line.b"] == {"number"}


@given(st.binary(max_size=200), st.sampled_from([STREAM, "application/json", "x"]))
def test_any_body_has_a_shape_without_differences_to_itself(body: bytes, media_type: str) -> None:
    shape = response_shape(200, media_type, body)
    assert shape_differences(shape, shape) == ()


def test_text_has_only_a_status_and_a_media_type() -> None:
    shape = response_shape(502, "text/html", b"<p>\nBad gateway\n")
    assert shape == {"status": {"502"}, "content-type": {"text/html"}}
