"""Property tests of the OpenAI wire: any JSON, any valid request, any response."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from openai._models import validate_type
from openai.lib.streaming.chat import ChatCompletionStreamState
from openai.types.chat import ChatCompletion, ChatCompletionChunk
from openai.types.chat.completion_create_params import (
    CompletionCreateParamsNonStreaming,
    CompletionCreateParamsStreaming,
)

from scenarios_app.engine.canonical import CanonicalRequest, CanonicalResponse
from scenarios_app.engine.parts import ReasoningPart, RefusalPart, TextPart, ToolCallPart
from scenarios_app.wire.errors import WireError
from scenarios_app.wire.openai.wire import WIRE
from tests.support.hypothesis_profiles import example_count
from tests.wire.envelopes import assert_error_envelope
from tests.wire.json_strategies import JSON, relaxed, values_of
from tests.wire.openai.openai_cases import HELLO, parse, parse_body, parse_chunks, render, stream
from tests.wire.response_strategies import response_strategy

VALID_BODIES = st.one_of(
    values_of(CompletionCreateParamsNonStreaming), values_of(CompletionCreateParamsStreaming)
)

TEXTS = st.text(max_size=20)
PARTS = st.one_of(
    st.builds(TextPart, TEXTS),
    st.builds(ReasoningPart, TEXTS),
    st.builds(RefusalPart, TEXTS),
    st.builds(ToolCallPart, st.text(min_size=1, max_size=9), st.text(min_size=1), TEXTS),
)
RESPONSES = response_strategy(
    PARTS,
    id="[0-9a-f]{8}",
    metadata=st.fixed_dictionaries(
        {}, optional={"system_fingerprint": st.text(), "x": JSON, "choices": JSON, "usage": JSON}
    ),
)
REQUEST_FIELDS: st.SearchStrategy[dict[str, Any]] = st.sampled_from(
    [{}, {"functions": [{"name": "f"}]}, {"stream_options": {"include_usage": True}}]
)


@st.composite
def corrupted_bodies(draw: st.DrawFn) -> Any:
    """Draw a valid body with one value, at any depth, replaced by any JSON or removed."""
    holder: Any = {"body": draw(VALID_BODIES)}
    container, key = holder, "body"
    while (inner := container[key]) and isinstance(inner, dict | list) and draw(st.integers(0, 3)):
        container, key = (
            inner,
            draw(st.sampled_from(list(inner) if isinstance(inner, dict) else [0])),
        )
    if container is not holder and draw(st.booleans()):
        del container[key]
    else:
        container[key] = draw(JSON)
    return holder["body"]


def read_or_reject(body: Any) -> CanonicalRequest | None:
    """Parse a body; return None if it is rejected with a valid error."""
    try:
        request = parse_body(body)
    except WireError as error:
        assert_error_envelope(WIRE, error, 400)
        return None
    assert isinstance(request, CanonicalRequest)
    return request


@relaxed(max_examples=example_count(1000))
@given(st.fixed_dictionaries({"role": st.sampled_from(["user", "assistant", "tool"])}), JSON, JSON)
def test_any_message_is_a_request_or_a_400(
    message: dict[str, Any], content: Any, calls: Any
) -> None:
    full_message = {**message, "content": content, "tool_calls": calls, "tool_call_id": "c"}
    read_or_reject({"model": "gpt-4o", "messages": [HELLO, full_message]})


@relaxed(max_examples=example_count(1500))
@given(corrupted_bodies())
def test_corrupted_body_is_a_request_or_a_400(body: Any) -> None:
    read_or_reject(body)


@relaxed(max_examples=example_count(500))
@given(
    VALID_BODIES,
    st.none() | st.integers(1, 128),
    st.text(min_size=1, max_size=8),
    st.none() | st.integers(0, 20),
)
def test_every_request_that_the_official_types_allow_is_accepted(
    body: dict[str, Any], n: int | None, model: str, top_logprobs: int | None
) -> None:
    # The types do not limit `n` and `top_logprobs`, so these are drawn separately.
    logprob_fields = {
        "logprobs": top_logprobs is not None or body.get("logprobs"),
        "top_logprobs": top_logprobs,
    }
    full_body = {
        **body,
        **logprob_fields,
        "n": n,
        "model": model,
        "messages": body["messages"] or [HELLO],
    }
    request = parse_body(full_body)
    assert (request.model, request.n) == (model, n or 1)
    assert len(request.messages) == len(full_body["messages"])
    assert request.stream is bool(full_body.get("stream"))


@relaxed(max_examples=example_count(300))
@given(RESPONSES, REQUEST_FIELDS)
def test_every_answer_passes_strict_validation(
    response: CanonicalResponse, fields: dict[str, Any]
) -> None:
    validate_type(type_=ChatCompletion, value=render(parse(**fields), response))
    for chunk in parse_chunks(stream(parse(**fields), response)):
        validate_type(type_=ChatCompletionChunk, value=chunk)


def comparable_choice(choice: dict[str, Any]) -> dict[str, Any]:
    """Return the fields of a choice that a stream and a body must share."""
    message = choice["message"]
    calls = [
        (call["id"], call["type"], call["function"]["name"], call["function"]["arguments"])
        for call in message.get("tool_calls") or []
    ]
    message_fields = ("role", "content", "refusal", "reasoning", "reasoning_content")
    return {
        **{name: message.get(name) for name in message_fields},
        "index": choice["index"],
        "finish_reason": choice["finish_reason"],
        "function_call": message.get("function_call"),
        "tool_calls": calls,
    }


@relaxed(max_examples=example_count(500))
@given(RESPONSES, REQUEST_FIELDS, st.lists(st.integers(1, 9), min_size=1, max_size=4))
def test_stream_adds_up_to_the_body(
    response: CanonicalResponse, fields: dict[str, Any], sizes: list[int]
) -> None:
    state: ChatCompletionStreamState[None] = ChatCompletionStreamState()
    for chunk in parse_chunks(stream(parse(**fields), response, sizes)):
        state.handle_chunk(ChatCompletionChunk.model_validate(chunk))
    streamed = state.current_completion_snapshot.model_dump()
    body = render(parse(**fields), response)
    assert [comparable_choice(c) for c in streamed["choices"]] == [
        comparable_choice(c) for c in body["choices"]
    ]
    for name in ("id", "created", "model", "system_fingerprint"):
        assert streamed[name] == body[name]
    expected = body["usage"] if "stream_options" in fields else None
    assert (streamed["usage"] and _without_nulls(streamed["usage"])) == expected


def _without_nulls(value: Any) -> Any:
    if not isinstance(value, dict):
        return value
    return {k: _without_nulls(v) for k, v in value.items() if v is not None}
