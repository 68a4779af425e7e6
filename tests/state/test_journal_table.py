"""The journal's rows as the database has them, and the entries that wait until somebody reads."""

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any
from uuid import uuid4

import pytest
from django.db import connection
from pytest_django import Settings

from mockllm_site.kit.fields import JsonField
from scenarios_app import journal as journal_module
from scenarios_app.journal import Journal, table
from scenarios_app.journal.entry import JournalEntry, Row, row_of
from scenarios_app.models import PastAnswers, ServedRequest
from tests.state.entries import entry, paths

NEAR: list[Any] = [{"scenario": "a", "step": "1", "mismatches": [{"field": "model"}]}]
JSON = [one.attname for one in ServedRequest._meta.concrete_fields if isinstance(one, JsonField)]
AT = 1_800_000_000.25
PAST = PastAnswers.objects
ODD: list[dict[str, Any]] = [
    {},
    {"query": {"key": 'a"quoted\\secret-1', "q": 'a"quoted\\secret-1'}, "attempt": 3},
    {"request_headers": {"authorization": "Bearer sk-12345678", "x": "sk-12345678, sk-12345678"}},
    {"response_headers": (("set-cookie", "a=1"), ("set-cookie", "b=2"), ("x", "\0 é 🙂"))},
    {"near_misses": NEAR, "violations": ("é", "\u2028"), "timings": {"head_ms": 0.25}},
    {"request_body": b'{"api_key": "abc", "a": "\xff\xc3"}', "response_body": (b"\xc3", b"\xa9")},
    {"request_headers": {"\0é\x7f": "half \ud83d"}, "query": {"a\u2028": "🙂\x1f"}},
    {"near_misses": [{"expected": 2**70, "actual": "half \ud83d"}], "violations": ("half \ud83d",)},
    {"request_body": "é".encode() * 40, "request_bytes": 900, "streamed": True, "matched": True},
]


def moment(at: float) -> datetime:
    return datetime.fromtimestamp(at, UTC)


def stored() -> list[dict[str, Any]]:
    """The rows as they lie in the database, without their numbers; JSON as it is read."""
    columns = ", ".join(Row._fields)
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT {columns} FROM scenarios_app_servedrequest ORDER BY id")
        found = [dict(zip(Row._fields, row, strict=True)) for row in cursor.fetchall()]
    return [row | {name: json.loads(row[name] or "null") for name in JSON} for row in found]


@pytest.mark.django_db
def test_rows_read_as_those_that_the_model_would_store() -> None:
    rows = [row_of(entry(**fields), body_bytes=50) for fields in ODD]
    table.insert(rows)
    ours = stored()
    ServedRequest.objects.all().delete()
    ServedRequest.objects.bulk_create(ServedRequest(**row._asdict()) for row in rows)
    assert ours == stored()


def test_a_row_has_every_column_but_its_number() -> None:
    columns = [field.column for field in ServedRequest._meta.concrete_fields]
    assert sorted(columns) == sorted(("id", *Row._fields))


def answered(*steps: tuple[str, str], at: float = AT) -> None:
    """One row for each of these scenarios and keys of steps."""
    entries = [entry(scenario=name, step_key=key, at=at) for name, key in steps]
    table.insert([row_of(each, body_bytes=50) for each in entries])


@pytest.mark.django_db
def test_answers_of_rows_that_leave_are_added_to_those_that_left_before() -> None:
    answered(("a", "1"), ("a", "2"), ("a", "1"), ("b", "1"), ("", ""), ("", "1"), ("a", ""))
    table.trim(0)
    answered(("b", "1"), ("b", "2"), ("a", "1"), at=AT + 60)
    answered(("b", "1"), at=AT + 120)
    answered(("a", "2"))
    table.trim(1)
    assert ServedRequest.objects.count() == 1
    assert {(past.scenario, past.step_key): (past.count, past.last) for past in PAST.all()} == {
        ("a", "1"): (3, moment(AT + 60)),
        ("a", "2"): (1, moment(AT)),
        ("b", "1"): (3, moment(AT + 120)),
        ("b", "2"): (1, moment(AT + 60)),
    }


@pytest.mark.django_db
def test_an_empty_table_has_nothing_to_delete() -> None:
    table.trim(0)
    answered(("a", "1"), ("a", "2"))
    table.trim(2)
    assert (ServedRequest.objects.count(), PAST.count()) == (2, 0)


@pytest.fixture
def unread(journal: Journal) -> Iterator[Journal]:
    journal.unread = True
    yield journal
    journal.flush()


def test_unread_entry_is_not_a_row(unread: Journal) -> None:
    unread.record(entry(path="/1"))
    unread.record(entry(path="/2"))
    assert paths() == []
    assert unread.flush()
    assert (paths(), unread.waiting_bytes) == (["/1", "/2"], 0)


def test_of_what_nobody_reads_the_newest_is_kept(unread: Journal, settings: Settings) -> None:
    settings.MOCKLLM_JOURNAL_ROWS = 3
    for number in range(5):
        unread.record(entry(path=f"/{number}"))
    assert unread.waiting_bytes == 3 * journal_module.ENTRY_BYTES
    unread.flush()
    assert paths() == ["/2", "/3", "/4"]
    assert (unread.dropped, unread.dropped_rows.of(None)) == (0, 0)


def test_unread_entries_beyond_the_memory_limit_are_written(
    unread: Journal, monkeypatch: pytest.MonkeyPatch
) -> None:
    written: list[Row] = []
    monkeypatch.setattr(journal_module, "UNREAD_BYTES", 3 * journal_module.ENTRY_BYTES)
    monkeypatch.setattr(unread, "_insert", written.extend)
    for number in range(5):
        unread.record(entry(path=f"/{number}"))
    unread.stop()
    assert [row.path for row in written] == ["/0", "/1", "/2", "/3"]


def test_stopping_leaves_unread_what_ends_with_the_process(unread: Journal) -> None:
    unread.record(entry(path="/1"))
    assert unread.stop()
    assert paths() == []
    unread.flush()
    assert paths() == ["/1"]


def test_the_table_is_trimmed_in_steps_and_before_somebody_reads(
    journal: Journal, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.MOCKLLM_JOURNAL_ROWS = 40
    trims: list[int] = []
    trim = table.trim
    monkeypatch.setattr(table, "trim", lambda most: (trims.append(most), trim(most)))
    for number in range(60):
        journal._store([journal_module._Waiting(entry(path=f"/{number}"), 1, ())])
    assert (trims, len(paths())) == ([], 60)
    journal.flush()
    journal.flush()
    assert (trims, paths()[0]) == ([], "/0")
    journal.record(entry(path="/60"))
    journal.flush()
    assert (trims, paths()[0], len(paths())) == ([40], "/21", 40)


def test_an_entry_says_nothing_to_the_garbage_collector() -> None:
    import gc

    assert not gc.is_tracked(JournalEntry(str(uuid4()), 0.0, "s", "POST", "/", 200, "fault", 1.0))


@pytest.mark.django_db
def test_value_without_json_form_is_refused() -> None:
    row = row_of(entry(near_misses=[{"expected": float("nan")}]), body_bytes=50)
    with pytest.raises(ValueError, match="Out of range float"):
        table.insert([row])
