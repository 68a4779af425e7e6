"""The journal: recorded entries are readable after a flush, limited, and without secrets."""

from datetime import UTC, datetime
from pathlib import Path
from threading import Event, Thread
from typing import Any
from uuid import uuid4

import pytest
from django.core import serializers
from django.core.management import call_command
from django.db import connection
from pytest_django import Settings

from scenarios_app import journal as journal_module
from scenarios_app.journal import Journal
from scenarios_app.management.commands import flush
from scenarios_app.models import ServedRequest
from tests.state import django_cases
from tests.state.entries import entry, journal_paths
from tests.state.other_process import run_script

CANARY = "canary-1f2e3d4c5b6a"


def record_and_read(journal: Journal, **fields: Any) -> ServedRequest:
    journal.record(entry(**fields))
    assert journal.flush()
    return ServedRequest.objects.get()


def test_flush_stores_entries_recorded_before_it(journal: Journal) -> None:
    for number in range(800):
        journal.record(entry(path=f"/{number}"))
    assert journal.flush()
    assert journal_paths() == [f"/{number}" for number in range(800)]


def test_emptied_tables_get_no_earlier_rows(
    journal: Journal, monkeypatch: pytest.MonkeyPatch
) -> None:
    # As after a TransactionTestCase.
    monkeypatch.setattr(flush, "journal", journal)
    monkeypatch.setattr(journal_module, "BATCH_SECONDS", 3600)
    journal.record(entry())
    call_command("flush", interactive=False, verbosity=0)
    assert journal.flush()
    assert journal_paths() == []


