"""Rows of the journal in the database, and entries that wait until a reader needs them."""

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import pytest
from django.db import connection
from django.db.models import CharField
from pytest_django import Settings

from mockllm_site.kit.fields import JsonField
from scenarios_app import journal as journal_module
from scenarios_app.engine.journal_entry import COLUMNS, FIELD_RULES, CleanEntry, clean_entry
from scenarios_app.journal import Journal, table
from scenarios_app.models import PastAnswers, ServedRequest
from tests.state.entries import entry, journal_paths, row_of

NEAR_MISSES: list[Any] = [{"scenario": "a", "step": "1", "mismatches": [{"field": "model"}]}]
JSON_COLUMNS = [
    field.attname for field in ServedRequest._meta.concrete_fields if isinstance(field, JsonField)
]
AT = 1_800_000_000.25
PAST_ANSWERS = PastAnswers.objects
UNUSUAL_FIELDS: list[dict[str, Any]] = [
    {},
    {"query": {"key": 'a"quoted\\secret-1', "q": 'a"quoted\\secret-1'}, "attempt": 3},
    {"request_headers": {"authorization": "Bearer sk-12345678", "x": "sk-12345678, sk-12345678"}},
    {"response_headers": (("set-cookie", "a=1"), ("set-cookie", "b=2"), ("x", "\0 é 🙂"))},
    {"near_misses": NEAR_MISSES, "violations": ("é", "\u2028"), "timings": {"head_ms": 0.25}},
    {"request_body": b'{"api_key": "abc", "a": "\xff\xc3"}', "response_body": (b"\xc3", b"\xa9")},
    {"request_headers": {"\0é\x7f": "half \ud83d"}, "query": {"a\u2028": "🙂\x1f"}},
    {"near_misses": [{"expected": 2**70, "actual": "half \ud83d"}], "violations": ("half \ud83d",)},
    {"request_body": "é".encode() * 40, "request_bytes": 900, "streamed": True, "matched": True},
]


def to_datetime(at: float) -> datetime:
    return datetime.fromtimestamp(at, UTC)


def database_rows() -> list[dict[str, Any]]:
    """Return the rows of the table without their ids, with JSON decoded."""
    fields = [ServedRequest._meta.get_field(name) for name in COLUMNS]
    columns = ", ".join(field.column for field in fields)
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT {columns} FROM scenarios_app_servedrequest ORDER BY id")
        rows = [dict(zip(COLUMNS, row, strict=True)) for row in cursor.fetchall()]
    return [row | {name: json.loads(row[name] or "null") for name in JSON_COLUMNS} for row in rows]


@pytest.mark.django_db
def test_inserted_rows_equal_those_of_the_model() -> None:
    rows = [clean_entry(entry(**fields), body_bytes=50) for fields in UNUSUAL_FIELDS]
    table.insert(rows)
    inserted_rows = database_rows()
    ServedRequest.objects.all().delete()
    ServedRequest.objects.bulk_create(row_of(row) for row in rows)
    assert inserted_rows == database_rows()


def test_model_has_a_column_for_each_stored_field_of_an_entry() -> None:
    columns = {field.name: field for field in ServedRequest._meta.concrete_fields}
    assert columns.keys() == {"id", *COLUMNS}
    for column, name in COLUMNS.items():
        # A text that is cut for its column fits it; a longer one would be refused by PostgreSQL.
        if isinstance(columns[column], CharField) and (max_chars := FIELD_RULES[name].max_chars):
            assert columns[column].max_length == max_chars


def insert_answers(*steps: tuple[str, str], at: float = AT) -> None:
    """Insert a row for each pair of scenario and step key."""
    entries = [entry(scenario=name, step_key=key, at=at) for name, key in steps]
    table.insert([clean_entry(entry_, body_bytes=50) for entry_ in entries])


