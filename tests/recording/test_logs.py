"""Lines of JSON: logs of calls, batches, and the conversations that models are tuned with."""

import json

import pytest

from scenarios_app.engine.document import DocumentError
from scenarios_app.recording.importers import decode_recording
from tests.recording.files import read
from tests.recording.interactions import ANSWER, MESSAGES, SAID


def test_a_log_of_calls() -> None:
    lines = [
        {"request": SAID, "response": ANSWER},
        {
            "request": {"url": MESSAGES, "body": SAID, "headers": {}},
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
        {"request": SAID, "response": ANSWER, "query": "a=b", "headers": {"x-request-id": "r"}},
    ]
    text = "\n".join(map(json.dumps, lines)) + "\n\u2028\n".strip()
    found = decode_recording(text.encode(), source="log.jsonl")
    assert found is not None
    places = [one.request.url.rpartition("/")[2] for one in found.interactions()]
    assert places == [
        *("completions", "messages", "embeddings", "messages", "gemini-x:generateContent"),
        *("responses", "embeddings", "completions?a=b"),
    ]
    statuses = [one.response.status for one in found.interactions()]
    assert statuses == [200, 400, 200, 200, 200, 200, 200, 200]
    assert found.interactions()[2].response.body == b"raw text"
    assert dict(found.interactions()[7].response.headers) == {"x-request-id": "r"}


def test_batches_of_both_providers() -> None:
    lines = [
        {"custom_id": "a", "method": "POST", "url": "/v1/chat/completions", "body": SAID},
        {"custom_id": "a", "response": {"status_code": 200, "body": ANSWER}},
        {"custom_id": "b", "params": SAID},
        {"custom_id": "b", "result": {"type": "succeeded", "message": {"content": []}}},
        {"custom_id": "c", "params": SAID},
        {"custom_id": "c", "result": {"type": "errored", "error": {"type": "error"}}},
        {"custom_id": "d", "params": SAID},
        {"custom_id": "e", "response": {"body": {}}},
    ]
    made = read("\n".join(map(json.dumps, lines)).encode(), "batch.jsonl")
    assert made.steps == 3
    assert "left out: line 7: a request whose answer is not in the file" in made.notes
    assert "left out: line 8: an answer whose request is not in the file" in made.notes
    assert [step["match"]["path"] for step in made.document["steps"]] == [
        "/v1/chat/completions",
        "/v1/messages",
        "/v1/messages",
    ]


def test_requests_of_a_batch_that_were_not_answered_are_left_out() -> None:
    lines = [
        {"custom_id": "a", "method": "POST", "url": "/v1/chat/completions", "body": SAID},
        {"custom_id": "a", "response": None, "error": {"code": "batch_expired"}},
        {"custom_id": "b", "params": SAID},
        {"custom_id": "b", "result": {"type": "canceled"}},
    ]
    made = read("\n".join(map(json.dumps, lines)).encode(), "batch.jsonl")
    assert made.steps == 0
    assert made.notes == (
        "left out: line 1: a request whose answer is not in the file",
        "left out: line 3: a request whose answer is not in the file",
    )


def test_conversations_that_models_are_tuned_with() -> None:
    messages = [
        {"role": "user", "content": "hi"},
        {"role": "assistant", "content": "Hello", "weight": 0},
        {"role": "user", "content": "bye"},
        {"role": "assistant", "content": "Bye"},
    ]
    made = read(json.dumps({"messages": messages}).encode(), "tuning.jsonl")
    first, second = made.document["steps"]
    assert first["produce"]["text"] == "Hello" and second["produce"]["text"] == "Bye"
    assert len(second["match"]["recorded"]["body"]["messages"]) == 3


def test_long_conversation_is_refused_before_its_requests_fill_the_memory() -> None:
    turns = [{"role": role, "content": "a" * 1_000} for role in ("user", "assistant")]
    line = json.dumps({"messages": turns * 500})
    with pytest.raises(DocumentError, match=r"line 2.*: the requests of .* more than 20 MB"):
        read(f'{{"messages": []}}\n{line}'.encode(), "tuning.jsonl")
