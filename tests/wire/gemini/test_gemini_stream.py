"""Gemini streams: every chunk exactly, and always the same answer as the whole body."""

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
from tests.support.hypothesis_profiles import often
from tests.wire.drawn_answers import ARGUMENTS, REASONS, TEXTS, choices_of
from tests.wire.gemini.gemini_cases import (
    ARRAY,
    EVENTS,
    FORMS,
    LEAST,
    Form,
    chunks,
    of_choices,
    parse,
    read_stream,
    render,
    response,
    stream,
    transport,
)

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
choices = choices_of(parts)
usages = st.builds(Usage, *(st.integers(0, 999),) * 4)
answers = st.builds(
    lambda said, usage, consecutive: of_choices(*said, usage=usage, consecutive=consecutive),
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
    sent = stream(response(TextPart("Hi all")), "array").decode()
    assert sent == "[" + ",".join(f"{c}{TAIL}}}\n\n" for c in (FIRST, SECOND, LAST)) + "]"


def test_the_two_framings_say_what_they_are() -> None:
    assert EVENTS.stream_type == "text/event-stream"
    assert ARRAY.stream_type == "application/json; charset=UTF-8"


def said(answer: CanonicalResponse, *, cut: int = 4) -> list[dict[str, Any]]:
    """The one part of each chunk."""
    found = [chunk["candidates"][0]["content"]["parts"] for chunk in chunks(answer, cut=cut)]
    assert all(len(parts) == 1 for parts in found)
    return [parts[0] for parts in found]


def test_thoughts_stream_and_their_signature_ends_them() -> None:
    answer = response(ReasoningPart("I see.", signature="c2ln"), ReasoningPart("So."))
    assert said(answer) == [
        {"text": "I se", "thought": True},
        {"text": "e.", "thought": True},
        {"text": "", "thought": True, "thoughtSignature": "c2ln"},
        {"text": "So.", "thought": True},
        {"text": ""},
    ]


def test_a_call_comes_whole_in_one_chunk() -> None:
    call = ToolCallPart("c-1", "f", '{"city": "Paris", "days": [1, 2]}')
    answer = response(ReasoningPart("", signature="c2ln"), call, reason="tool_calls")
    args = {"city": "Paris", "days": [1, 2]}
    assert said(answer)[1:] == [
        {"functionCall": {"id": "c-1", "name": "f", "args": args}, "thoughtSignature": "c2ln"},
        {"text": ""},
    ]


def test_only_the_last_chunk_finishes() -> None:
    *before, last = chunks(response(TextPart("Hi all"), ToolCallPart("c", "f", "{}")))
    assert last["candidates"][0]["finishReason"] == "STOP"
    for chunk in before:
        assert set(chunk["candidates"][0]) == {"content", "index"}


def test_every_chunk_counts_what_is_said_so_far() -> None:
    parts = (ReasoningPart("Hm."), TextPart("Hi to all"), ToolCallPart("c", "f", '{"a": 1}'))
    counted = [chunk["usageMetadata"] for chunk in chunks(response(*parts, usage=Usage(9, 7, 2)))]
    assert [usage.get("candidatesTokenCount") for usage in counted] == [None, 1, 2, 3, 5, 5]
    assert [usage["totalTokenCount"] for usage in counted] == [11, 12, 13, 14, 16, 16]
    assert {usage["thoughtsTokenCount"] for usage in counted} == {2}


def test_every_chunk_names_the_answer_and_has_the_scripted_fields() -> None:
    metadata = {"modelStatus": {"x": "é\u2028"}, "finishMessage": "so"}
    found = chunks(response(TextPart("Hi all"), metadata=metadata))
    assert {(c["modelVersion"], c["responseId"]) for c in found} == {("gemini-x", "ab12")}
    assert all(c["modelStatus"] == {"x": "é\u2028"} for c in found)
    assert [c["candidates"][0].get("finishMessage") for c in found] == [None, None, "so"]


def test_candidates_come_one_after_another_each_with_its_end() -> None:
    one, two = Choice((TextPart("a"),), "stop"), Choice((TextPart("b"),), "length")
    found = [chunk["candidates"][0] for chunk in chunks(of_choices(one, two))]
    assert [(c["index"], c.get("finishReason")) for c in found] == [
        (0, None),
        (0, "STOP"),
        (1, None),
        (1, "MAX_TOKENS"),
    ]
    usage = [chunk["usageMetadata"] for chunk in chunks(of_choices(one, two))]
    assert [counted["candidatesTokenCount"] for counted in usage] == [1, 1, 1, 2]


def test_consecutive_choices_are_one_candidate_that_ends_once() -> None:
    one, two = Choice((TextPart("a"),), "tool_calls"), Choice((TextPart("b"),), "length")
    found = [c["candidates"][0] for c in chunks(of_choices(one, two, consecutive=True))]
    assert [(c["index"], c.get("finishReason")) for c in found] == [
        (0, None),
        (0, None),
        (0, "MAX_TOKENS"),
    ]


@pytest.mark.parametrize("form", FORMS)
def test_a_blocked_prompt_is_one_chunk(form: Form) -> None:
    metadata = {"promptFeedback": {"blockReason": "OTHER"}}
    answer = response(TextPart("never said"), metadata=metadata)
    assert read_stream(stream(answer, form), form) == [render(answer)]


def test_sources_come_after_their_text() -> None:
    cited = TextPart("It is so.", (Citation("https://a.example", "A", "so"),))
    found = [chunk["candidates"][0] for chunk in chunks(response(TextPart("Ü. "), cited), cut=99)]
    assert [c.get("citationMetadata") for c in found] == [
        None,
        None,
        {
            "citationSources": [
                {"startIndex": 10, "endIndex": 12, "uri": "https://a.example", "title": "A"}
            ]
        },
        None,
    ]
    assert [c["content"]["parts"] for c in found][2:] == [[{"text": ""}]] * 2


def test_an_empty_part_and_a_tool_that_google_lacks_leave_no_trace() -> None:
    for part in (TextPart(""), ServerToolUsePart("s-1", "unknown_tool", "{}")):
        encoder = EVENTS.endpoints[0].encode(parse(LEAST), response(part))
        events = (PartStart(0, 0, part), PartDelta(0, 0, part, "{}"), PartEnd(0, 0, part))
        sent = [encoder.event(event) for event in (events[0], events[2])]
        assert sent == [b"", b""]
    assert encoder.event(events[1]) == b""


def test_a_line_separator_in_a_text_is_escaped() -> None:
    sent = stream(response(TextPart("a\u2028b")))
    assert len(sent.decode().splitlines()) == sent.count(b"\r\n")
    assert "".join(part["text"] for part in said(response(TextPart("a\u2028b")))) == "a\u2028b"


@pytest.mark.parametrize("form", FORMS)
@settings(max_examples=often(200), deadline=None)
@given(answers, st.integers(1, 9))
def test_a_stream_adds_up_to_the_whole_answer(
    form: Form, answer: CanonicalResponse, cut: int
) -> None:
    sent = stream(answer, form, cut=cut)
    # The server counts sent events by blank lines.
    found = read_stream(sent, form)
    assert sent.count(b"\n\n") == (len(found) if form == "array" else 0)
    assert joined(found) == joined([render(answer)])


@settings(max_examples=often(100), deadline=None)
@given(answers)
def test_the_sdks_types_know_every_key(answer: CanonicalResponse) -> None:
    """They refuse any other, where the client itself would drop it."""
    for body in (render(answer), *chunks(answer)):
        for candidate in body.get("candidates", ()):
            # The client renames this one, and drops the other.
            if cited := candidate.get("citationMetadata"):
                candidate["citationMetadata"] = {"citations": cited["citationSources"]}
        assert body["usageMetadata"].pop("serviceTier") == "standard"
        read = types.GenerateContentResponse.model_validate(body)
        assert read.response_id == "ab12"
        assert len(read.candidates or ()) == len(body.get("candidates", ()))


@pytest.fixture(scope="module")
def client() -> Iterator[Any]:
    """The official client, for the answers that it is given."""
    given: list[CanonicalResponse] = []
    with httpx2.Client(transport=transport(given)) as http:
        options = types.HttpOptions(
            base_url="http://test", httpx_client=http, httpx_async_client=httpx2.AsyncClient()
        )
        yield given, genai.Client(api_key="k", http_options=options)


@settings(max_examples=often(60), deadline=None)
@given(said=st.lists(parts, max_size=5).map(tuple), reason=st.sampled_from(REASONS))
def test_the_sdk_reads_the_same_from_both(
    client: Any, said: tuple[AnswerPart, ...], reason: FinishReason
) -> None:
    given, genai_client = client
    given[:] = [response(*said, reason=reason)]
    asked: dict[str, Any] = {"model": "gemini-x", "contents": "Hello"}
    whole = genai_client.models.generate_content(**asked)
    streamed = list(genai_client.models.generate_content_stream(**asked))
    assert joined([_plain(chunk) for chunk in streamed]) == joined([_plain(whole)])


def _plain(answer: types.GenerateContentResponse) -> dict[str, Any]:
    """An answer as it came, without what the client adds."""
    added = {"sdk_http_response", "automatic_function_calling_history"}
    return answer.model_dump(mode="json", by_alias=True, exclude_none=True, exclude=added)


def joined(found: list[dict[str, Any]]) -> dict[str, Any]:
    """Chunks added up: texts and thoughts joined, what is empty left out."""
    candidates: dict[int, dict[str, Any]] = {}
    rest: dict[str, Any] = {}
    for chunk in found:
        for piece in chunk.pop("candidates", ()):
            candidate = candidates.setdefault(piece["index"], {"parts": [], "sources": []})
            for part in piece.pop("content")["parts"]:
                _add(candidate["parts"], part)
            cited = piece.pop("citationMetadata", {})
            candidate["sources"] += [s for sources in cited.values() for s in sources]
            candidate.update(piece)
        rest.update(chunk)
    return {"candidates": candidates, **rest}


def _add(parts: list[dict[str, Any]], part: dict[str, Any]) -> None:
    kind = [part.get("thought")] if "text" in part else None
    if kind is None:
        parts.append(part)
    elif parts and "text" in parts[-1] and [parts[-1].get("thought")] == kind:
        # Texts do not tell a thought with its signature from the next one.
        signatures = [p.pop("thoughtSignature", "") for p in (parts[-1], part)]
        parts[-1]["text"] += part["text"]
        parts[-1]["thoughtSignature"] = "".join(signatures)
    elif part["text"] or part.get("thoughtSignature"):
        parts.append({"thoughtSignature": "", **part})
