"""Broken answers, and what OpenAI's client raises for each."""

import json
from typing import Any

import httpx2
import openai
import pytest

from tests.live import Live
from tests.sdk.openai.openai_talk import OpenAITalk
from tests.sdk.openai.test_openai_answers import HELLO
from tests.serving.pipelines import scenario

TEXT = "one two three four five"


def load(live: Live, kind: str, **fault: Any) -> None:
    """A scenario of five chunks of text, and a fault after two of them."""
    produce: dict[str, Any] = {"fault": {"kind": kind, **fault}}
    if kind not in ("timeout", "network_error", "invalid_response"):
        produce["fault"].setdefault("after_chunks", 2)
        produce |= {"text": TEXT, "pacing": {"words_per_chunk": 1}}
    live.load(scenario("one", {"consume": False, "produce": produce}))


def test_a_cut_stream_gives_what_was_sent_and_a_connection_error(
    live: Live, chat: OpenAITalk
) -> None:
    load(live, "disconnect")
    seen = chat.broken(**HELLO)
    assert seen.text.split() == ["one", "two"]
    assert seen.finish_reasons == []
    assert type(seen.error) is openai.APIConnectionError
    assert isinstance(seen.error.__cause__, httpx2.RemoteProtocolError)
    assert [row.outcome for row in live.requests()] == ["fault"]


@pytest.mark.parametrize("after", [0, 1, 4, 5])
def test_a_cut_comes_after_exactly_so_many_chunks(live: Live, chat: OpenAITalk, after: int) -> None:
    load(live, "disconnect", after_chunks=after)
    seen = chat.broken(**HELLO)
    contents = [o.delta.content for c in seen.chunks for o in c.choices if o.delta.content]
    assert [content.strip() for content in contents] == TEXT.split()[:after]
    assert seen.finish_reasons == []
    assert isinstance(seen.error, openai.APIConnectionError)


def test_a_truncated_stream_raises_nothing_and_lacks_its_end(live: Live, chat: OpenAITalk) -> None:
    load(live, "truncate")
    seen = chat.stream(**HELLO)
    assert (seen.text.split(), seen.finish_reasons) == (["one", "two"], [])


def test_an_error_inside_the_stream_is_an_api_error(live: Live, chat: OpenAITalk) -> None:
    load(live, "error_event", message="The model fell over.", code="fell_over")
    seen = chat.broken(**HELLO)
    assert seen.text.split() == ["one", "two"]
    assert type(seen.error) is openai.APIError
    assert (seen.error.message, seen.error.code) == ("The model fell over.", "fell_over")


def test_a_malformed_chunk_cannot_be_read(live: Live, chat: OpenAITalk) -> None:
    load(live, "malformed_chunk")
    seen = chat.broken(**HELLO)
    assert seen.text.split() == ["one", "two"]
    assert isinstance(seen.error, json.JSONDecodeError)


def test_a_stall_goes_on(live: Live, chat: OpenAITalk) -> None:
    load(live, "stall", hold_ms=50)
    assert chat.stream(**HELLO).text == TEXT
    assert chat.whole(**HELLO).choices[0].message.content == TEXT


def test_a_stall_that_outlasts_the_clients_patience(live: Live, chat: OpenAITalk) -> None:
    load(live, "stall", hold_ms=60_000)
    # Not so little that the pieces before it could take as long.
    chat.given["timeout"] = 1.5
    seen = chat.broken(**HELLO)
    assert seen.text.split() == ["one", "two"]
    assert isinstance(seen.error, openai.APITimeoutError)
    chat.given["timeout"] = 0.3
    with pytest.raises(openai.APITimeoutError):
        chat.whole(**HELLO)


def test_a_server_that_keeps_silent_is_a_timeout(live: Live, chat: OpenAITalk) -> None:
    load(live, "timeout", hold_ms=60_000)
    chat.given["timeout"] = 0.3
    with pytest.raises(openai.APITimeoutError):
        chat.whole(**HELLO)
    assert isinstance(chat.broken(**HELLO).error, openai.APITimeoutError)


@pytest.mark.parametrize("fault", [{"kind": "network_error"}, {"kind": "timeout", "hold_ms": 20}])
def test_no_answer_at_all_is_a_connection_error(
    live: Live, chat: OpenAITalk, fault: dict[str, Any]
) -> None:
    load(live, **fault)
    for ask in (chat.whole, chat.stream):
        with pytest.raises(openai.APIConnectionError) as raised:
            ask(**HELLO)
        assert isinstance(raised.value.__cause__, httpx2.RemoteProtocolError)
    assert [row.outcome for row in live.requests()] == ["fault", "fault"]


def test_an_invalid_response_cannot_be_read(live: Live, chat: OpenAITalk) -> None:
    load(live, "invalid_response")
    with pytest.raises(json.JSONDecodeError):
        chat.whole(**HELLO)
    assert isinstance(chat.broken(**HELLO).error, json.JSONDecodeError)


def test_whole_answers_break_too(live: Live, chat: OpenAITalk) -> None:
    load(live, "disconnect")
    with pytest.raises(openai.APIConnectionError):
        chat.whole(**HELLO)
    load(live, "truncate")
    with pytest.raises(json.JSONDecodeError):
        chat.whole(**HELLO)
    load(live, "error_event", message="Broken.")
    with pytest.raises(openai.InternalServerError, match=r"Broken\."):
        chat.whole(**HELLO)
