"""Broken answers of each provider, over a socket and in process: one clear error, nothing lost."""

import asyncio
import logging
from typing import Any

import pytest

from chat_app.clients import failures
from chat_app.errors import NETWORK_ERROR, RATE_LIMITED, SERVICE_UNAVAILABLE, UNAUTHORIZED
from tests.chat.ways import FAMILIES, ReceivedAnswer, Way, receive, request
from tests.serving.pipelines import scenario
from tests.support.fake_clock import fast_clock

TEXT = "one two three four five"
FAILED = (NETWORK_ERROR, "Connection failed")
UNREADABLE = (SERVICE_UNAVAILABLE, "Failed to parse response")

pytestmark = pytest.mark.parametrize("family", FAMILIES)


def load(way: Way, kind: str, **fault: Any) -> None:
    """An answer of five chunks, struck by a fault after two of them."""
    struck = {"kind": kind, "after_chunks": 2, **fault}
    produce = {"text": TEXT, "pacing": {"words_per_chunk": 1}, "fault": struck}
    way.live.load(scenario("one", {"consume": False, "produce": produce}))


def load_alone(way: Way, kind: str, **fault: Any) -> None:
    """A fault in the place of an answer."""
    way.live.load(
        scenario("one", {"consume": False, "produce": {"fault": {"kind": kind, **fault}}})
    )


def test_a_cut_after_two_chunks(way: Way, family: str) -> None:
    load(way, "disconnect")
    received = way.ask(family)
    assert (received.text.split(), received.failed) == (["one", "two"], FAILED)
    assert [row.outcome for row in way.rows()] == ["fault"]


def test_a_clean_end_without_the_terminal_marker(way: Way, family: str) -> None:
    load(way, "truncate")
    received = way.ask(family)
    assert (received.text.split(), received.failed) == (["one", "two"], UNREADABLE)


def test_an_end_that_lacks_nothing_but_the_marker(way: Way, family: str) -> None:
    load(way, "truncate", after_chunks=5)
    received = way.ask(family)
    assert (received.text, received.failed) == (TEXT, UNREADABLE)


def test_an_end_before_anything_was_said(way: Way, family: str) -> None:
    load(way, "truncate", after_chunks=0)
    received = way.ask(family)
    assert (received.text, received.failed) == ("", UNREADABLE)


def test_json_that_is_none(way: Way, family: str) -> None:
    load(way, "malformed_chunk")
    received = way.ask(family)
    assert (received.text.split(), received.failed) == (["one", "two"], UNREADABLE)


def test_an_answer_that_is_none(way: Way, family: str) -> None:
    load_alone(way, "invalid_response")
    assert way.ask(family).failed == UNREADABLE


def test_an_error_inside_the_stream(way: Way, family: str) -> None:
    load(way, "error_event", message="The model fell over.")
    received = way.ask(family)
    assert received.text.split() == ["one", "two"]
    assert received.failed == (SERVICE_UNAVAILABLE, "The model fell over.")


def test_silence_for_longer_than_the_limit(way: Way, family: str) -> None:
    load(way, "stall", hold_ms=600_000)
    received = ReceivedAnswer()

    async def read_stream() -> None:
        client = way.client(family)
        async with fast_clock(lambda: received.text.split() == ["one", "two"]):
            await receive(client, request(), received=received)
        await client.aclose()

    asyncio.run(read_stream())
    assert (received.text.split(), received.failed) == (["one", "two"], FAILED)


def test_no_answer_for_longer_than_the_limit(way: Way, family: str) -> None:
    way.settings.CHAT_READ_SECONDS = 0.1
    load_alone(way, "timeout", hold_ms=60_000)
    assert way.ask(family).failed == FAILED


def test_a_silence_within_the_limit_is_none(way: Way, family: str) -> None:
    load(way, "stall", hold_ms=50)
    received = way.ask(family)
    assert (received.text, received.finished.reason) == (TEXT, "stop")


def test_a_connection_that_ends_without_an_answer(way: Way, family: str) -> None:
    load_alone(way, "network_error")
    assert way.ask(family).failed == FAILED


def test_a_refused_key(way: Way, family: str) -> None:
    load_alone(way, "http", status=401, message="Incorrect API key provided.")
    assert way.ask(family).failed == (UNAUTHORIZED, "Invalid API key")


def test_a_rate_limit_is_not_waited_for(way: Way, family: str) -> None:
    load_alone(way, "rate_limit", retry_after_ms=1)
    assert way.ask(family).failed == (RATE_LIMITED, "Rate limited, try again")
    assert len(way.rows()) == 1


@pytest.mark.parametrize("status", [400, 403, 404, 413, 422, 500, 503, 529])
def test_other_errors_are_told_in_the_providers_words(way: Way, family: str, status: int) -> None:
    load_alone(way, "http", status=status, message="The model is on strike.")
    assert way.ask(family).failed == (SERVICE_UNAVAILABLE, "The model is on strike.")
    assert len(way.rows()) == 1


def test_an_unmatched_request_names_the_scenarios(way: Way, family: str) -> None:
    way.live.load(scenario("one", {"match": {"model": "another"}, "produce": {"text": "no"}}))
    code, message = way.ask(family).failed
    assert code == SERVICE_UNAVAILABLE
    assert message.startswith("no_scenario_matched: ") and "one" in message


def test_details_hidden_from_clients_are_logged(
    way: Way, family: str, caplog: pytest.LogCaptureFixture
) -> None:
    load(way, "disconnect")
    with caplog.at_level(logging.WARNING, logger=failures.__name__):
        way.ask(family)
    [record] = [r for r in caplog.records if r.name == failures.__name__]
    assert "peer closed connection" in record.getMessage()
