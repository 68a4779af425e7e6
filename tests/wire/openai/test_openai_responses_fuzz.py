"""Property tests of the Responses API: any JSON, any valid request, any response."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from openai import omit
from openai._models import validate_type
from openai.lib.streaming.responses._responses import ResponseStreamState
from openai.types.responses import Response, ResponseStreamEvent
from openai.types.responses.response_create_params import (
    ResponseCreateParamsNonStreaming,
    ResponseCreateParamsStreaming,
)

from scenarios_app.engine.canonical import CanonicalRequest, CanonicalResponse, Choice, Usage
from scenarios_app.engine.parts import (
    Citation,
    ReasoningPart,
    RefusalPart,
    ServerToolResultPart,
    ServerToolUsePart,
    TextPart,
    ToolCallPart,
)
from scenarios_app.wire.body import Node
from scenarios_app.wire.errors import WireError
from scenarios_app.wire.openai.responses.items import REFERENCE, kind_of
from scenarios_app.wire.openai.responses.wire import WIRE
from tests.support.hypothesis_profiles import example_count
from tests.wire.envelopes import assert_error_envelope
from tests.wire.json_strategies import JSON, relaxed, values_of
from tests.wire.openai.responses_cases import CREATE, Session, parse, parse_events, render, stream
from tests.wire.response_strategies import response_strategy

VALID_BODIES = st.one_of(
    values_of(ResponseCreateParamsNonStreaming), values_of(ResponseCreateParamsStreaming)
)
TEXTS = st.text(max_size=20)
CITATIONS = st.lists(st.builds(Citation, TEXTS, TEXTS, TEXTS), max_size=2).map(tuple)
PARTS = st.one_of(
    st.builds(TextPart, TEXTS, CITATIONS),
    st.builds(ReasoningPart, TEXTS, st.none() | TEXTS),
    st.builds(RefusalPart, TEXTS),
    st.builds(ToolCallPart, st.text(min_size=1, max_size=9), st.sampled_from("fgc"), TEXTS),
    st.builds(ServerToolUsePart, TEXTS, st.sampled_from(["web_search", "x"]), st.just("{}")),
    st.builds(ServerToolResultPart, TEXTS, TEXTS, st.just("null")),
)
RESPONSES = response_strategy(
    PARTS,
    id="[0-9a-f]{32}",
    metadata=st.fixed_dictionaries({}, optional={"x": JSON, "output": JSON, "usage": JSON}),
)
REQUEST_FIELDS: st.SearchStrategy[dict[str, Any]] = st.sampled_from(
    [{}, {"tools": [{"type": "custom", "name": "c"}]}, {"instructions": "x", "store": False}]
)


def read_or_reject(body: Any) -> CanonicalRequest | None:
    """Parse a body; return None if it is rejected with a valid error."""
    try:
        request = Session().read(body)
    except WireError as error:
        assert_error_envelope(WIRE, error, 400, 404)
        return None
    assert isinstance(request, CanonicalRequest)
    return request


ITEM_TYPES = [
    "message",
    "reasoning",
    "function_call",
    "item_reference",
    "compaction",
    "x_output",
    "x",
]


@relaxed(max_examples=example_count(300))
@given(
    st.lists(
        st.fixed_dictionaries(
            {},
            optional={
                "type": st.sampled_from(ITEM_TYPES) | JSON,
                **dict.fromkeys(["role", "content", "id", "output", "summary", "call_id"], JSON),
            },
        ),
        max_size=3,
    )
)
def test_any_items_are_a_request_or_rejected(items: list[Any]) -> None:
    read_or_reject({"input": items})


@relaxed(max_examples=example_count(300))
@given(VALID_BODIES, st.none() | st.integers(0, 20))
def test_every_request_that_the_official_types_allow_is_accepted(
    body: dict[str, Any], top_logprobs: int | None
) -> None:
    session = Session()
    body["top_logprobs"] = top_logprobs
    body.pop("previous_response_id", None)
    if isinstance(body.get("input"), list):
        body["input"] = [item for item in body["input"] if kind_of(Node(item)) != REFERENCE]
    request = session.read(body)
    assert request.stream is bool(body.get("stream"))
    response = CanonicalResponse(
        "0" * 32, 1, request.model, (Choice((TextPart("Hi"),), "stop"),), Usage(1, 1)
    )
    validate_type(type_=Response, value=render(request, response))
    CREATE.archival.record(request, response, b"")


@relaxed(max_examples=example_count(300))
@given(RESPONSES, REQUEST_FIELDS)
def test_every_answer_passes_strict_validation(
    response: CanonicalResponse, fields: dict[str, Any]
) -> None:
    validate_type(type_=Response, value=render(parse(**fields), response))
    for event in parse_events(stream(parse(**fields), response)):
        validate_type(type_=ResponseStreamEvent, value=event)


@relaxed(max_examples=example_count(250))
@given(RESPONSES, REQUEST_FIELDS, st.lists(st.integers(1, 9), min_size=1, max_size=4))
def test_stream_adds_up_to_the_body(
    response: CanonicalResponse, fields: dict[str, Any], sizes: list[int]
) -> None:
    request = parse(**fields)
    state: ResponseStreamState[None] = ResponseStreamState(input_tools=omit, text_format=omit)
    deltas: dict[str, str] = {}
    last: dict[str, Any] = {}
    for last in parse_events(stream(request, response, sizes)):
        state.handle_event(validate_type(type_=ResponseStreamEvent, value=last))
        if last["type"].endswith(".delta"):
            deltas[last["item_id"]] = deltas.get(last["item_id"], "") + last["delta"]
    body = render(request, response)
    body.pop("billing", None)
    assert last["response"] == body
    assert last["type"] == f"response.{body['status']}"
    assert deltas == {item["id"]: text for item in body["output"] if (text := streamed_text(item))}


def streamed_text(item: dict[str, Any]) -> str:
    """Return the text that an item's deltas must add up to."""
    match item:
        case {"type": "message", "content": [{"type": "output_text", "text": str(text)}]}:
            return text
        case {"type": "message", "content": [{"refusal": str(text)}]}:
            return text
        case {"type": "reasoning", "summary": [{"text": str(text)}]}:
            return text
        case {"arguments": str(text)} | {"input": str(text)}:
            return text
        case _:
            return ""
