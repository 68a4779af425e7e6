"""Gemini streams: exact chunks, and the same content as the unstreamed body."""

from collections.abc import Iterator
from typing import Any

import httpx2
import pytest
from google import genai
from google.genai import types
from hypothesis import given, settings
from hypothesis import strategies as st

from scenarios_app.engine.canonical import CanonicalResponse, Choice, Usage
from scenarios_app.engine.parts import (
    AnswerPart,
    Citation,
    FinishReason,
    PartDelta,
    PartEnd,
    PartStart,
    ReasoningPart,
    RefusalPart,
    ServerToolResultPart,
    ServerToolUsePart,
    TextPart,
    ToolCallPart,
)
from tests.support.hypothesis_profiles import example_count
from tests.wire.gemini.gemini_cases import (
    ARRAY,
    EVENTS,
    FORMS,
    MINIMAL_BODY,
    Form,
    parse,
    read_stream,
    render,
    response,
    response_of_choices,
    stream,
    stream_chunks,
    transport,
)
from tests.wire.response_strategies import ARGUMENTS, REASONS, TEXTS, choice_strategy

citations = st.lists(st.builds(Citation, TEXTS, st.none() | TEXTS, TEXTS), max_size=2).map(tuple)
parts = st.one_of(
    st.builds(TextPart, TEXTS, citations),
    st.builds(RefusalPart, TEXTS),
    st.builds(ReasoningPart, TEXTS, signature=st.none() | TEXTS),
    st.builds(ReasoningPart, st.just(""), redacted=TEXTS),
    st.builds(ToolCallPart, TEXTS, TEXTS, ARGUMENTS | st.just("")),
    st.just(ServerToolUsePart("s-1", "web_search", "{}")),
    st.just(ServerToolResultPart("s-1", "unknown_tool", "{}")),
)
choices = choice_strategy(parts)
usages = st.builds(Usage, *(st.integers(0, 999),) * 4)
answers = st.builds(
    lambda drawn_choices, usage, consecutive: response_of_choices(
        *drawn_choices, usage=usage, consecutive=consecutive
    ),
    st.lists(choices, min_size=1, max_size=3),
    usages,
    st.booleans(),
)

TAIL = (
    '"promptTokensDetails":[{"modality":"TEXT","tokenCount":9}],"serviceTier":"standard"},'
    '"modelVersion":"gemini-x","responseId":"ab12"'
)
FIRST = (
    '{"candidates":[{"content":{"parts":[{"text":"Hi a"}],"role":"model"},"index":0}],'
    '"usageMetadata":{"promptTokenCount":9,"candidatesTokenCount":1,"totalTokenCount":10,'
)
SECOND = (
    '{"candidates":[{"content":{"parts":[{"text":"ll"}],"role":"model"},"index":0}],'
    '"usageMetadata":{"promptTokenCount":9,"candidatesTokenCount":2,"totalTokenCount":11,'
)
LAST = (
    '{"candidates":[{"content":{"parts":[{"text":""}],"role":"model"},"finishReason":"STOP",'
    '"index":0}],"usageMetadata":{"promptTokenCount":9,"candidatesTokenCount":2,'
    '"totalTokenCount":11,'
)


def test_a_text_stream_is_exactly_the_providers() -> None:
    assert stream(response(TextPart("Hi all"))).decode() == "".join(
        f"data: {chunk}{TAIL}}}\r\n\r\n" for chunk in (FIRST, SECOND, LAST)
    )


def test_an_array_holds_the_same_chunks() -> None:
    stream_text = stream(response(TextPart("Hi all")), "array").decode()
    assert stream_text == "[" + ",".join(f"{c}{TAIL}}}\n\n" for c in (FIRST, SECOND, LAST)) + "]"


def test_each_framing_has_its_content_type() -> None:
    assert EVENTS.stream_type == "text/event-stream"
    assert ARRAY.stream_type == "application/json; charset=UTF-8"


def read_chunk_parts(answer: CanonicalResponse, *, delta_chars: int = 4) -> list[dict[str, Any]]:
    """Return the single part of each chunk."""
    parts_of_chunks = [
        chunk["candidates"][0]["content"]["parts"]
        for chunk in stream_chunks(answer, delta_chars=delta_chars)
    ]
    assert all(len(parts) == 1 for parts in parts_of_chunks)
    return [parts[0] for parts in parts_of_chunks]


def test_thoughts_stream_and_their_signature_ends_them() -> None:
    answer = response(ReasoningPart("I see.", signature="c2ln"), ReasoningPart("So."))
    assert read_chunk_parts(answer) == [
        {"text": "I se", "thought": True},
        {"text": "e.", "thought": True},
        {"text": "", "thought": True, "thoughtSignature": "c2ln"},
        {"text": "So.", "thought": True},
        {"text": ""},
    ]


