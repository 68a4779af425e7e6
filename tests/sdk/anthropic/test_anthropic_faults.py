"""Broken answers, and what Anthropic's client raises for each."""

import json
from typing import Any

import anthropic
import httpx2
import pytest

from tests.live import Live
from tests.sdk.anthropic.anthropic_talk import AnthropicTalk
from tests.sdk.anthropic.test_anthropic_answers import HELLO
from tests.sdk.faults import TEXT, load


def test_a_cut_stream_gives_what_was_sent_and_the_transports_own_error(
    live: Live, either_claude: AnthropicTalk
) -> None:
    load(live, "disconnect")
    seen = either_claude.broken(**HELLO)
    assert seen.text.split() == ["one", "two"]
    assert "message_stop" not in seen.kinds
    # The SDK wraps it in none of its own classes.
    assert type(seen.error) is httpx2.RemoteProtocolError
    assert [row.outcome for row in live.requests()] == ["fault"]


@pytest.mark.parametrize("after", [0, 1, 4])
def test_a_cut_comes_after_exactly_so_many_chunks(
    live: Live, claude: AnthropicTalk, after: int
) -> None:
    load(live, "disconnect", after_chunks=after)
    seen = claude.broken(**HELLO)
    assert seen.kinds.count("content_block_delta") == after
    assert seen.text.split() == TEXT.split()[:after]
    assert isinstance(seen.error, httpx2.RemoteProtocolError)


def test_a_truncated_stream_raises_nothing_and_lacks_its_end(
    live: Live, claude: AnthropicTalk
) -> None:
    load(live, "truncate")
    seen = claude.stream(**HELLO)
    assert seen.text.split() == ["one", "two"] and seen.kinds[-1] == "content_block_delta"
    final = claude.helped(**HELLO).final
    assert (final.content[0].text.split(), final.stop_reason) == (["one", "two"], None)


def test_an_error_inside_the_stream_is_a_status_error(
    live: Live, either_claude: AnthropicTalk
) -> None:
    load(live, "error_event", message="The model fell over.", type="overloaded_error")
    seen = either_claude.broken(**HELLO)
    assert seen.text.split() == ["one", "two"]
    assert isinstance(seen.error, anthropic.APIStatusError)
    assert isinstance(seen.error.body, dict)
    assert seen.error.body["error"] == {
        "type": "overloaded_error",
        "message": "The model fell over.",
    }


def test_a_malformed_chunk_cannot_be_read(live: Live, claude: AnthropicTalk) -> None:
    load(live, "malformed_chunk")
    seen = claude.broken(**HELLO)
    assert seen.text.split() == ["one", "two"]
    assert isinstance(seen.error, json.JSONDecodeError)


def test_a_stall_goes_on(live: Live, claude: AnthropicTalk) -> None:
    load(live, "stall", hold_ms=50)
    assert claude.stream(**HELLO).text == TEXT
    assert claude.whole(**HELLO).content[0].text == TEXT


def test_a_stall_that_outlasts_the_clients_patience(live: Live, claude: AnthropicTalk) -> None:
    load(live, "stall", hold_ms=60_000)
    # Not so little that the pieces before it could take as long.
    claude.given["timeout"] = 1.5
    seen = claude.broken(**HELLO)
    assert seen.text.split() == ["one", "two"]
    assert isinstance(seen.error, httpx2.ReadTimeout)
    claude.given["timeout"] = 0.3
    with pytest.raises(anthropic.APITimeoutError):
        claude.whole(**HELLO)


def test_a_server_that_keeps_silent_is_a_timeout(live: Live, claude: AnthropicTalk) -> None:
    load(live, "timeout", hold_ms=60_000)
    claude.given["timeout"] = 0.3
    with pytest.raises(anthropic.APITimeoutError):
        claude.whole(**HELLO)
    assert isinstance(claude.broken(**HELLO).error, anthropic.APITimeoutError)


@pytest.mark.parametrize("fault", [{"kind": "network_error"}, {"kind": "timeout", "hold_ms": 20}])
def test_no_answer_at_all_is_a_connection_error(
    live: Live, claude: AnthropicTalk, fault: dict[str, Any]
) -> None:
    load(live, **fault)
    for ask in (claude.whole, claude.stream):
        with pytest.raises(anthropic.APIConnectionError) as raised:
            ask(**HELLO)
        assert isinstance(raised.value.__cause__, httpx2.RemoteProtocolError)


def test_an_invalid_response_cannot_be_read(live: Live, claude: AnthropicTalk) -> None:
    load(live, "invalid_response")
    with pytest.raises(json.JSONDecodeError):
        claude.whole(**HELLO)
    assert isinstance(claude.broken(**HELLO).error, json.JSONDecodeError)


def test_whole_answers_break_too(live: Live, claude: AnthropicTalk) -> None:
    load(live, "disconnect")
    with pytest.raises(anthropic.APIConnectionError):
        claude.whole(**HELLO)
    load(live, "truncate")
    with pytest.raises(json.JSONDecodeError):
        claude.whole(**HELLO)
    load(live, "error_event", message="Broken.")
    with pytest.raises(anthropic.InternalServerError, match=r"Broken\."):
        claude.whole(**HELLO)
