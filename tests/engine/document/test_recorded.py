"""Recorded answers in documents: held as they came, and replayed until what stands beside them is
edited."""

import json
from typing import Any

import pytest

from scenarios_app.engine.document import DocumentError, compile_scenario, dump, load_documents
from scenarios_app.engine.document import recorded as shapes
from scenarios_app.engine.document.recorded import chunk_document, digest_of_answer
from scenarios_app.engine.recorded import RecordedAnswer
from scenarios_app.engine.scenario import Produce

PARTS: dict[str, Any] = {"text": "Hi!", "usage": {"output_tokens": 1}}


def step(beside: dict[str, Any] | None = None, **recorded: Any) -> dict[str, Any]:
    recording = {"chunks": ["body"], "of": digest_of_answer(PARTS), **recorded}
    return {"produce": {**(PARTS if beside is None else beside), "recorded": recording}}


def loaded(document: dict[str, Any]) -> Produce:
    (document_loaded,) = load_documents({"name": "cassette", "steps": [document]})
    assert dump(document_loaded) == dump(
        load_documents(json.loads(json.dumps(dump(document_loaded))))[0]
    )
    return compile_scenario(document_loaded).steps[0].produce


def refused(document: dict[str, Any]) -> str:
    with pytest.raises(DocumentError) as raised:
        loaded(document)
    return str(raised.value)


def test_unedited_recording_is_replayed() -> None:
    assert loaded(step()).recorded == RecordedAnswer(chunks=((0.0, b"body"),))


def test_edited_recording_is_not_replayed() -> None:
    assert loaded(step({**PARTS, "text": "Ho!"})).recorded is None
    assert loaded(step({**PARTS, "fault": {"kind": "disconnect"}})).recorded is None


def test_latency_is_no_edit_and_the_same_in_other_words_is_none_either() -> None:
    assert loaded(step({**PARTS, "latency_ms": 5})).recorded is not None
    assert loaded(step({**PARTS, "tool_calls": [], "finish_reason": None})).recorded is not None


def test_all_of_an_answer_is_held() -> None:
    document = step(
        status=429,
        headers={"Content-Type": "text/plain"},
        chunks=[{"at": 1.5, "text": "a"}, {"base64": "/w=="}, {"at": 2, "base64": "AA=="}],
        cut=True,
        path="/v1/chat/completions",
        stream=True,
        pace=True,
    )
    assert loaded(document).recorded == RecordedAnswer(
        status=429,
        headers=(("content-type", "text/plain"),),
        chunks=((1.5, b"a"), (0.0, b"\xff"), (2.0, b"\x00")),
        cut=True,
        path="/v1/chat/completions",
        stream=True,
        pace=True,
    )


@pytest.mark.parametrize(
    ("at", "data", "held"),
    [
        (0.0, b"text", "text"),
        (2.5, b"text", {"at": 2.5, "text": "text"}),
        (0.0, b"\xff", {"base64": "/w=="}),
        (1.0, b"\xff", {"at": 1.0, "base64": "/w=="}),
    ],
)
def test_a_piece_is_held_as_text_where_it_is_some(at: float, data: bytes, held: Any) -> None:
    assert chunk_document(at, data) == held


@pytest.mark.parametrize(
    ("chunk", "error"),
    [
        ({"text": "a", "base64": "YQ=="}, "chunks[0]: expected text or base64"),
        ({}, "chunks[0]: expected text or base64"),
        ({"base64": "%"}, "chunks[0].base64: expected Base64"),
        ({"base64": "YQ"}, "chunks[0].base64: expected Base64"),
        ({"at": -1, "text": ""}, "chunks[0].at: expected a number from 0 up"),
        (7, "chunks[0]: expected a string or an object"),
    ],
)
def test_invalid_recorded_chunk_is_rejected_with_its_path(chunk: Any, error: str) -> None:
    assert refused(step(chunks=[chunk])).startswith(f"steps[0].produce.recorded.{error}")


def test_a_body_that_cannot_be_sent_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    assert "an answer of status 204 has no body" in refused(step(status=204))
    monkeypatch.setattr(shapes, "MAX_BODY_BYTES", 3)
    assert "chunks: hold 4 bytes, expected at most 3" in refused(step())


def test_a_recording_alone_is_no_answer() -> None:
    assert "produce: says nothing" in refused(step({}))
