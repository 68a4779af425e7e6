"""The journal with a database that fails, hangs or is away: entries are kept or counted."""

from collections.abc import Callable
from threading import Event
from uuid import uuid4

import pytest
from django.db import InterfaceError, OperationalError

from scenarios_app import journal as journal_module
from scenarios_app.engine.journal_entry import CleanEntry
from scenarios_app.journal import Journal
from scenarios_app.models import ServedRequest
from tests.state.entries import entry, journal_paths


def test_entries_without_room_are_dropped_and_counted(journal: Journal) -> None:
    small_journal = Journal(waiting_bytes=3 * journal_module.ENTRY_BYTES)
    small_journal.start = lambda: None
    for number in range(5):
        small_journal.record(entry(path=f"/{number}"))
    del small_journal.start
    assert small_journal.dropped == small_journal.dropped_rows.of(None) == 2
    small_journal.stop()
    assert journal_paths() == ["/0", "/1", "/2"]
    small_journal.record(entry(path="/room again"))
    small_journal.stop()
    assert (small_journal.dropped, journal_paths()[-1]) == (2, "/room again")


def make_inserts_fail(
    monkeypatch: pytest.MonkeyPatch,
    journal: Journal,
    failure: Callable[[int, int], Exception | None],
) -> None:
    """Let inserts fail with the exception that `failure` returns for call and row count."""
    insert, calls = journal._insert, iter(range(1_000))

    def fail(rows: list[ServedRequest]) -> None:
        if error := failure(next(calls), len(rows)):
            raise error
        insert(rows)

    monkeypatch.setattr(journal, "_insert", fail)
    monkeypatch.setattr(journal_module, "RETRY_SECONDS", (0.0, 0.0, 0.0))


def test_short_database_outage_loses_no_entry(
    journal: Journal, monkeypatch: pytest.MonkeyPatch
) -> None:
    locked = OperationalError("database is locked")
    make_inserts_fail(monkeypatch, journal, lambda call, rows: locked if call < 3 else None)
    journal.record(entry())
    assert journal.flush()
    assert (len(journal_paths()), journal.failed) == (1, 0)


def test_long_database_outage_loses_no_entry(
    journal: Journal, monkeypatch: pytest.MonkeyPatch
) -> None:
    outage = OperationalError("gone")
    make_inserts_fail(monkeypatch, journal, lambda call, rows: outage if call < 500 else None)
    for number in range(50):
        journal.record(entry(path=f"/{number}"))
    assert journal.flush()
    assert (journal_paths(), journal.failed) == ([f"/{number}" for number in range(50)], 0)
    assert journal.dropped_rows.of(None) == 0


def test_connection_closed_during_a_trim_loses_no_entry(
    journal: Journal, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(_: int) -> None:
        monkeypatch.undo()
        raise InterfaceError("connection already closed")

    monkeypatch.setattr(journal_module.table, "trim", fail)
    for path in ("/1", "/2"):
        journal.record(entry(path=path))
        assert journal.flush(timeout=5)
    assert journal_paths() == ["/1", "/2"]


def test_stop_does_not_wait_for_a_database_that_is_away(
    journal: Journal, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    is_away = [True]
    outage = OperationalError("gone")
    make_inserts_fail(monkeypatch, journal, lambda call, rows: outage if is_away[0] else None)
    journal.record(entry(path="/lost", session="theirs"))
    assert journal.stop(10)
    is_away[0] = False
    journal.record(entry(path="/kept", session="ours"))
    assert journal.flush()
    assert (journal_paths(), journal.failed) == (["/kept"], 1)
    assert "journal: 1 of its rows could not be written" in caplog.text
    assert [journal.dropped_rows.of(name) for name in ("theirs", "ours", None)] == [1, 0, 1]


def test_permanent_error_is_not_retried(journal: Journal, monkeypatch: pytest.MonkeyPatch) -> None:
    make_inserts_fail(monkeypatch, journal, lambda call, rows: RuntimeError() if call < 1 else None)
    journal.record(entry(path="/lost"))
    journal.flush()
    journal.record(entry(path="/kept"))
    journal.flush()
    assert (journal_paths(), journal.failed) == (["/kept"], 1)


def test_rows_whose_commit_was_not_confirmed_are_written_once_and_not_lost(
    journal: Journal, monkeypatch: pytest.MonkeyPatch
) -> None:
    insert, losses = journal._insert, iter([True, False])

    def lose_confirmation(rows: list[CleanEntry]) -> None:
        insert(rows)
        if next(losses):
            raise OperationalError("server closed the connection unexpectedly")

    monkeypatch.setattr(journal, "_insert", lose_confirmation)
    monkeypatch.setattr(journal_module, "RETRY_SECONDS", (0.0,))
    long_body = b'{"text": "%s"}' % (b"long " * 2_000)
    journal.record(entry(path="/long", request_body=long_body))
    assert journal.flush()
    assert (journal_paths(), journal.failed, journal.dropped_rows.of(None)) == (["/long"], 0, 0)
    assert ServedRequest.objects.get().request_body == long_body.decode()


def test_refused_row_takes_no_other_with_it(journal: Journal) -> None:
    for number, uid in enumerate([uuid4(), "not a UUID", uuid4()]):
        journal.record(entry(uid=str(uid), path=f"/{number}"))
    journal.flush()
    assert (journal_paths(), journal.failed) == (["/0", "/2"], 1)


def test_a_flush_gives_up_on_a_database_that_hangs(
    journal: Journal, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    insert_continues = Event()
    monkeypatch.setattr(journal, "_insert", lambda rows: insert_continues.wait(10))
    journal.record(entry())
    assert not journal.flush(timeout=0.01)
    assert "not written after 0.01 seconds" in caplog.text
    insert_continues.set()
