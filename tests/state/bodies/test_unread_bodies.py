"""Entries that wait in memory: large ones are written early, and memory is limited."""

from collections.abc import Iterator

import pytest
from pytest_django import Settings

from scenarios_app import journal as journal_module
from scenarios_app.journal import ENTRY_BYTES, MAX_UNREAD_ENTRY_BYTES, Journal
from scenarios_app.models import BodyBlock, ServedRequest
from tests.state.entries import entry, journal_paths
from tests.support.agent_traffic import agent_turns


@pytest.fixture
def unread(journal: Journal) -> Iterator[Journal]:
    journal.unread = True
    yield journal
    journal.flush()


def test_large_entry_is_written_with_those_before_it(unread: Journal) -> None:
    unread.record(entry(path="/small"))
    unread.record(entry(path="/large", request_body=b"x" * MAX_UNREAD_ENTRY_BYTES))
    unread.record(entry(path="/later"))
    assert unread.stop()
    assert journal_paths() == ["/small", "/large"]
    assert unread.waiting_bytes == ENTRY_BYTES


def test_entry_of_usual_size_waits_for_a_reader(unread: Journal) -> None:
    unread.record(entry(request_body=b"x" * 30_000, response_body=(b"y" * 30_000,)))
    assert unread.stop()
    assert journal_paths() == []


def test_entries_beyond_the_memory_are_dropped_and_counted(
    unread: Journal, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(journal_module, "UNREAD_BYTES", 3 * ENTRY_BYTES)
    # The thread is too slow.
    monkeypatch.setattr(unread, "start", lambda: None)
    for number in range(9):
        unread.record(entry(path=f"/{number}", session="s"))
    assert (unread.dropped, unread.dropped_rows.of("s")) == (3, 3)
    assert unread.waiting_bytes <= 6 * ENTRY_BYTES
    monkeypatch.undo()
    unread.flush()
    assert journal_paths() == [f"/{number}" for number in range(6)]


def test_ring_of_an_agents_requests_takes_a_fraction_of_their_bytes(
    unread: Journal, settings: Settings
) -> None:
    settings.MOCKLLM_JOURNAL_ROWS = 60
    turns = [body for session in range(4) for body in agent_turns(session)]
    for body in turns:
        unread.record(entry(request_body=body))
    assert unread.flush()
    rows = ServedRequest.objects.order_by("pk")
    assert [row.request_body.encode() for row in rows] == turns[-60:]
    block_bytes = sum(len(block.data) for block in BodyBlock.objects.all())
    assert block_bytes < sum(map(len, turns[-60:])) / 30
