"""The OpenAI wire against generated input: any JSON, any legal request, any answer."""

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
from tests.support.hypothesis_profiles import often
from tests.wire.drawn_answers import answers_of
from tests.wire.envelopes import refused_rightly
from tests.wire.openai.openai_cases import HELLO, chunks_of, parse, parse_body, render, stream
from tests.wire.typed import JSON, relaxed, values_of

LEGAL = st.one_of(
    values_of(CompletionCreateParamsNonStreaming), values_of(CompletionCreateParamsStreaming)
)

TEXTS = st.text(max_size=20)
PARTS = st.one_of(
    st.builds(TextPart, TEXTS),
    st.builds(ReasoningPart, TEXTS),
    st.builds(RefusalPart, TEXTS),
    st.builds(ToolCallPart, st.text(min_size=1, max_size=9), st.text(min_size=1), TEXTS),
)
ANSWERS = answers_of(
    PARTS,
    id="[0-9a-f]{8}",
    metadata=st.fixed_dictionaries(
        {}, optional={"system_fingerprint": st.text(), "x": JSON, "choices": JSON, "usage": JSON}
    ),
)
OFFERS: st.SearchStrategy[dict[str, Any]] = st.sampled_from(
    [{}, {"functions": [{"name": "f"}]}, {"stream_options": {"include_usage": True}}]
)


@st.composite
def spoiled(draw: st.DrawFn) -> Any:
    """A legal request with one value, at any depth, replaced by any JSON or left out."""
    whole: Any = {"body": draw(LEGAL)}
    place, key = whole, "body"
    while (inner := place[key]) and isinstance(inner, dict | list) and draw(st.integers(0, 3)):
        place, key = inner, draw(st.sampled_from(list(inner) if isinstance(inner, dict) else [0]))
    if place is not whole and draw(st.booleans()):
        del place[key]
    else:
        place[key] = draw(JSON)
    return whole["body"]


def read(body: Any) -> CanonicalRequest | None:
    """The request that a body is, None for one refused as it should be."""
    try:
        request = parse_body(body)
    except WireError as error:
        refused_rightly(WIRE, error, 400)
        return None
    assert isinstance(request, CanonicalRequest)
    return request


@relaxed(max_examples=often(1000))
@given(st.fixed_dictionaries({"role": st.sampled_from(["user", "assistant", "tool"])}), JSON, JSON)
def test_any_message_is_a_request_or_a_400(
    message: dict[str, Any], content: Any, calls: Any
) -> None:
    sent = {**message, "content": content, "tool_calls": calls, "tool_call_id": "c"}
    read({"model": "gpt-4o", "messages": [HELLO, sent]})


@relaxed(max_examples=often(1500))
@given(spoiled())
def test_a_spoiled_request_is_a_request_or_a_400(body: Any) -> None:
    read(body)


@relaxed(max_examples=often(500))
@given(
    LEGAL,
    st.none() | st.integers(1, 128),
    st.text(min_size=1, max_size=8),
    st.none() | st.integers(0, 20),
)
def test_every_request_that_the_official_types_allow_is_accepted(
    body: dict[str, Any], n: int | None, model: str, top: int | None
) -> None:
    """Numbers of choices and of likely tokens have bounds that no type tells."""
    likely = {"logprobs": top is not None or body.get("logprobs"), "top_logprobs": top}
    sent = {**body, **likely, "n": n, "model": model, "messages": body["messages"] or [HELLO]}
    request = parse_body(sent)
    assert (request.model, request.n) == (model, n or 1)
    assert len(request.messages) == len(sent["messages"])
    assert request.stream is bool(sent.get("stream"))


@relaxed(max_examples=often(300))
@given(ANSWERS, OFFERS)
def test_every_answer_passes_strict_validation(
    response: CanonicalResponse, offer: dict[str, Any]
) -> None:
    validate_type(type_=ChatCompletion, value=render(parse(**offer), response))
    for chunk in chunks_of(stream(parse(**offer), response)):
        validate_type(type_=ChatCompletionChunk, value=chunk)


def essence(choice: dict[str, Any]) -> dict[str, Any]:
    """What both forms of an answer say of a choice."""
    message = choice["message"]
    calls = [
        (call["id"], call["type"], call["function"]["name"], call["function"]["arguments"])
        for call in message.get("tool_calls") or []
    ]
    named = ("role", "content", "refusal", "reasoning", "reasoning_content")
    return {
        **{name: message.get(name) for name in named},
        "index": choice["index"],
        "finish_reason": choice["finish_reason"],
        "function_call": message.get("function_call"),
        "tool_calls": calls,
    }


@relaxed(max_examples=often(500))
@given(ANSWERS, OFFERS, st.lists(st.integers(1, 9), min_size=1, max_size=4))
def test_a_stream_adds_up_to_the_whole_answer(
    response: CanonicalResponse, offer: dict[str, Any], sizes: list[int]
) -> None:
    state: ChatCompletionStreamState[None] = ChatCompletionStreamState()
    for chunk in chunks_of(stream(parse(**offer), response, sizes)):
        state.handle_chunk(ChatCompletionChunk.model_validate(chunk))
    streamed = state.current_completion_snapshot.model_dump()
    whole = render(parse(**offer), response)
    assert [essence(c) for c in streamed["choices"]] == [essence(c) for c in whole["choices"]]
    for name in ("id", "created", "model", "system_fingerprint"):
        assert streamed[name] == whole[name]
    expected = whole["usage"] if "stream_options" in offer else None
    assert (streamed["usage"] and _without_nulls(streamed["usage"])) == expected


def _without_nulls(value: Any) -> Any:
    if not isinstance(value, dict):
        return value
    return {k: _without_nulls(v) for k, v in value.items() if v is not None}
