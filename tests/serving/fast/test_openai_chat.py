"""Typed reading of chat requests: the same result as the `Node` reader, or none."""

import json
from collections.abc import Callable, Iterator
from random import Random
from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from scenarios_app.engine.canonical import CanonicalRequest
from scenarios_app.serving.fast.endpoints import find_fast_endpoint
from scenarios_app.serving.fast.openai_chat import _ChatBody, read_typed_chat
from scenarios_app.serving.fast.typed import Unsure
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
LIMITS = Limits(depth=8, nodes=300, messages=10)

TEXT = {"type": "text", "text": "Hi"}
CALL = {"id": "c1", "type": "function", "function": {"name": "f", "arguments": "{}"}}
CUSTOM = {"id": "c2", "type": "custom", "custom": {"name": "g", "input": "x"}}
MESSAGES: tuple[dict[str, Any], ...] = (
    {"role": "user", "content": "Hello"},
    {"role": "user", "content": [TEXT, {"type": "refusal", "refusal": "no"}], "name": "n"},
    {"role": "system", "content": "Be brief."},
    {"role": "developer", "content": [TEXT]},
    {"role": "assistant", "content": "Hi", "refusal": None},
    {"role": "assistant", "content": None, "tool_calls": [CALL, CUSTOM]},
    {"role": "assistant", "refusal": "No."},
    {"role": "tool", "tool_call_id": "c1", "content": "12 °C"},
    {"role": "tool", "tool_call_id": "other", "content": [TEXT, TEXT]},
)
UNUSUAL_MESSAGES: tuple[Any, ...] = (
    {"role": "function", "name": "f", "content": "1"},
    {"role": "nobody", "content": "x"},
    {"role": "user"},
    {"role": "user", "content": 1},
    {"role": "user", "content": [{"type": "image_url", "image_url": {"url": "x"}}]},
    {"role": "user", "content": [{"type": "text"}]},
    {"role": "user", "content": [{"type": "other", "text": "x"}]},
    {"role": "tool", "content": "x"},
    {"role": "assistant", "tool_calls": [{"id": "c", "type": "other"}]},
    {"role": "assistant", "tool_calls": [{"id": "c", "type": "function"}]},
    {"role": "assistant", "content": "x", "reasoning_content": "Hm."},
    {"role": "assistant", "content": "x", "unknown": 1},
    "text",
)
TOOL = {"type": "function", "function": {"name": "f", "parameters": {"type": "object"}}}
FIELDS: dict[str, tuple[Any, ...]] = {
    "model": ("gpt-4o", "org/model", "openai/gpt-4o"),
    "stream": (True, False, None),
    "stream_options": (None, {}, {"include_usage": True}, {"include_obfuscation": False}),
    "temperature": (0, 0.5, 12345678901234567890123456789),
    "top_p": (1, None),
    "max_tokens": (5, None),
    "max_completion_tokens": (7, None),
    "n": (1, 2, None),
    "stop": ("a", ["a", "b"], [], None),
    "tools": (
        [TOOL],
        [{"type": "custom", "custom": {"name": "g", "format": {"type": "text"}}}],
        [{"type": "function", "function": {"name": "f", "description": "d", "strict": True}}],
        [],
    ),
    "tool_choice": ("auto", {"type": "function", "function": {"name": "f"}}),
    "response_format": ({"type": "json_object"}, {"type": "text"}, None),
    "metadata": ({"a": "b"}, {}, None),
    "reasoning_effort": ("none", "low"),
    "seed": (1, 10**30),
    "user": ("u",),
    "logit_bias": ({"1": 5},),
    "store": (True,),
}
UNUSUAL: dict[str, tuple[Any, ...]] = {
    "model": (None, "", 1, "deepseek/deepseek-chat"),
    "stream": ("yes", 1),
    "temperature": ("hot", True, 10**400),
    "max_tokens": (1.0, "5"),
    "n": (0, 129, 1.5),
    "stop": (1, [1]),
    "tools": ([{"type": "other"}], [{"type": "function"}], [{"function": {"name": "f"}}], {}),
    "tool_choice": (1,),
    "response_format": ({}, {"type": 1}, "json"),
    "metadata": ({"a": 1}, {"a": None}),
    "functions": ([{"name": "f"}],),
    "logprobs": (True,),
    "top_logprobs": (2,),
    "reasoning": ({"effort": "low"},),
    "unknown": (1, {"a": [1]}),
    "logit_bias": ({"a": {"b": {"c": {"d": {"e": {"f": {"g": {"h": 1}}}}}}}},),
}


