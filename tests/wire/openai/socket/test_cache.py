"""The cache of responses that are not stored, which only their connection can continue."""

import json
from typing import Any

import pytest

from scenarios_app.wire.openai.responses import socket
from scenarios_app.wire.openai.responses.record import read_previous, read_record
from tests.wire.openai.socket.rules import Rules

MESSAGE = {"type": "message", "id": "msg_1", "role": "assistant", "content": []}


def recall(rules: Rules, name: str, **fields: Any) -> bytes | None:
    """Return what a request that continues a response finds in the cache."""
    rules.create(previous_response_id=name, **fields)
    turn = rules.started[-1]
    return turn.recall(name) if turn.recall is not None else None


def test_response_that_is_not_stored_is_recorded_with_its_input() -> None:
    rules = Rules()
    rules.create(store=False, input="Hi", previous_response_id="resp_0")
    rules.complete("resp_1", output=[MESSAGE])
    data = recall(rules, "resp_1")
    assert data is not None and read_previous(data) == "resp_0"
    record = read_record(data)
    assert record is not None
    assert [node.value for node in record.output] == [MESSAGE]
    (item,) = record.items
    assert item.get("content").value == [{"type": "input_text", "text": "Hi"}]


def test_stored_response_is_not_cached() -> None:
    rules = Rules()
    rules.create()
    rules.complete("resp_1")
    assert recall(rules, "resp_1") is None


def test_request_without_a_previous_response_does_not_use_the_cache() -> None:
    rules = Rules()
    rules.create(store=False)
    rules.complete()
    rules.create(input="Hi")
    assert rules.started[-1].recall is None


@pytest.mark.parametrize("fields", [{}, {"type": "item_reference"}])
def test_request_with_a_reference_to_an_item_uses_the_cache(fields: dict[str, str]) -> None:
    rules = Rules()
    rules.create(store=False)
    rules.complete()
    rules.create(input=[{"id": "msg_1", **fields}])
    assert rules.started[-1].recall is not None


@pytest.mark.parametrize("status", [200, 400])
def test_response_that_failed_is_not_cached(status: int) -> None:
    rules = Rules()
    rules.create(store=False)
    rules.fail(status=status)
    assert recall(rules, "resp_1") is None


def test_response_without_an_id_is_not_cached() -> None:
    rules = Rules()
    rules.create(store=False)
    turn = rules.started.pop()
    rules.rules.encode(turn, b'data: {"type":"response.completed"}\n\n')
    list(rules.rules.end(turn, status=200))
    assert recall(rules, "resp_1") is None


def test_parent_is_evicted_when_its_lane_fails_to_continue_it() -> None:
    rules = Rules()
    rules.create(store=False, stream_id="a")
    rules.complete("resp_1")
    assert recall(rules, "resp_1", stream_id="b") is not None
    rules.fail()
    assert recall(rules, "resp_1", stream_id="a") is not None
    rules.fail(status=500)
    assert recall(rules, "resp_1", stream_id="a") is None


def test_failure_to_continue_an_unknown_response_changes_nothing() -> None:
    rules = Rules()
    rules.create(store=False)
    rules.complete("resp_1")
    assert recall(rules, "resp_2") is None
    rules.fail()
    assert recall(rules, "resp_1") is not None


def test_oldest_responses_are_evicted_beyond_a_limit_of_bytes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(socket, "MAX_CACHED_BYTES", 3_000)
    rules = Rules()
    for number in range(3):
        rules.create(store=False, input="x" * 1_000, stream_id="s")
        rules.complete(f"resp_{number}")
    assert recall(rules, "resp_0", stream_id="t") is None
    assert recall(rules, "resp_2", stream_id="u") is not None


def test_response_with_a_repeated_id_replaces_the_earlier_one() -> None:
    rules = Rules()
    for text in ("first", "second"):
        rules.create(store=False, input=text)
        rules.complete("resp_1")
    data = recall(rules, "resp_1")
    assert data is not None and b"second" in data and b"first" not in data
    assert json.loads(data.split(b"\n")[0]) is None