@pytest.mark.django_db
def test_answers_of_deleted_rows_are_added_to_past_answers() -> None:
    insert_answers(("a", "1"), ("a", "2"), ("a", "1"), ("b", "1"), ("", ""), ("", "1"), ("a", ""))
    table.trim(0)
    insert_answers(("b", "1"), ("b", "2"), ("a", "1"), at=AT + 60)
    insert_answers(("b", "1"), at=AT + 120)
    insert_answers(("a", "2"))
    table.trim(1)
    assert ServedRequest.objects.count() == 1
    assert {
        (past.scenario, past.step_key): (past.count, past.last) for past in PAST_ANSWERS.all()
    } == {
        ("a", "1"): (3, to_datetime(AT + 60)),
        ("a", "2"): (1, to_datetime(AT)),
        ("b", "1"): (3, to_datetime(AT + 120)),
        ("b", "2"): (1, to_datetime(AT + 60)),
    }


@pytest.mark.django_db
def test_an_empty_table_has_nothing_to_delete() -> None:
    table.trim(0)
    insert_answers(("a", "1"), ("a", "2"))
    table.trim(2)
    assert (ServedRequest.objects.count(), PAST_ANSWERS.count()) == (2, 0)


@pytest.fixture
def unread(journal: Journal) -> Iterator[Journal]:
    journal.unread = True
    yield journal
    journal.flush()


def test_unread_entry_is_not_a_row(unread: Journal) -> None:
    unread.record(entry(path="/1"))
    unread.record(entry(path="/2"))
    assert journal_paths() == []
    assert unread.flush()
    assert (journal_paths(), unread.waiting_bytes) == (["/1", "/2"], 0)


def test_newest_unread_entries_are_kept(unread: Journal, settings: Settings) -> None:
    settings.MOCKLLM_JOURNAL_ROWS = 3
    for number in range(5):
        unread.record(entry(path=f"/{number}"))
    assert unread.waiting_bytes == 3 * journal_module.ENTRY_BYTES
    unread.flush()
    assert journal_paths() == ["/2", "/3", "/4"]
    assert (unread.dropped, unread.dropped_rows.of(None)) == (0, 0)


def test_unread_entries_beyond_the_memory_limit_are_written(
    unread: Journal, monkeypatch: pytest.MonkeyPatch
) -> None:
    inserted_rows: list[CleanEntry] = []
    monkeypatch.setattr(journal_module, "UNREAD_BYTES", 3 * journal_module.ENTRY_BYTES)
    monkeypatch.setattr(unread, "_insert", inserted_rows.extend)
    for number in range(5):
        unread.record(entry(path=f"/{number}"))
    unread.stop()
    assert [row.path for row in inserted_rows] == ["/0", "/1", "/2", "/3"]


def test_stop_does_not_write_unread_entries(unread: Journal) -> None:
    unread.record(entry(path="/1"))
    assert unread.stop()
    assert journal_paths() == []
    unread.flush()
    assert journal_paths() == ["/1"]


def test_table_is_trimmed_in_steps_and_on_flush(
    journal: Journal, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.MOCKLLM_JOURNAL_ROWS = 40
    trims: list[int] = []
    trim = table.trim
    monkeypatch.setattr(table, "trim", lambda rows: (trims.append(rows), trim(rows)))
    for number in range(60):
        journal._store([journal_module._Waiting(entry(path=f"/{number}"), 1, ())])
    assert (trims, len(journal_paths())) == ([], 60)
    journal.flush()
    journal.flush()
    assert (trims, journal_paths()[0]) == ([], "/0")
    journal.record(entry(path="/60"))
    journal.flush()
    assert (trims, journal_paths()[0], len(journal_paths())) == ([40], "/21", 40)


def test_entry_is_not_tracked_by_the_garbage_collector() -> None:
    import gc

    assert not gc.is_tracked(entry())


@pytest.mark.django_db
def test_value_that_is_no_json_is_rejected() -> None:
    row = clean_entry(entry(near_misses=[{"expected": float("nan")}]), body_bytes=50)
    with pytest.raises(ValueError, match="Out of range float"):
        table.insert([row])