def test_tool_call_is_one_chunk() -> None:
    call = ToolCallPart("c-1", "f", '{"city": "Paris", "days": [1, 2]}')
    answer = response(ReasoningPart("", signature="c2ln"), call, reason="tool_calls")
    args = {"city": "Paris", "days": [1, 2]}
    assert read_chunk_parts(answer)[1:] == [
        {"functionCall": {"id": "c-1", "name": "f", "args": args}, "thoughtSignature": "c2ln"},
        {"text": ""},
    ]


def test_only_the_last_chunk_finishes() -> None:
    *before, last = stream_chunks(response(TextPart("Hi all"), ToolCallPart("c", "f", "{}")))
    assert last["candidates"][0]["finishReason"] == "STOP"
    for chunk in before:
        assert set(chunk["candidates"][0]) == {"content", "index"}


def test_every_chunk_has_the_usage_so_far() -> None:
    parts = (ReasoningPart("Hm."), TextPart("Hi to all"), ToolCallPart("c", "f", '{"a": 1}'))
    usages = [
        chunk["usageMetadata"] for chunk in stream_chunks(response(*parts, usage=Usage(9, 7, 2)))
    ]
    assert [usage.get("candidatesTokenCount") for usage in usages] == [None, 1, 2, 3, 5, 5]
    assert [usage["totalTokenCount"] for usage in usages] == [11, 12, 13, 14, 16, 16]
    assert {usage["thoughtsTokenCount"] for usage in usages} == {2}


def test_every_chunk_has_model_id_and_scripted_fields() -> None:
    metadata = {"modelStatus": {"x": "é\u2028"}, "finishMessage": "so"}
    chunks = stream_chunks(response(TextPart("Hi all"), metadata=metadata))
    assert {(c["modelVersion"], c["responseId"]) for c in chunks} == {("gemini-x", "ab12")}
    assert all(c["modelStatus"] == {"x": "é\u2028"} for c in chunks)
    assert [c["candidates"][0].get("finishMessage") for c in chunks] == [None, None, "so"]


def test_candidates_are_sent_in_order_each_with_its_finish_reason() -> None:
    first, second = Choice((TextPart("a"),), "stop"), Choice((TextPart("b"),), "length")
    candidates = [
        chunk["candidates"][0] for chunk in stream_chunks(response_of_choices(first, second))
    ]
    assert [(c["index"], c.get("finishReason")) for c in candidates] == [
        (0, None),
        (0, "STOP"),
        (1, None),
        (1, "MAX_TOKENS"),
    ]
    usages = [chunk["usageMetadata"] for chunk in stream_chunks(response_of_choices(first, second))]
    assert [usage["candidatesTokenCount"] for usage in usages] == [1, 1, 1, 2]


def test_consecutive_choices_are_one_candidate_with_one_finish_reason() -> None:
    first, second = Choice((TextPart("a"),), "tool_calls"), Choice((TextPart("b"),), "length")
    candidates = [
        c["candidates"][0]
        for c in stream_chunks(response_of_choices(first, second, consecutive=True))
    ]
    assert [(c["index"], c.get("finishReason")) for c in candidates] == [
        (0, None),
        (0, None),
        (0, "MAX_TOKENS"),
    ]


@pytest.mark.parametrize("form", FORMS)
def test_a_blocked_prompt_is_one_chunk(form: Form) -> None:
    metadata = {"promptFeedback": {"blockReason": "OTHER"}}
    answer = response(TextPart("never said"), metadata=metadata)
    assert read_stream(stream(answer, form), form) == [render(answer)]


def test_citations_follow_their_text() -> None:
    cited = TextPart("It is so.", (Citation("https://a.example", "A", "so"),))
    candidates = [
        chunk["candidates"][0]
        for chunk in stream_chunks(response(TextPart("Ü. "), cited), delta_chars=99)
    ]
    assert [c.get("citationMetadata") for c in candidates] == [
        None,
        None,
        {
            "citationSources": [
                {"startIndex": 10, "endIndex": 12, "uri": "https://a.example", "title": "A"}
            ]
        },
        None,
    ]
    assert [c["content"]["parts"] for c in candidates][2:] == [[{"text": ""}]] * 2


def test_empty_part_and_unknown_tool_send_nothing() -> None:
    for part in (TextPart(""), ServerToolUsePart("s-1", "unknown_tool", "{}")):
        encoder = EVENTS.endpoints[0].encode(parse(MINIMAL_BODY), response(part))
        events = (PartStart(0, 0, part), PartDelta(0, 0, part, "{}"), PartEnd(0, 0, part))
        outputs = [encoder.event(event) for event in (events[0], events[2])]
        assert outputs == [b"", b""]
    assert encoder.event(events[1]) == b""


