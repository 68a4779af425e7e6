"""Broken answers, and what google-genai raises for each."""

import json
from typing import Any

import httpx2
import pytest
from google.genai.errors import ServerError, UnknownApiResponseError

from tests.live import Live
from tests.sdk.faults import TEXT, load
from tests.sdk.gemini.gemini_talk import GeminiTalk
from tests.sdk.gemini.test_gemini_answers import HELLO


@pytest.mark.parametrize("after", [0, 1, 4, 5])
def test_a_cut_stream_gives_what_was_sent_and_the_transports_own_error(
    live: Live, gemini: GeminiTalk, after: int
) -> None:
    load(live, "disconnect", after_chunks=after)
    seen = gemini.broken(**HELLO)
    assert [(part.text or "").strip() for part in seen.parts] == TEXT.split()[:after]
    assert seen.finish_reasons == []
    # The SDK wraps it in none of its own classes.
    assert type(seen.error) is httpx2.RemoteProtocolError
    assert [row.outcome for row in live.requests()] == ["fault"]


def test_a_truncated_stream_raises_nothing_and_lacks_its_end(
    live: Live, gemini: GeminiTalk
) -> None:
    load(live, "truncate")
    seen = gemini.stream(**HELLO)
    assert (seen.text.split(), seen.finish_reasons) == (["one", "two"], [])
    said = [chunk.usage_metadata.candidates_token_count for chunk in seen.chunks]
    assert said == [1, 2]


def test_an_error_inside_the_stream_is_raised_as_its_code_is(
    live: Live, gemini: GeminiTalk
) -> None:
    load(live, "error_event", message="The model fell over.", type="OOPS")
    seen = gemini.broken(**HELLO)
    assert seen.text.split() == ["one", "two"]
    assert isinstance(seen.error, ServerError)
    assert (seen.error.code, seen.error.status) == (500, "OOPS")
    assert seen.error.message == "The model fell over."


def test_a_malformed_chunk_cannot_be_read(live: Live, gemini: GeminiTalk) -> None:
    load(live, "malformed_chunk")
    seen = gemini.broken(**HELLO)
    assert seen.text.split() == ["one", "two"]
    assert isinstance(seen.error, UnknownApiResponseError)


def test_a_stall_goes_on(live: Live, gemini: GeminiTalk) -> None:
    load(live, "stall", hold_ms=50)
    assert gemini.stream(**HELLO).text == gemini.whole(**HELLO).text == TEXT


def test_a_stall_that_outlasts_the_clients_patience(live: Live, gemini: GeminiTalk) -> None:
    load(live, "stall", hold_ms=60_000)
    # Not so little that the pieces before it could take as long.
    gemini.given["timeout"] = 1500
    seen = gemini.broken(**HELLO)
    assert seen.text.split() == ["one", "two"]
    assert isinstance(seen.error, httpx2.ReadTimeout)
    gemini.given["timeout"] = 300
    with pytest.raises(httpx2.ReadTimeout):
        gemini.whole(**HELLO)


def test_a_server_that_keeps_silent_is_a_timeout(live: Live, gemini: GeminiTalk) -> None:
    load(live, "timeout", hold_ms=60_000)
    gemini.given["timeout"] = 300
    with pytest.raises(httpx2.ReadTimeout):
        gemini.whole(**HELLO)
    assert isinstance(gemini.broken(**HELLO).error, httpx2.ReadTimeout)


@pytest.mark.parametrize("fault", [{"kind": "network_error"}, {"kind": "timeout", "hold_ms": 20}])
def test_no_answer_at_all_is_a_protocol_error(
    live: Live, gemini: GeminiTalk, fault: dict[str, Any]
) -> None:
    load(live, **fault)
    for ask in (gemini.whole, gemini.stream):
        with pytest.raises(httpx2.RemoteProtocolError):
            ask(**HELLO)


def test_an_invalid_response_cannot_be_read(live: Live, gemini: GeminiTalk) -> None:
    load(live, "invalid_response")
    with pytest.raises(json.JSONDecodeError):
        gemini.whole(**HELLO)
    assert isinstance(gemini.broken(**HELLO).error, UnknownApiResponseError)


def test_whole_answers_break_too(live: Live, gemini: GeminiTalk) -> None:
    load(live, "disconnect")
    with pytest.raises(httpx2.RemoteProtocolError):
        gemini.whole(**HELLO)
    for kind in ("truncate", "malformed_chunk"):
        load(live, kind)
        with pytest.raises(json.JSONDecodeError):
            gemini.whole(**HELLO)
    load(live, "error_event", message="Broken.")
    with pytest.raises(ServerError, match=r"Broken\."):
        gemini.whole(**HELLO)