def read_both(
    body: bytes, limits: Limits = LIMITS, **params: str
) -> tuple[CanonicalRequest | None, Any]:
    """Return the typed reader's request, None if unsure, and the `Node` reader's or its error."""
    call = Call("POST", PATH, {}, {"a": "b"}, body)
    try:
        typed = read_typed_chat(call, ENDPOINT, params, limits)
    except Unsure:
        typed = None
    try:
        return typed, read_chat(call, ENDPOINT, params, read_body(body, limits))
    except WireError as error:
        return typed, error


def body_with(**fields: Any) -> bytes:
    return json.dumps({"model": "gpt-4o", "messages": list(MESSAGES[:1]), **fields}).encode()


@pytest.mark.parametrize("message", MESSAGES)
def test_usual_message_is_read_as_by_nodes(message: Any) -> None:
    typed, expected = read_both(body_with(messages=[MESSAGES[5], message]))
    assert typed == expected


@pytest.mark.parametrize(("key", "value"), [(k, v) for k, each in FIELDS.items() for v in each])
def test_usual_field_is_read_as_by_nodes(key: str, value: Any) -> None:
    typed, expected = read_both(body_with(**{key: value}))
    assert typed == expected


@pytest.mark.parametrize("message", UNUSUAL_MESSAGES)
def test_unusual_message_is_left_to_nodes(message: Any) -> None:
    assert read_both(body_with(messages=[message]))[0] is None


@pytest.mark.parametrize(("key", "value"), [(k, v) for k, each in UNUSUAL.items() for v in each])
def test_unusual_field_is_left_to_nodes(key: str, value: Any) -> None:
    assert read_both(body_with(**{key: value}))[0] is None


@pytest.mark.parametrize(
    "body",
    [
        b"{",
        b"[]",
        b'{"messages": []}',
        body_with(messages=[]),
        body_with()[:-1] + b', "user": "\xff"}',
        body_with(tools=[TOOL] * 100),
        body_with(messages=list(MESSAGES[:1]) * 11),
    ],
)
def test_body_that_is_invalid_or_beyond_the_limits_is_left_to_nodes(body: bytes) -> None:
    assert read_both(body)[0] is None


def test_many_brackets_and_commas_in_texts_are_within_the_limits() -> None:
    typed, expected = read_both(body_with(user="[{,"))
    assert typed == expected is not None
    typed, expected = read_both(body_with(user="[" * 50))
    assert typed == expected is not None


def nested(levels: int) -> Any:
    value: Any = {}
    for level in range(levels - 1):
        value = {"a": value} if level % 2 else {"a": [value], "b": 1}
    return value


UNTYPED: dict[str, Callable[[Any], dict[str, Any]]] = {
    "annotations": lambda value: {"messages": [{**MESSAGES[4], "annotations": [value]}]},
    "parameters": lambda value: {"tools": [function_tool(parameters=value)]},
    "format": lambda value: {"tools": [function_tool(format=value)]},
    "custom": lambda value: {"tools": [{**TOOL, "custom": {"name": "g", "format": value}}]},
    "response_format": lambda value: {"response_format": {"type": "text", "a": value}},
    "tool_choice": lambda value: {"tool_choice": {"type": "function", "a": value}},
    "prediction": lambda value: {"prediction": value},
    "prompt_cache_options": lambda value: {"prompt_cache_options": value},
    "web_search_options": lambda value: {"web_search_options": value},
}


