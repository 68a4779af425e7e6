"""Broken answers of each provider give one error after the text received so far."""

import asyncio
import gc
import inspect
import logging
from typing import Any

import pytest

from chat_app.clients import failures
from chat_app.errors import NETWORK_ERROR, RATE_LIMITED, SERVICE_UNAVAILABLE, UNAUTHORIZED
from tests.chat.mock_provider import FAMILIES, MockProvider, ReceivedAnswer, receive, request
from tests.serving.pipelines import scenario
from tests.support.fake_clock import fast_clock

TEXT = "one two three four five"
CONNECTION_FAILED = (NETWORK_ERROR, "Connection failed")
UNREADABLE = (SERVICE_UNAVAILABLE, "Failed to parse response")

pytestmark = pytest.mark.parametrize("family", FAMILIES)


def load_fault_in_answer(mock_provider: MockProvider, kind: str, **fault: Any) -> None:
    """Load an answer of five chunks with a fault after two of them."""
    fault_spec = {"kind": kind, "after_chunks": 2, **fault}
    produce = {"text": TEXT, "pacing": {"words_per_chunk": 1}, "fault": fault_spec}
    mock_provider.live.load(scenario("one", {"consume": False, "produce": produce}))


def load_fault(mock_provider: MockProvider, kind: str, **fault: Any) -> None:
    """Load a fault without an answer."""
    mock_provider.live.load(
        scenario("one", {"consume": False, "produce": {"fault": {"kind": kind, **fault}}})
    )


def test_disconnect_after_two_chunks_is_a_connection_failure(
    mock_provider: MockProvider, family: str
) -> None:
    load_fault_in_answer(mock_provider, "disconnect")
    received = mock_provider.call(family)
    assert (received.text.split(), received.failure) == (["one", "two"], CONNECTION_FAILED)
    assert [row.outcome for row in mock_provider.journal_rows()] == ["fault"]


def test_stream_without_end_marker_is_unreadable(mock_provider: MockProvider, family: str) -> None:
    load_fault_in_answer(mock_provider, "truncate")
    received = mock_provider.call(family)
    assert (received.text.split(), received.failure) == (["one", "two"], UNREADABLE)


def test_complete_text_without_end_marker_is_unreadable(
    mock_provider: MockProvider, family: str
) -> None:
    load_fault_in_answer(mock_provider, "truncate", after_chunks=5)
    received = mock_provider.call(family)
    assert (received.text, received.failure) == (TEXT, UNREADABLE)


def test_empty_stream_is_unreadable(mock_provider: MockProvider, family: str) -> None:
    load_fault_in_answer(mock_provider, "truncate", after_chunks=0)
    received = mock_provider.call(family)
    assert (received.text, received.failure) == ("", UNREADABLE)


def test_malformed_chunk_is_unreadable(mock_provider: MockProvider, family: str) -> None:
    load_fault_in_answer(mock_provider, "malformed_chunk")
    received = mock_provider.call(family)
    assert (received.text.split(), received.failure) == (["one", "two"], UNREADABLE)


def test_invalid_response_is_unreadable(mock_provider: MockProvider, family: str) -> None:
    load_fault(mock_provider, "invalid_response")
    assert mock_provider.call(family).failure == UNREADABLE


@pytest.mark.parametrize("kind", ["malformed_chunk", "truncate", "error_event", "disconnect"])
def test_error_leaves_no_generator_to_garbage_collection(
    mock_provider: MockProvider, family: str, kind: str
) -> None:
    """A collection in another thread finalizes a chain of generators while their loop runs them."""
    load_fault_in_answer(mock_provider, kind)

    async def receive_and_find_open() -> list[str]:
        client = mock_provider.client(family)
        received = await receive(client, request())
        assert received.error is not None
        # Each of the generators is closed in a task of its own, the outer ones first.
        for _ in range(100):
            await asyncio.sleep(0)
        left = [generator for generator in gc.get_objects() if inspect.isasyncgen(generator)]
        await client.aclose()
        return [generator.__qualname__ for generator in left if generator.ag_frame is not None]

    gc.collect()
    gc.disable()
    try:
        assert asyncio.run(receive_and_find_open()) == []
    finally:
        gc.enable()


