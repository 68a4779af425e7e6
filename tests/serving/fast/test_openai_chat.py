"""Typed reading of plain chat requests: the same result as the `Node` reader, or none."""

import json
from random import Random
from typing import Any

import pytest
from msgspec.structs import replace

from scenarios_app.engine.canonical import CanonicalRequest
from scenarios_app.serving.fast.endpoints import find_fast_endpoint
from scenarios_app.serving.fast.openai_chat import read_plain_chat
from scenarios_app.wire.base import Call
from scenarios_app.wire.body import Limits, read_body
from scenarios_app.wire.errors import WireError
from scenarios_app.wire.openai.chat_request import read_chat
from scenarios_app.wire.openai.wire import WIRE, WIRES_BY_DIALECT

PATH = "/v1/chat/completions"
ENDPOINT = next(
    endpoint
    for endpoint in WIRE.endpoints
    if endpoint.pattern == PATH and endpoint.method == "POST"
)
LIMITS = Limits(depth=8, nodes=5_000, messages=10)

HELLO = {"role": "user", "content": "Hello"}
PLAIN_MESSAGES: tuple[dict[str, Any], ...] = (
    HELLO,
    {"role": "system", "content": "Be brief."},
    {"role": "developer", "content": ""},
    {"role": "assistant", "content": "Hi [{,", "refusal": None, "tool_calls": None},
)
CALL = {"id": "c1", "type": "function", "function": {"name": "f", "arguments": "{}"}}
OTHER_MESSAGES: tuple[Any, ...] = (
    {"role": "user", "content": [{"type": "text", "text": "Hi"}]},
    {"role": "user", "content": "Hi", "name": "n"},
    {"role": "assistant", "content": None, "tool_calls": [CALL]},
    {"role": "assistant", "content": "x", "refusal": "No."},
    {"role": "assistant", "content": "x", "reasoning_content": "Hm."},
    {"role": "tool", "tool_call_id": "c1", "content": "12 °C"},
    {"role": "function", "name": "f", "content": "1"},
    {"role": "nobody", "content": "x"},
    {"role": "user"},
    {"role": "user", "content": 1},
    {"role": "user", "content": "x", "unknown": 1},
    "text",
)
PLAIN_FIELDS: dict[str, tuple[Any, ...]] = {
    "model": ("gpt-4o", "org/model", "openai/gpt-4o"),
    "stream": (True, False, None),
    "stream_options": (None, {}, {"include_usage": True}, {"include_obfuscation": False}),
    "temperature": (0, 0.5, 12345678901234567890123456789),
    "top_p": (1, None),
    "max_tokens": (5, None),
    "max_completion_tokens": (7, None),
    "metadata": ({"a": "b"}, {}, None),
    "reasoning_effort": ("none", "low"),
    "seed": (1, 10**30),
    "user": ("u", "[{,"),
    "store": (True,),
}
OTHER_FIELDS: dict[str, tuple[Any, ...]] = {
    "model": (None, "", 1, "deepseek/deepseek-chat"),
    "stream": ("yes", 1),
    "temperature": ("hot", True, 10**400),
    "max_tokens": (1.0, "5"),
    "metadata": ({"a": 1}, {"a": None}),
    "n": (1, 0),
    "tools": ([{"type": "function", "function": {"name": "f"}}],),
    "logprobs": (True,),
    "unknown": (1, {"a": [1]}),
    "logit_bias": ({"1": 5},),
}


def read_both(
    body: bytes, limits: Limits = LIMITS, **params: str
) -> tuple[CanonicalRequest | None, Any]:
    """Return the typed reader's request or None, and the `Node` reader's or its error."""
    call = Call("POST", PATH, {}, {"a": "b"}, body)
    typed = read_plain_chat(call, ENDPOINT, params, limits)
    try:
        return typed, read_chat(call, ENDPOINT, params, read_body(body, limits))
    except WireError as error:
        return typed, error


def body_with(**fields: Any) -> bytes:
    return json.dumps({"model": "gpt-4o", "messages": [HELLO], **fields}).encode()


@pytest.mark.parametrize(
    "body",
    [
        *(body_with(messages=[HELLO, message]) for message in PLAIN_MESSAGES),
        *(body_with(**{key: value}) for key, each in PLAIN_FIELDS.items() for value in each),
    ],
)
def test_plain_body_is_read_as_by_nodes(body: bytes) -> None:
    typed, expected = read_both(body)
    assert typed == expected


@pytest.mark.parametrize(
    "body",
    [
        *(body_with(messages=[message]) for message in OTHER_MESSAGES),
        *(body_with(**{key: value}) for key, each in OTHER_FIELDS.items() for value in each),
        b"{",
        b"[]",
        b"[" * 4_000,
        b'{"messages": []}',
        body_with(messages=[]),
        body_with()[:-1] + b', "user": "\xff"}',
        body_with(messages=[HELLO] * 11),
        body_with(user="u" * 5_000),
    ],
)
def test_other_body_is_left_to_nodes(body: bytes) -> None:
    assert read_both(body)[0] is None


def test_body_that_may_be_too_deep_is_left_to_nodes() -> None:
    typed, expected = read_both(body_with(), replace(LIMITS, depth=2))
    assert typed is None and isinstance(expected, WireError)


def test_deployment_is_left_to_nodes_unless_the_body_names_a_model() -> None:
    body = json.dumps({"messages": [HELLO]}).encode()
    assert read_both(body, deployment="mine")[0] is None
    typed, expected = read_both(body_with(), deployment="mine")
    assert typed == expected


@pytest.mark.parametrize("seed", range(20))
def test_random_bodies_are_read_as_by_nodes_or_left_to_them(seed: int) -> None:
    draw, plain = Random(seed), 0
    for _ in range(50):
        body: dict[str, Any] = {"messages": draw.choices(PLAIN_MESSAGES, k=draw.randint(1, 9))}
        if draw.random() < 0.1:
            body["messages"].append(draw.choice(OTHER_MESSAGES))
        for key in {"model", *draw.sample(sorted(PLAIN_FIELDS), draw.randint(1, 8))}:
            body[key] = draw.choice(PLAIN_FIELDS[key])
        if draw.random() < 0.1:
            key = draw.choice(sorted(OTHER_FIELDS))
            body[key] = draw.choice(OTHER_FIELDS[key])
        typed, expected = read_both(json.dumps(body).encode())
        assert typed is None or typed == expected
        plain += typed is not None
    assert plain > 25


@pytest.mark.parametrize("name", [name for name in WIRES_BY_DIALECT if name != "openai"])
def test_dialect_is_read_as_by_nodes(name: str) -> None:
    wire = WIRES_BY_DIALECT[name]
    endpoint = next(
        each for each in wire.endpoints if each.canonical == PATH and each.method == "POST"
    )
    body = body_with(stream_options={"include_usage": True})
    call = Call("POST", PATH, {}, {}, body)
    typed = read_plain_chat(call, endpoint, {}, LIMITS, dialect=wire.dialect)
    assert typed == endpoint.read(call, endpoint, {}, read_body(body, LIMITS))


def test_endpoint_with_another_reader_has_no_typed_one() -> None:
    rows = [find_fast_endpoint(each) for each in (ENDPOINT, replace(ENDPOINT, pattern="/other"))]
    assert all(row is not None and row.read is not None for row in rows)
    assert find_fast_endpoint(replace(ENDPOINT, read=lambda *_: None)) is None
