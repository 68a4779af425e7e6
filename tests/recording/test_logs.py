"""Imported JSON lines: logs of calls, batches, and conversations for fine-tuning."""

import json

import pytest

from scenarios_app.engine.document import DocumentError
from scenarios_app.recording.importers import decode_recording
from tests.recording.files import read_recording
from tests.recording.interactions import ANSWER, CHAT_BODY, MESSAGES


def test_log_of_calls_is_imported() -> None:
    lines = [
        {"request": CHAT_BODY, "response": ANSWER},
        {
            "request": {"url": MESSAGES, "body": CHAT_BODY, "headers": {}},
            "response": {"status": 400, "body": {"error": {}}},
        },
        {
            "path": "/v1/embeddings",
            "request": {"model": "e", "input": "x"},
            "answer": "raw text",
            "status": 200,
        },
        {"request": {"model": "claude-x", "messages": []}, "response": {"content": []}},
        {"request": {"model": "gemini-x", "contents": []}, "response": {"candidates": []}},
        {"request": {"model": "m", "input": "x"}, "response": {"output": []}},
        {"request": {"model": "text-embedding-3", "input": "x"}, "response": {"data": []}},
        {
            "request": CHAT_BODY,
            "response": ANSWER,
            "query": "a=b",
            "headers": {"x-request-id": "r"},
        },
    ]
    text = "\n".join(map(json.dumps, lines)) + "\n\u2028\n".strip()
    recording = decode_recording(text.encode(), source="log.jsonl")
    assert recording is not None
    places = [
        interaction.request.url.rpartition("/")[2] for interaction in recording.interactions()
    ]
    assert places == [
        *("completions", "messages", "embeddings", "messages", "gemini-x:generateContent"),
        *("responses", "embeddings", "completions?a=b"),
    ]
    statuses = [interaction.response.status for interaction in recording.interactions()]
    assert statuses == [200, 400, 200, 200, 200, 200, 200, 200]
    assert recording.interactions()[2].response.body == b"raw text"
    assert dict(recording.interactions()[7].response.headers) == {"x-request-id": "r"}


def test_batches_of_both_providers_are_imported() -> None:
    lines = [
        {"custom_id": "a", "method": "POST", "url": "/v1/chat/completions", "body": CHAT_BODY},
        {"custom_id": "a", "response": {"status_code": 200, "body": ANSWER}},
        {"custom_id": "b", "params": CHAT_BODY},
        {"custom_id": "b", "result": {"type": "succeeded", "message": {"content": []}}},
        {"custom_id": "c", "params": CHAT_BODY},
        {"custom_id": "c", "result": {"type": "errored", "error": {"type": "error"}}},
        {"custom_id": "d", "params": CHAT_BODY},
        {"custom_id": "e", "response": {"body": {}}},
    ]
    conversion = read_recording("\n".join(map(json.dumps, lines)).encode(), "batch.jsonl")
    assert conversion.steps == 3
    assert "left out: line 7: a request whose answer is not in the file" in conversion.notes
    assert "left out: line 8: an answer whose request is not in the file" in conversion.notes
    assert [step["match"]["path"] for step in conversion.document["steps"]] == [
        "/v1/chat/completions",
        "/v1/messages",
        "/v1/messages",
    ]


def test_requests_of_a_batch_that_were_not_answered_are_left_out() -> None:
    lines = [
        {"custom_id": "a", "method": "POST", "url": "/v1/chat/completions", "body": CHAT_BODY},
        {"custom_id": "a", "response": None, "error": {"code": "batch_expired"}},
        {"custom_id": "b", "params": CHAT_BODY},
        {"custom_id": "b", "result": {"type": "canceled"}},
    ]
    conversion = read_recording("\n".join(map(json.dumps, lines)).encode(), "batch.jsonl")
    assert conversion.steps == 0
    assert conversion.notes == (
        "left out: line 1: a request whose answer is not in the file",
        "left out: line 3: a request whose answer is not in the file",
    )


def test_fine_tuning_conversations_are_imported() -> None:
    messages = [
        {"role": "user", "content": "hi"},
        {"role": "assistant", "content": "Hello", "weight": 0},
        {"role": "user", "content": "bye"},
        {"role": "assistant", "content": "Bye"},
    ]
    conversion = read_recording(json.dumps({"messages": messages}).encode(), "tuning.jsonl")
    first, second = conversion.document["steps"]
    assert first["produce"]["text"] == "Hello" and second["produce"]["text"] == "Bye"
    assert len(second["match"]["recorded"]["body"]["messages"]) == 3


def test_long_conversation_is_refused_before_its_requests_fill_the_memory() -> None:
    turns = [{"role": role, "content": "a" * 1_000} for role in ("user", "assistant")]
    line = json.dumps({"messages": turns * 500})
    with pytest.raises(DocumentError, match=r"line 2.*: the requests of .* more than 20 MB"):
        read_recording(f'{{"messages": []}}\n{line}'.encode(), "tuning.jsonl")