def test_a_line_separator_in_a_text_is_escaped() -> None:
    stream_bytes = stream(response(TextPart("a\u2028b")))
    assert len(stream_bytes.decode().splitlines()) == stream_bytes.count(b"\r\n")
    assert (
        "".join(part["text"] for part in read_chunk_parts(response(TextPart("a\u2028b"))))
        == "a\u2028b"
    )


@pytest.mark.parametrize("form", FORMS)
@settings(max_examples=example_count(200), deadline=None)
@given(answers, st.integers(1, 9))
def test_stream_adds_up_to_the_body(
    form: Form, answer: CanonicalResponse, delta_chars: int
) -> None:
    stream_bytes = stream(answer, form, delta_chars=delta_chars)
    # The server counts sent events by blank lines.
    chunks = read_stream(stream_bytes, form)
    assert stream_bytes.count(b"\n\n") == (len(chunks) if form == "array" else 0)
    assert join_chunks(chunks) == join_chunks([render(answer)])


@settings(max_examples=example_count(100), deadline=None)
@given(answers)
def test_sdk_types_accept_every_key(answer: CanonicalResponse) -> None:
    # The types reject unknown keys; the client would drop them.
    for body in (render(answer), *stream_chunks(answer)):
        for candidate in body.get("candidates", ()):
            # The client renames this key and drops `serviceTier`.
            if cited := candidate.get("citationMetadata"):
                candidate["citationMetadata"] = {"citations": cited["citationSources"]}
        assert body["usageMetadata"].pop("serviceTier") == "standard"
        parsed_response = types.GenerateContentResponse.model_validate(body)
        assert parsed_response.response_id == "ab12"
        assert len(parsed_response.candidates or ()) == len(body.get("candidates", ()))


@pytest.fixture(scope="module")
def client() -> Iterator[Any]:
    """Yield the official client and the list whose first response it receives."""
    answers: list[CanonicalResponse] = []
    with httpx2.Client(transport=transport(answers)) as http:
        options = types.HttpOptions(
            base_url="http://test", httpx_client=http, httpx_async_client=httpx2.AsyncClient()
        )
        yield answers, genai.Client(api_key="k", http_options=options)


@settings(max_examples=example_count(60), deadline=None)
@given(drawn_parts=st.lists(parts, max_size=5).map(tuple), reason=st.sampled_from(REASONS))
def test_sdk_reads_the_same_from_a_stream_and_a_body(
    client: Any, drawn_parts: tuple[AnswerPart, ...], reason: FinishReason
) -> None:
    answers, genai_client = client
    answers[:] = [response(*drawn_parts, reason=reason)]
    arguments: dict[str, Any] = {"model": "gemini-x", "contents": "Hello"}
    unstreamed = genai_client.models.generate_content(**arguments)
    streamed = list(genai_client.models.generate_content_stream(**arguments))
    assert join_chunks([_without_added_fields(chunk) for chunk in streamed]) == join_chunks(
        [_without_added_fields(unstreamed)]
    )


def _without_added_fields(answer: types.GenerateContentResponse) -> dict[str, Any]:
    """Return a response's fields without those that the client adds."""
    added_fields = {"sdk_http_response", "automatic_function_calling_history"}
    return answer.model_dump(mode="json", by_alias=True, exclude_none=True, exclude=added_fields)


def join_chunks(chunks: list[dict[str, Any]]) -> dict[str, Any]:
    """Join chunks to one response: texts and thoughts are joined, empty ones left out."""
    candidates: dict[int, dict[str, Any]] = {}
    other_fields: dict[str, Any] = {}
    for chunk in chunks:
        for piece in chunk.pop("candidates", ()):
            candidate = candidates.setdefault(piece["index"], {"parts": [], "sources": []})
            for part in piece.pop("content")["parts"]:
                _add_part(candidate["parts"], part)
            cited = piece.pop("citationMetadata", {})
            candidate["sources"] += [s for sources in cited.values() for s in sources]
            candidate.update(piece)
        other_fields.update(chunk)
    return {"candidates": candidates, **other_fields}


def _add_part(parts: list[dict[str, Any]], part: dict[str, Any]) -> None:
    kind = [part.get("thought")] if "text" in part else None
    if kind is None:
        parts.append(part)
    elif parts and "text" in parts[-1] and [parts[-1].get("thought")] == kind:
        # The boundary between a signed thought and the next one is not visible in the texts.
        signatures = [p.pop("thoughtSignature", "") for p in (parts[-1], part)]
        parts[-1]["text"] += part["text"]
        parts[-1]["thoughtSignature"] = "".join(signatures)
    elif part["text"] or part.get("thoughtSignature"):
        parts.append({"thoughtSignature": "", **part})