def function_tool(**fields: Any) -> dict[str, Any]:
    return {"type": "function", "function": {"name": "f", **fields}}


@pytest.mark.parametrize("name", UNTYPED)
def test_deep_value_of_any_field_is_never_read_beyond_the_limit(name: str) -> None:
    limits = replace(LIMITS, depth=20)
    results = [read_both(body_with(**UNTYPED[name](nested(n))), limits) for n in range(1, 30)]
    assert all(typed in (None, expected) for typed, expected in results)
    assert isinstance(results[-1][1], WireError)
    assert results[0][0] is not None or name == "tool_choice"


def test_each_field_without_a_type_is_tried_with_deep_values() -> None:
    types = msgspec.inspect.type_info(_ChatBody)
    fields = {field.name for field in fields_of_any_depth(types)}
    assert fields == {*UNTYPED, "format"} - {"custom"}


def fields_of_any_depth(type_: Any) -> Iterator[msgspec.inspect.Field]:
    """Yield the fields below a type whose values may hold JSON of any depth."""
    for field in getattr(type_, "fields", ()):
        if any(isinstance(inner, msgspec.inspect.AnyType) for inner in types_in(field.type)):
            yield field
        for inner in types_in(field.type):
            yield from fields_of_any_depth(inner)


def types_in(type_: Any) -> Iterator[Any]:
    """Yield a type and those inside it, without those of the fields of a struct."""
    yield type_
    for name in ("types", "item_type", "value_type"):
        inner = getattr(type_, name, ())
        for inner_type in inner if isinstance(inner, tuple) else (inner,):
            yield from types_in(inner_type)


def test_deployment_stands_for_a_missing_model() -> None:
    body = json.dumps({"messages": list(MESSAGES[:1])}).encode()
    typed, expected = read_both(body, deployment="mine")
    assert typed == expected
    assert typed is not None and typed.model == "mine"


@pytest.mark.parametrize("seed", range(20))
def test_random_bodies_are_read_as_by_nodes_or_left_to_them(seed: int) -> None:
    draw = Random(seed)
    for _ in range(50):
        body: dict[str, Any] = {"messages": draw.choices(MESSAGES, k=draw.randint(1, 9))}
        if draw.random() < 0.1:
            body["messages"].append(draw.choice(UNUSUAL_MESSAGES))
        for key in draw.sample(sorted(FIELDS), draw.randint(1, 8)):
            body[key] = draw.choice(FIELDS[key])
        if draw.random() < 0.1:
            key = draw.choice(sorted(UNUSUAL))
            body[key] = draw.choice(UNUSUAL[key])
        typed, expected = read_both(json.dumps(body).encode())
        assert typed is None or typed == expected


DIALECT_WIRES = {name: wire for name, wire in WIRES_BY_DIALECT.items() if name != "openai"}


@pytest.mark.parametrize("name", DIALECT_WIRES)
@pytest.mark.parametrize("tools", [[], [TOOL]])
def test_dialect_is_read_as_by_nodes(name: str, tools: list[Any]) -> None:
    (endpoint,) = [
        candidate
        for candidate in DIALECT_WIRES[name].endpoints
        if candidate.canonical == PATH and candidate.method == "POST"
    ][:1]
    body = body_with(tools=tools, model="gpt-4o", stream_options={"include_usage": True})
    for request_body in (body, body_with()):
        call = Call("POST", PATH, {}, {}, request_body)
        typed = read_typed_chat(call, endpoint, {}, LIMITS, dialect=DIALECT_WIRES[name].dialect)
        assert typed == endpoint.read(call, endpoint, {}, read_body(request_body, LIMITS))


def test_endpoint_with_another_reader_has_no_typed_one() -> None:
    rows = [find_fast_endpoint(each) for each in (ENDPOINT, replace(ENDPOINT, pattern="/other"))]
    assert all(row is not None and row.read is not None for row in rows)
    assert find_fast_endpoint(replace(ENDPOINT, read=lambda *_: None)) is None
