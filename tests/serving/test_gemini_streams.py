"""Gemini through the pipeline: its two kinds of stream, its sessions, paths and reasoning."""

import json
from typing import Any

import pytest
from msgspec.structs import replace

from scenarios_app.engine.canonical import ErrorAnswer
from scenarios_app.engine.state import key_session
from scenarios_app.wire.base import Call
from tests.serving.pipelines import Harness, gemini, scenario, text_step

TEXT = "one two three"


def faulty_harness(kind: str, **fault: Any) -> Harness:
    produce = {
        "text": TEXT,
        "pacing": {"words_per_chunk": 1},
        "fault": {"kind": kind, **fault},
    }
    return Harness(scenario("one", {"consume": False, "produce": produce}))


def array_call() -> Call:
    return replace(gemini(stream=True), query={}, raw_query="")


def texts(elements: list[dict[str, Any]]) -> list[str]:
    return [e["candidates"][0]["content"]["parts"][0]["text"].strip() for e in elements]


@pytest.mark.parametrize("after", [0, 1, 3])
async def test_error_ends_an_array_that_is_valid_json(after: int) -> None:
    _, headers, body = await faulty_harness("error_event", after_chunks=after).ask(array_call())
    *elements, last = json.loads(body)
    assert headers["content-type"] == "application/json; charset=UTF-8"
    assert texts(elements) == TEXT.split()[:after]
    assert (last["error"]["code"], last["error"]["status"]) == (500, "INTERNAL")


@pytest.mark.parametrize("after", [0, 1, 3])
async def test_an_error_ends_a_stream_of_events(after: int) -> None:
    _, headers, body = await faulty_harness("error_event", after_chunks=after).ask(
        gemini(stream=True)
    )
    *events, last = [json.loads(e[6:]) for e in body.decode().split("\r\n\r\n")[:-1]]
    assert headers["content-type"] == "text/event-stream"
    assert (texts(events), last["error"]["code"]) == (TEXT.split()[:after], 500)


@pytest.mark.parametrize("kind", ["malformed_chunk", "truncate", "disconnect"])
@pytest.mark.parametrize("after", [0, 2])
async def test_broken_array_is_no_json(kind: str, after: int) -> None:
    _, _, body = await faulty_harness(kind, after_chunks=after).ask(array_call())
    with pytest.raises(json.JSONDecodeError):
        json.loads(body)
    assert body.count(b'"text":') == after


async def test_array_that_ends_early_is_valid_json() -> None:
    """As at a shutdown of the server."""
    pacing = {"chunk_ms": 10, "words_per_chunk": 1}
    harness = Harness(scenario("one", {"produce": {"text": TEXT, "pacing": pacing}}))
    reply = (await harness.pipeline.answer(array_call())).reply
    for frame_count in range(len(reply.frames)):
        sent_bytes = b"".join(frame.data for frame in reply.frames[:frame_count])
        elements = json.loads(
            sent_bytes + reply.error_frame(frame_count, ErrorAnswer(503, "Stopping."))
        )
        assert [element.get("error", {}).get("code") for element in elements][-1] == 503


@pytest.mark.parametrize(
    ("headers", "query"),
    [({"x-goog-api-key": "k-1"}, {}), ({}, {"key": "k-1", "alt": "sse"})],
)
async def test_the_key_names_the_session(headers: dict[str, str], query: dict[str, str]) -> None:
    harness = Harness(scenario("one", text_step("Hi.")))
    call = replace(gemini(stream=bool(query)), headers=headers, query=query)
    status, _, _ = await harness.ask(call)
    assert (status, harness.journal[0].session) == (200, key_session("k-1"))


@pytest.mark.parametrize("verb", ["generateContent", "streamGenerateContent"])
@pytest.mark.parametrize("version", ["v1", "v1beta"])
async def test_steps_name_the_path_by_its_canonical_form(verb: str, version: str) -> None:
    match = {"provider": "gemini", "path": "/v1beta/models/{model}:generateContent"}
    harness = Harness(scenario("one", {**text_step("Hi."), "match": match}))
    call = replace(gemini(), path=f"/{version}/models/m:{verb}")
    assert (await harness.ask(call))[0] == 200
    elsewhere = replace(call, path=f"/{version}/models/m:countTokens")
    assert "totalTokens" in json.loads((await harness.ask(elsewhere))[2])


async def test_step_with_the_path_of_a_computed_endpoint_answers_it() -> None:
    match = {"path": "/v1beta/models/{model}:countTokens"}
    raw = {"raw": {"body": {"totalTokens": 7}}}
    harness = Harness(scenario("one", {"match": match, "consume": False, "produce": raw}))
    for version in ("v1", "v1beta"):
        call = replace(gemini(), path=f"/{version}/models/m:countTokens")
        assert json.loads((await harness.ask(call))[2]) == {"totalTokens": 7}


THOUGHT_PART: dict[str, Any] = {"text": "Hm.", "thought": True}
CALL_PART: dict[str, Any] = {"functionCall": {"name": "f"}}


@pytest.mark.parametrize(
    ("parts", "is_violation"),
    [
        ([THOUGHT_PART, CALL_PART], True),
        ([{**THOUGHT_PART, "thoughtSignature": "c2ln"}, CALL_PART], False),
        ([THOUGHT_PART, {**CALL_PART, "thoughtSignature": "c2ln"}], False),
        ([CALL_PART], False),
        ([THOUGHT_PART, {"text": "Hi."}], False),
    ],
)
async def test_unsigned_reasoning_of_earlier_turns_is_dropped(
    parts: Any, is_violation: bool
) -> None:
    """In a message with calls on later turns; a signature on a call counts for the reasoning."""
    step = {**text_step("Hi."), "expect": {"reasoning": "enabled"}}
    harness = Harness(scenario("one", step))
    messages = [
        {"role": "user", "content": "Hello"},
        {"role": "assistant", "content": parts},
        {"role": "user", "content": "And?"},
    ]
    await harness.ask(gemini(messages=messages, thinking={"includeThoughts": True}))
    state_violations = (await harness.state.read(harness.journal[0].session)).violations
    assert state_violations == (("Expected reasoning to remain enabled",) if is_violation else ())
