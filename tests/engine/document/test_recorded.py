"""Recorded answers in documents: replayed until the scripted answer beside them is edited."""

import json
from typing import Any

import pytest

from scenarios_app.engine.document import DocumentError, compile_scenario, dump, load_documents
from scenarios_app.engine.document import recorded as shapes
from scenarios_app.engine.document.recorded import chunk_document, digest_of_answer
from scenarios_app.engine.recorded import RecordedAnswer
from scenarios_app.engine.scenario import Produce

PARTS: dict[str, Any] = {"text": "Hi!", "usage": {"output_tokens": 1}}


def recorded_step(scripted_answer: dict[str, Any] | None = None, **recorded: Any) -> dict[str, Any]:
    recording = {"chunks": ["body"], "of": digest_of_answer(PARTS), **recorded}
    return {
        "produce": {
            **(PARTS if scripted_answer is None else scripted_answer),
            "recorded": recording,
        }
    }


def compile_produce(document: dict[str, Any]) -> Produce:
    (loaded_document,) = load_documents({"name": "cassette", "steps": [document]})
    assert dump(loaded_document) == dump(
        load_documents(json.loads(json.dumps(dump(loaded_document))))[0]
    )
    return compile_scenario(loaded_document).steps[0].produce


def load_error(document: dict[str, Any]) -> str:
    with pytest.raises(DocumentError) as error:
        compile_produce(document)
    return str(error.value)


def test_unedited_recording_is_replayed() -> None:
    assert compile_produce(recorded_step()).recorded == RecordedAnswer(chunks=((0.0, b"body"),))


def test_edited_recording_is_not_replayed() -> None:
    assert compile_produce(recorded_step({**PARTS, "text": "Ho!"})).recorded is None
    assert (
        compile_produce(recorded_step({**PARTS, "fault": {"kind": "disconnect"}})).recorded is None
    )


def test_latency_and_explicit_defaults_are_no_edits() -> None:
    assert compile_produce(recorded_step({**PARTS, "latency_ms": 5})).recorded is not None
    assert (
        compile_produce(recorded_step({**PARTS, "tool_calls": [], "finish_reason": None})).recorded
        is not None
    )


def test_recorded_answer_keeps_all_its_fields() -> None:
    document = recorded_step(
        status=429,
        headers={"Content-Type": "text/plain"},
        chunks=[{"at": 1.5, "text": "a"}, {"base64": "/w=="}, {"at": 2, "base64": "AA=="}],
        cut=True,
        path="/v1/chat/completions",
        stream=True,
        pace=True,
    )
    assert compile_produce(document).recorded == RecordedAnswer(
        status=429,
        headers=(("content-type", "text/plain"),),
        chunks=((1.5, b"a"), (0.0, b"\xff"), (2.0, b"\x00")),
        cut=True,
        path="/v1/chat/completions",
        stream=True,
        pace=True,
    )


@pytest.mark.parametrize(
    ("at", "data", "encoded_chunk"),
    [
        (0.0, b"text", "text"),
        (2.5, b"text", {"at": 2.5, "text": "text"}),
        (0.0, b"\xff", {"base64": "/w=="}),
        (1.0, b"\xff", {"at": 1.0, "base64": "/w=="}),
    ],
)
def test_chunk_is_stored_as_text_or_base64(at: float, data: bytes, encoded_chunk: Any) -> None:
    assert chunk_document(at, data) == encoded_chunk


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
    assert load_error(recorded_step(chunks=[chunk])).startswith(
        f"steps[0].produce.recorded.{error}"
    )


def test_recorded_body_that_cannot_be_sent_is_rejected(monkeypatch: pytest.MonkeyPatch) -> None:
    assert "an answer of status 204 has no body" in load_error(recorded_step(status=204))
    monkeypatch.setattr(shapes, "MAX_BODY_BYTES", 3)
    assert "chunks: hold 4 bytes, expected at most 3" in load_error(recorded_step())


def test_recording_without_a_scripted_answer_is_rejected() -> None:
    assert "produce: says nothing" in load_error(recorded_step({}))
