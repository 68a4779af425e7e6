"""Broken answers, and what Ollama's client raises for each."""

import json
from typing import Any

import httpx
import ollama
import pytest

from tests.live import Live
from tests.sdk.ollama.ollama_talk import OllamaTalk
from tests.sdk.ollama.test_ollama_answers import HELLO
from tests.serving.pipelines import scenario

TEXT = "one two three four five"


def load(live: Live, kind: str, **fault: Any) -> None:
    """A scenario of five chunks of text, and a fault after two of them."""
    produce: dict[str, Any] = {"fault": {"kind": kind, **fault}}
    if kind not in ("timeout", "network_error", "invalid_response"):
        produce["fault"].setdefault("after_chunks", 2)
        produce |= {"text": TEXT, "pacing": {"words_per_chunk": 1}}
    live.load(scenario("one", {"consume": False, "produce": produce}))


@pytest.mark.parametrize("after", [0, 1, 4, 5])
def test_a_cut_stream_gives_what_was_sent(live: Live, llama: OllamaTalk, after: int) -> None:
    load(live, "disconnect", after_chunks=after)
    seen = llama.broken(**HELLO)
    assert [(m.content or "").strip() for m in seen.messages] == TEXT.split()[:after]
    assert seen.done_reasons == []
    assert isinstance(seen.error, httpx.RemoteProtocolError)
    assert [row.outcome for row in live.requests()] == ["fault"]


def test_a_truncated_stream_raises_nothing_and_lacks_its_end(live: Live, llama: OllamaTalk) -> None:
    load(live, "truncate")
    seen = llama.stream(**HELLO)
    assert (seen.text.split(), seen.done_reasons) == (["one", "two"], [])


def test_an_error_inside_the_stream_is_a_response_error(live: Live, llama: OllamaTalk) -> None:
    load(live, "error_event", message="The model fell over.")
    seen = llama.broken(**HELLO)
    assert seen.text.split() == ["one", "two"]
    assert isinstance(seen.error, ollama.ResponseError)
    assert (seen.error.error, seen.error.status_code) == ("The model fell over.", -1)


def test_a_malformed_chunk_cannot_be_read(live: Live, llama: OllamaTalk) -> None:
    load(live, "malformed_chunk")
    seen = llama.broken(**HELLO)
    assert seen.text.split() == ["one", "two"]
    assert isinstance(seen.error, json.JSONDecodeError)


def test_a_stall_goes_on(live: Live, llama: OllamaTalk) -> None:
    load(live, "stall", hold_ms=50)
    assert llama.stream(**HELLO).text == TEXT
    assert llama.whole(**HELLO).message.content == TEXT


def test_a_stall_that_outlasts_the_clients_patience(live: Live, llama: OllamaTalk) -> None:
    load(live, "stall", hold_ms=60_000)
    # Not so little that the pieces before it could take as long.
    llama.given["timeout"] = 1.5
    seen = llama.broken(**HELLO)
    assert seen.text.split() == ["one", "two"]
    assert isinstance(seen.error, httpx.ReadTimeout)
    llama.given["timeout"] = 0.3
    with pytest.raises(httpx.ReadTimeout):
        llama.whole(**HELLO)


def test_a_server_that_keeps_silent_is_a_timeout(live: Live, llama: OllamaTalk) -> None:
    load(live, "timeout", hold_ms=60_000)
    llama.given["timeout"] = 0.3
    with pytest.raises(httpx.ReadTimeout):
        llama.whole(**HELLO)
    assert isinstance(llama.broken(**HELLO).error, httpx.ReadTimeout)


@pytest.mark.parametrize("fault", [{"kind": "network_error"}, {"kind": "timeout", "hold_ms": 20}])
def test_no_answer_at_all_is_a_protocol_error(
    live: Live, llama: OllamaTalk, fault: dict[str, Any]
) -> None:
    load(live, **fault)
    for ask in (llama.whole, llama.stream):
        with pytest.raises(httpx.RemoteProtocolError):
            ask(**HELLO)
    assert [row.outcome for row in live.requests()] == ["fault", "fault"]


def test_an_invalid_response_cannot_be_read(live: Live, llama: OllamaTalk) -> None:
    load(live, "invalid_response")
    with pytest.raises(json.JSONDecodeError):
        llama.whole(**HELLO)
    assert isinstance(llama.broken(**HELLO).error, json.JSONDecodeError)


def test_whole_answers_break_too(live: Live, llama: OllamaTalk) -> None:
    load(live, "disconnect")
    with pytest.raises(httpx.RemoteProtocolError):
        llama.whole(**HELLO)
    load(live, "truncate")
    with pytest.raises(json.JSONDecodeError):
        llama.whole(**HELLO)
    load(live, "error_event", message="Broken.")
    with pytest.raises(ollama.ResponseError, match=r"Broken\."):
        llama.whole(**HELLO)


def test_a_failing_attempt_is_not_tried_again_by_the_client(live: Live, llama: OllamaTalk) -> None:
    failures = {"times": 1, "fault": {"kind": "rate_limit"}}
    live.load(scenario("one", {"failures": failures, "produce": {"text": "At last."}}))
    with pytest.raises(ollama.ResponseError):
        llama.whole(**HELLO)
    assert llama.whole(**HELLO).message.content == "At last."
    assert [(row.status, row.attempt) for row in live.requests()] == [(429, 1), (200, 1)]
