"""Paths, keys and headers of the Anthropic wire, token counts and models."""

import json

import pytest

from scenarios_app.wire.anthropic.wire import WIRE
from scenarios_app.wire.base import ComputeContext
from scenarios_app.wire.body import Node
from scenarios_app.wire.errors import WireError
from tests.wire.anthropic.anthropic_cases import (
    CONTEXT,
    COUNT_TOKENS,
    HEADERS,
    MINIMAL_BODY,
    MODEL,
    MODELS,
    call,
    parse,
)


@pytest.mark.parametrize(
    "path",
    ["/v1/messages", "/v1/messages/count_tokens", "/v1/messages/batches/b1", "/v1/messages/"],
)
def test_messages_paths_are_claimed_whatever_their_headers(path: str) -> None:
    assert WIRE.claims(call(path, headers={}))


@pytest.mark.parametrize("path", ["/v1/models", "/v1/models/m", "/v1/chat/completions", "/v1/x"])
def test_other_paths_are_claimed_by_the_version_header_alone(path: str) -> None:
    assert WIRE.claims(call(path, headers={"anthropic-version": "2023-06-01"}))
    assert not WIRE.claims(call(path, headers={"x-api-key": "k"}))


def test_path_with_a_longer_first_segment_is_not_claimed() -> None:
    assert not WIRE.claims(call("/v1/messagesque", headers={}))


def test_messages_are_generated_and_the_rest_is_computed() -> None:
    assert [(r.method, r.pattern, r.generates) for r in WIRE.endpoints] == [
        ("POST", "/v1/messages", True),
        ("POST", "/v1/messages/count_tokens", False),
        ("GET", "/v1/messages/batches/{message_batch_id}/results", False),
        ("POST", "/v1/messages/batches/{message_batch_id}/cancel", False),
        ("GET", "/v1/messages/batches/{message_batch_id}", False),
        ("DELETE", "/v1/messages/batches/{message_batch_id}", False),
        ("GET", "/v1/messages/batches", False),
        ("POST", "/v1/messages/batches", False),
        ("GET", "/v1/models", False),
        ("GET", "/v1/models/{model}", False),
    ]


@pytest.mark.parametrize(
    ("headers", "key"),
    [
        ({"x-api-key": "k1"}, "k1"),
        ({"authorization": "Bearer k2"}, "k2"),
        ({"authorization": "bearer  k3 "}, "k3"),
        ({"x-api-key": "k1", "authorization": "Bearer k2"}, "k1"),
        ({"x-api-key": " ", "authorization": "Bearer k2"}, "k2"),
    ],
)
def test_key_is_read_from_either_header(headers: dict[str, str], key: str) -> None:
    assert WIRE.api_key(call(headers=headers)) == key
    WIRE.authorise(call(headers=headers))


@pytest.mark.parametrize(
    "headers",
    [{}, {"x-api-key": ""}, {"authorization": "Bearer "}, {"authorization": "Basic abc"}],
)
def test_no_key_is_401(headers: dict[str, str]) -> None:
    assert WIRE.api_key(call(headers=headers)) is None
    with pytest.raises(WireError) as raised:
        WIRE.authorise(call(headers=headers))
    assert raised.value.answer.status == 401
    assert "x-api-key" in raised.value.answer.message


@pytest.mark.parametrize("version", ["2023-06-01", "2026-10-21", "anything"])
def test_any_version_header_is_accepted(version: str) -> None:
    WIRE.check_headers(call(headers={"anthropic-version": version}))


@pytest.mark.parametrize("headers", [{}, {"anthropic-version": " "}])
def test_no_version_is_400_and_names_the_header(headers: dict[str, str]) -> None:
    with pytest.raises(WireError) as raised:
        WIRE.check_headers(call(headers=headers))
    assert raised.value.answer.status == 400
    assert raised.value.answer.message.startswith("anthropic-version:")


def test_token_count_equals_the_usage_of_a_response() -> None:
    body = {"model": "claude-x", "messages": [{"role": "user", "content": "x" * 9}]}
    request = parse(body, COUNT_TOKENS)
    assert json.loads(COUNT_TOKENS.compute(request, CONTEXT)) == {"input_tokens": 3}


def test_token_count_with_context_management_has_the_original_count() -> None:
    managed = {**MINIMAL_BODY, "context_management": {"edits": []}}
    assert json.loads(COUNT_TOKENS.compute(parse(managed, COUNT_TOKENS), CONTEXT)) == {
        "input_tokens": 2,
        "context_management": {"original_input_tokens": 2},
    }


def test_token_count_includes_system_tools_and_results() -> None:
    long_text = "y" * 400
    bare_count = _count_tokens({"messages": MINIMAL_BODY["messages"]})
    assert (
        _count_tokens({"messages": MINIMAL_BODY["messages"], "system": long_text})
        == bare_count + 100
    )
    tool = {"name": "f", "description": long_text, "input_schema": {"type": "object"}}
    assert _count_tokens({"messages": MINIMAL_BODY["messages"], "tools": [tool]}) > bare_count + 100
    result = {"type": "tool_result", "tool_use_id": "t", "content": long_text}
    assert _count_tokens({"messages": [{"role": "user", "content": [result]}]}) == 100


def test_model_of_any_name_is_returned() -> None:
    request_call = call("/v1/models/claude-z", method="GET")
    request = MODEL.read(request_call, MODEL, {"model": "claude-z"}, Node({}))
    assert request.model == "claude-z"
    assert request.route == "/v1/models/{model}"
    assert request.path == "/v1/models/claude-z"
    answer = json.loads(MODEL.compute(request, CONTEXT))
    assert (answer["id"], answer["type"]) == ("claude-z", "model")


def test_models_list_is_the_requested_page() -> None:
    request_call = call("/v1/models", method="GET", query={"limit": "1", "after_id": "claude-a"})
    request = MODELS.read(request_call, MODELS, {}, Node({}))
    context = ComputeContext({"claude-a": "a", "claude-b": "a", "claude-c": "a"}, 0, "f00d")
    answer = json.loads(MODELS.compute(request, context))
    assert [model["id"] for model in answer["data"]] == ["claude-b"]
    assert answer["has_more"] is True


def test_request_has_the_headers_of_its_call() -> None:
    assert parse(MINIMAL_BODY).headers == HEADERS
    request_call = call("/v1/models", method="GET")
    assert MODELS.read(request_call, MODELS, {}, Node({})).headers == HEADERS


def _count_tokens(body: dict[str, object]) -> int:
    request = parse({"model": "claude-x", **body}, COUNT_TOKENS)
    answer = json.loads(COUNT_TOKENS.compute(request, CONTEXT))
    return int(answer["input_tokens"])
