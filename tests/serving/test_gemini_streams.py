"""Gemini through the pipeline: its two kinds of stream, its sessions, its paths, its thinking."""

import json
from typing import Any

import pytest
from msgspec.structs import replace

from scenarios_app.engine.canonical import ErrorAnswer
from scenarios_app.engine.state import key_session
from scenarios_app.wire.base import Call
from tests.serving.pipelines import Playing, gemini, says, scenario

TEXT = "one two three"


def broken(kind: str, **fault: Any) -> Playing:
    produce = {
        "text": TEXT,
        "pacing": {"words_per_chunk": 1},
        "fault": {"kind": kind, **fault},
    }
    return Playing(scenario("one", {"consume": False, "produce": produce}))


def array() -> Call:
    return replace(gemini(stream=True), query={}, raw_query="")


def texts(elements: list[dict[str, Any]]) -> list[str]:
    return [e["candidates"][0]["content"]["parts"][0]["text"].strip() for e in elements]


@pytest.mark.parametrize("after", [0, 1, 3])
async def test_an_error_ends_an_array_that_can_be_read(after: int) -> None:
    _, headers, body = await broken("error_event", after_chunks=after).ask(array())
    *elements, last = json.loads(body)
    assert headers["content-type"] == "application/json; charset=UTF-8"
    assert texts(elements) == TEXT.split()[:after]
    assert (last["error"]["code"], last["error"]["status"]) == (500, "INTERNAL")


@pytest.mark.parametrize("after", [0, 1, 3])
async def test_an_error_ends_a_stream_of_events(after: int) -> None:
    _, headers, body = await broken("error_event", after_chunks=after).ask(gemini(stream=True))
    *events, last = [json.loads(e[6:]) for e in body.decode().split("\r\n\r\n")[:-1]]
    assert headers["content-type"] == "text/event-stream"
    assert (texts(events), last["error"]["code"]) == (TEXT.split()[:after], 500)


@pytest.mark.parametrize("kind", ["malformed_chunk", "truncate", "disconnect"])
@pytest.mark.parametrize("after", [0, 2])
async def test_a_broken_array_cannot_be_read(kind: str, after: int) -> None:
    _, _, body = await broken(kind, after_chunks=after).ask(array())
    with pytest.raises(json.JSONDecodeError):
        json.loads(body)
    assert body.count(b'"text":') == after


async def test_an_array_that_is_ended_early_can_be_read() -> None:
    """As when the server is told to stop."""
    pacing = {"chunk_ms": 10, "words_per_chunk": 1}
    playing = Playing(scenario("one", {"produce": {"text": TEXT, "pacing": pacing}}))
    reply = (await playing.pipeline.answer(array())).reply
    for sent in range(len(reply.frames)):
        left = b"".join(frame.data for frame in reply.frames[:sent])
        ended = json.loads(left + reply.error_frame(sent, ErrorAnswer(503, "Stopping.")))
        assert [element.get("error", {}).get("code") for element in ended][-1] == 503


@pytest.mark.parametrize(
    ("headers", "query"),
    [({"x-goog-api-key": "k-1"}, {}), ({}, {"key": "k-1", "alt": "sse"})],
)
async def test_the_key_names_the_session(headers: dict[str, str], query: dict[str, str]) -> None:
    playing = Playing(scenario("one", says("Hi.")))
    call = replace(gemini(stream=bool(query)), headers=headers, query=query)
    status, _, _ = await playing.ask(call)
    assert (status, playing.journal[0].session) == (200, key_session("k-1"))


@pytest.mark.parametrize("verb", ["generateContent", "streamGenerateContent"])
@pytest.mark.parametrize("version", ["v1", "v1beta"])
async def test_steps_name_the_path_by_its_canonical_form(verb: str, version: str) -> None:
    named = {"provider": "gemini", "path": "/v1beta/models/{model}:generateContent"}
    playing = Playing(scenario("one", {**says("Hi."), "match": named}))
    call = replace(gemini(), path=f"/{version}/models/m:{verb}")
    assert (await playing.ask(call))[0] == 200
    elsewhere = replace(call, path=f"/{version}/models/m:countTokens")
    assert "totalTokens" in json.loads((await playing.ask(elsewhere))[2])


async def test_a_step_that_names_a_helpers_path_takes_its_place() -> None:
    counted = {"path": "/v1beta/models/{model}:countTokens"}
    raw = {"raw": {"body": {"totalTokens": 7}}}
    playing = Playing(scenario("one", {"match": counted, "consume": False, "produce": raw}))
    for version in ("v1", "v1beta"):
        call = replace(gemini(), path=f"/{version}/models/m:countTokens")
        assert json.loads((await playing.ask(call))[2]) == {"totalTokens": 7}


THOUGHT: dict[str, Any] = {"text": "Hm.", "thought": True}
CALLED: dict[str, Any] = {"functionCall": {"name": "f"}}


@pytest.mark.parametrize(
    ("parts", "lost"),
    [
        ([THOUGHT, CALLED], True),
        ([{**THOUGHT, "thoughtSignature": "c2ln"}, CALLED], False),
        ([THOUGHT, {**CALLED, "thoughtSignature": "c2ln"}], False),
        ([CALLED], False),
        ([THOUGHT, {"text": "Hi."}], False),
    ],
)
async def test_unsigned_thinking_is_not_taken_back(parts: Any, lost: bool) -> None:
    """On later turns, in a message with calls; a signature on a call is one of the thinking."""
    step = {**says("Hi."), "expect": {"reasoning": "enabled"}}
    playing = Playing(scenario("one", step))
    messages = [
        {"role": "user", "content": "Hello"},
        {"role": "assistant", "content": parts},
        {"role": "user", "content": "And?"},
    ]
    await playing.ask(gemini(messages=messages, thinking={"includeThoughts": True}))
    found = (await playing.state.read(playing.journal[0].session)).violations
    assert found == (("Expected reasoning to remain enabled",) if lost else ())