def test_a_flush_does_not_wait_for_more_to_come(
    journal: Journal, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(journal_module, "BATCH_SECONDS", 3600)
    for path in ("/1", "/2"):
        journal.record(entry(path=path))
        assert journal.flush(timeout=20)
    assert journal_paths() == ["/1", "/2"]


def test_threads_record_without_losing_any(journal: Journal) -> None:
    def record_many(name: int) -> None:
        for number in range(50):
            journal.record(entry(path=f"/{name}/{number}"))

    threads = [Thread(target=record_many, args=(name,)) for name in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    journal.flush()
    assert sorted(journal_paths()) == sorted(f"/{name}/{n}" for name in range(4) for n in range(50))


def test_row_has_all_fields_of_the_entry(journal: Journal) -> None:
    uid = str(uuid4())
    near_misses: list[Any] = [{"scenario": "a", "step": "1", "mismatches": [{"field": "model"}]}]
    row = record_and_read(
        journal,
        uid=uid,
        provider="openai",
        query={"alt": "sse"},
        model="gpt-4o",
        streamed=True,
        scenario="weather",
        step="call the tool",
        step_key="k1",
        way="match",
        matched=True,
        attempt=2,
        fault="stall",
        violations=("no tool",),
        near_misses=near_misses,
        timings={"first_ms": 3.0},
        request_headers={"accept": "*/*"},
        request_body='{"a": "é"}'.encode(),
        response_headers=(("content-type", "text/event-stream"),),
        response_body=(b"data: 1\n\n", b"data: 2\n\n"),
    )
    assert str(row.uid) == uid
    assert row.at == datetime.fromtimestamp(1_800_000_000.25, UTC)
    assert (row.session, row.method, row.path) == ("default", "POST", "/v1/chat/completions")
    assert (row.provider, row.query, row.model) == ("openai", {"alt": "sse"}, "gpt-4o")
    assert (row.scenario, row.step, row.step_key) == ("weather", "call the tool", "k1")
    assert (row.way, row.matched, row.fallback, row.attempt) == ("match", True, False, 2)
    assert (row.outcome, row.fault, row.status, row.streamed) == ("complete", "stall", 200, True)
    assert (row.violations, row.near_misses) == (["no tool"], near_misses)
    assert (row.duration_ms, row.timings) == (1.5, {"first_ms": 3.0})
    assert (row.request_headers, row.request_body) == ({"accept": "*/*"}, '{"a": "é"}')
    assert (row.request_bytes, row.request_cut) == (11, False)
    assert row.response_headers == {"content-type": "text/event-stream"}
    assert row.response_body == "data: 1\n\ndata: 2\n\n"
    assert (row.response_bytes, row.response_cut) == (18, False)


def test_the_ring_keeps_the_newest_rows(journal: Journal, settings: Settings) -> None:
    settings.MOCKLLM_JOURNAL_ROWS = 5
    for number in range(12):
        journal.record(entry(path=f"/{number}"))
    journal.flush()
    assert journal_paths() == [f"/{number}" for number in range(7, 12)]


def test_no_secret_reaches_the_database(journal: Journal) -> None:
    body = f'{{"headers": {{"x-api-key": "{CANARY}"}}, "said": "my key is {CANARY}"}}'.encode()
    mismatch = {"field": "headers.authorization", "expected": "a", "actual": "Bearer short"}
    row = record_and_read(
        journal,
        session=CANARY,
        query={"key": CANARY, "q": CANARY},
        path=f"/v1/{CANARY}",
        model=CANARY,
        violations=(f"got {CANARY}",),
        near_misses=[{"mismatches": [mismatch, {"field": "model", "actual": CANARY}]}],
        request_preview=f"{CANARY} {body.decode()}",
        response_preview=f"your key is {CANARY}",
        request_headers={"authorization": f"Bearer {CANARY}", "x-copy": CANARY},
        request_body=body,
        response_headers=(("x-echo", CANARY), ("set-cookie", f"a={CANARY}")),
        response_body=(body[:40], body[40:]),
    )
    serialized_row = serializers.serialize("json", [row])
    assert CANARY not in serialized_row
    assert "Bearer short" not in serialized_row
    assert row.request_headers["authorization"] == "Bearer ***5b6a"


def test_stop_writes_remaining_entries_and_recording_can_restart(journal: Journal) -> None:
    journal.record(entry(path="/before"))
    thread = journal._thread
    assert journal.stop()
    assert thread is not None
    assert not thread.is_alive()
    assert journal_paths() == ["/before"]
    journal.record(entry(path="/after"))
    journal.flush()
    assert journal_paths() == ["/before", "/after"]


def test_journal_without_entries_can_be_flushed_and_stopped() -> None:
    journal = Journal()
    assert journal.flush()
    assert journal.stop()


def test_an_idle_journal_holds_no_connection(
    journal: Journal, monkeypatch: pytest.MonkeyPatch
) -> None:
    closed = Event()

    class WatchedConnection:
        def close(self) -> None:
            connection.close()
            closed.set()

    monkeypatch.setattr(journal_module, "connection", WatchedConnection())
    monkeypatch.setattr(journal_module, "IDLE_SECONDS", 0.01)
    journal.record(entry())
    journal.flush()
    assert closed.wait(10)


def test_rows_of_a_test_case_end_with_it(journal: Journal) -> None:
    django_cases.JournalCase.journal = journal
    assert django_cases.run_case(django_cases.JournalCase) == 2
    journal.flush()
    assert journal_paths() == []
    journal.record(entry(path="/later"))
    journal.flush()
    assert (journal_paths(), journal.failed) == (["/later"], 0)


RECORD_SCRIPT = """
from tests.state.entries import entry
from scenarios_app.journal import journal
for number in range(450):
    journal.record(entry(path=f"/{number}"))
"""
COUNT_SCRIPT = """
from scenarios_app.models import ServedRequest
print(ServedRequest.objects.count())
"""


def test_end_of_the_process_writes_remaining_entries(shared_database: str, tmp_path: Path) -> None:
    run_script(shared_database, RECORD_SCRIPT, folder=tmp_path)
    assert run_script(shared_database, COUNT_SCRIPT, folder=tmp_path) == "450\n"