def test_error_event_is_reported_after_the_text(mock_provider: MockProvider, family: str) -> None:
    load_fault_in_answer(mock_provider, "error_event", message="The model fell over.")
    received = mock_provider.call(family)
    assert received.text.split() == ["one", "two"]
    assert received.failure == (SERVICE_UNAVAILABLE, "The model fell over.")


def test_stall_beyond_the_read_timeout_is_a_connection_failure(
    mock_provider: MockProvider, family: str
) -> None:
    load_fault_in_answer(mock_provider, "stall", hold_ms=600_000)
    received = ReceivedAnswer()

    async def read_stream() -> None:
        client = mock_provider.client(family)
        async with fast_clock(lambda: received.text.split() == ["one", "two"]):
            await receive(client, request(), received=received)
        await client.aclose()

    asyncio.run(read_stream())
    assert (received.text.split(), received.failure) == (["one", "two"], CONNECTION_FAILED)


def test_missing_response_beyond_the_read_timeout_is_a_connection_failure(
    mock_provider: MockProvider, family: str
) -> None:
    mock_provider.settings.CHAT_READ_SECONDS = 0.1
    load_fault(mock_provider, "timeout", hold_ms=60_000)
    assert mock_provider.call(family).failure == CONNECTION_FAILED


def test_stall_within_the_read_timeout_is_no_error(
    mock_provider: MockProvider, family: str
) -> None:
    load_fault_in_answer(mock_provider, "stall", hold_ms=50)
    received = mock_provider.call(family)
    assert (received.text, received.finished.reason) == (TEXT, "stop")


def test_closed_connection_is_a_connection_failure(
    mock_provider: MockProvider, family: str
) -> None:
    load_fault(mock_provider, "network_error")
    assert mock_provider.call(family).failure == CONNECTION_FAILED


def test_rejected_key_is_unauthorized(mock_provider: MockProvider, family: str) -> None:
    load_fault(mock_provider, "http", status=401, message="Incorrect API key provided.")
    assert mock_provider.call(family).failure == (UNAUTHORIZED, "Invalid API key")


def test_rate_limit_is_not_retried(mock_provider: MockProvider, family: str) -> None:
    load_fault(mock_provider, "rate_limit", retry_after_ms=1)
    assert mock_provider.call(family).failure == (RATE_LIMITED, "Rate limited, try again")
    assert len(mock_provider.journal_rows()) == 1


@pytest.mark.parametrize("status", [400, 403, 404, 413, 422, 500, 503, 529])
def test_other_errors_have_the_providers_message(
    mock_provider: MockProvider, family: str, status: int
) -> None:
    load_fault(mock_provider, "http", status=status, message="The model is on strike.")
    assert mock_provider.call(family).failure == (SERVICE_UNAVAILABLE, "The model is on strike.")
    assert len(mock_provider.journal_rows()) == 1


def test_an_unmatched_request_names_the_scenarios(mock_provider: MockProvider, family: str) -> None:
    mock_provider.live.load(
        scenario("one", {"match": {"model": "another"}, "produce": {"text": "no"}})
    )
    code, message = mock_provider.call(family).failure
    assert code == SERVICE_UNAVAILABLE
    assert message.startswith("no_scenario_matched: ") and "one" in message


def test_details_hidden_from_clients_are_logged(
    mock_provider: MockProvider, family: str, caplog: pytest.LogCaptureFixture
) -> None:
    load_fault_in_answer(mock_provider, "disconnect")
    with caplog.at_level(logging.WARNING, logger=failures.__name__):
        mock_provider.call(family)
    [record] = [r for r in caplog.records if r.name == failures.__name__]
    assert "peer closed connection" in record.getMessage()
