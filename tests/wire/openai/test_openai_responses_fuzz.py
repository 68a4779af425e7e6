"""OpenAI's Responses against generated input: any JSON, any legal request, any answer."""

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
from tests.support.hypothesis_profiles import often
from tests.wire.drawn_answers import answers_of
from tests.wire.envelopes import refused_rightly
from tests.wire.openai.responses_cases import CREATE, Session, events_in, parse, render, stream
from tests.wire.typed import JSON, relaxed, values_of

LEGAL = st.one_of(
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
ANSWERS = answers_of(
    PARTS,
    id="[0-9a-f]{32}",
    metadata=st.fixed_dictionaries({}, optional={"x": JSON, "output": JSON, "usage": JSON}),
)
OFFERS: st.SearchStrategy[dict[str, Any]] = st.sampled_from(
    [{}, {"tools": [{"type": "custom", "name": "c"}]}, {"instructions": "x", "store": False}]
)


def read(body: Any) -> CanonicalRequest | None:
    """The request that a body is, None for one refused as it should be."""
    try:
        request = Session().read(body)
    except WireError as error:
        refused_rightly(WIRE, error, 400, 404)
        return None
    assert isinstance(request, CanonicalRequest)
    return request


KINDS = ["message", "reasoning", "function_call", "item_reference", "compaction", "x_output", "x"]


@relaxed(max_examples=often(300))
@given(
    st.lists(
        st.fixed_dictionaries(
            {},
            optional={
                "type": st.sampled_from(KINDS) | JSON,
                **dict.fromkeys(["role", "content", "id", "output", "summary", "call_id"], JSON),
            },
        ),
        max_size=3,
    )
)
def test_any_items_are_a_request_or_refused(items: list[Any]) -> None:
    read({"input": items})


@relaxed(max_examples=often(300))
@given(LEGAL, st.none() | st.integers(0, 20))
def test_every_request_that_the_official_types_allow_is_accepted(
    body: dict[str, Any], top: int | None
) -> None:
    session = Session()
    body["top_logprobs"] = top
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


@relaxed(max_examples=often(300))
@given(ANSWERS, OFFERS)
def test_every_answer_passes_strict_validation(
    response: CanonicalResponse, offer: dict[str, Any]
) -> None:
    validate_type(type_=Response, value=render(parse(**offer), response))
    for event in events_in(stream(parse(**offer), response)):
        validate_type(type_=ResponseStreamEvent, value=event)  # type: ignore[arg-type]


@relaxed(max_examples=often(250))
@given(ANSWERS, OFFERS, st.lists(st.integers(1, 9), min_size=1, max_size=4))
def test_a_stream_adds_up_to_the_whole_answer(
    response: CanonicalResponse, offer: dict[str, Any], sizes: list[int]
) -> None:
    request = parse(**offer)
    state: ResponseStreamState[None] = ResponseStreamState(input_tools=omit, text_format=omit)
    deltas: dict[str, str] = {}
    last: dict[str, Any] = {}
    for last in events_in(stream(request, response, sizes)):
        state.handle_event(validate_type(type_=ResponseStreamEvent, value=last))  # type: ignore[arg-type]
        if last["type"].endswith(".delta"):
            deltas[last["item_id"]] = deltas.get(last["item_id"], "") + last["delta"]
    whole = render(request, response)
    whole.pop("billing", None)
    assert last["response"] == whole
    assert last["type"] == f"response.{whole['status']}"
    assert deltas == {item["id"]: text for item in whole["output"] if (text := told(item))}


def told(item: dict[str, Any]) -> str:
    """What the deltas of an item say."""
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
