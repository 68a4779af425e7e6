"""Long bodies in the database: readable, shared, and deleted with their last row."""

import json
from typing import Any

import pytest
from django.db import DatabaseError, connection
from django.test.utils import CaptureQueriesContext
from pytest_django import Settings

from mockllm_site.kit import rows
from scenarios_app.catalog.lint import offered_tools
from scenarios_app.engine.journal_entry import CleanEntry, clean_entry
from scenarios_app.journal import Journal, table
from scenarios_app.models import BodyBlock, PastAnswers, ServedRequest, bodies
from tests.state.entries import entry, row_of
from tests.support.agent_traffic import agent_turns

MB = 1_048_576
CANARY = "canary-1f2e3d4c5b6a"
pytestmark = pytest.mark.django_db


def make_row(body: bytes, **fields: Any) -> CleanEntry:
    return clean_entry(entry(request_body=body, **fields), body_bytes=MB)


def incompressible_body(size: int, seed: int = 0) -> bytes:
    import random

    return random.Random(seed).randbytes(size // 2).hex().encode()


def stored_bytes() -> int:
    return sum(len(block.data) for block in BodyBlock.objects.all())


@pytest.fixture(autouse=True)
def new_packer() -> None:
    table._packer.forget()


def test_rows_have_the_bodies_that_were_recorded(journal: Journal) -> None:
    turns = list(agent_turns())
    stream = b'data: {"n": 1}\n\n' * 10_000
    for body in turns:
        journal.record(entry(request_body=body, response_body=(stream,)))
        assert journal.flush()
    rows = ServedRequest.objects.order_by("pk")
    assert [row.request_body.encode() for row in rows] == turns
    assert {row.response_body.encode() for row in rows} == {stream}
    assert {(row.request_text, row.response_text) for row in rows} == {("", "")}
    assert not any(row.request_cut or row.response_cut for row in rows)
    assert stored_bytes() < sum(map(len, turns)) / 20


@pytest.mark.parametrize("size", [MB, MB + 1])
def test_body_over_a_megabyte_is_cut_and_marked(journal: Journal, size: int) -> None:
    body = incompressible_body(MB) + b"x" * (size - MB)
    journal.record(entry(request_body=body, response_body=(body[:MB], body[MB:])))
    journal.flush()
    row = ServedRequest.objects.get()
    assert (row.request_bytes, row.response_bytes) == (size, size)
    assert row.request_cut is row.response_cut is (size > MB)
    assert row.request_body == row.response_body == body[:MB].decode()


def test_row_of_an_earlier_version_is_readable() -> None:
    body = '{"a": "' + "x" * 65_000
    row_of(make_row(b"{}"), request_text=body, request_cut=True).save()
    row = ServedRequest.objects.get()
    assert (row.request_body, row.parts) == (body, None)


def test_secrets_of_long_bodies_are_in_no_block(journal: Journal) -> None:
    turn = next(agent_turns()).decode()
    body = turn[:50_000] + f'","api_key":"{CANARY}","said":"my key is {CANARY}' + turn[50_000:]
    headers = {"authorization": f"Bearer {CANARY}"}
    journal.record(
        entry(
            request_headers=headers,
            request_body=body.encode(),
            response_body=(body.encode(),),
        )
    )
    journal.flush()
    row = ServedRequest.objects.get()
    texts = [bodies.decompress(bytes(block.data)).decode() for block in BodyBlock.objects.all()]
    assert texts
    assert not any(CANARY in text for text in (*texts, json.dumps(row.parts)))
    assert row.request_body == body.replace(CANARY, "***5b6a")


def test_deleted_blocks_are_stored_again() -> None:
    first, second, third = agent_turns(turns=3)
    table.insert([make_row(first)])
    ServedRequest.objects.all().delete()
    table.trim_bytes(10**9)
    assert not BodyBlock.objects.exists()
    table.insert([make_row(second)])
    table.insert([make_row(third)])
    rows = ServedRequest.objects.order_by("pk")
    assert [row.request_body.encode() for row in rows] == [second, third]


def test_rows_after_a_failed_write_refer_to_stored_blocks_only(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    first, second = agent_turns(turns=2)
    insert = rows.insert

    def fail_to_insert(model: Any, *arguments: Any, **options: Any) -> None:
        if model is ServedRequest:
            raise DatabaseError("the disk is full")
        insert(model, *arguments, **options)

    monkeypatch.setattr(rows, "insert", fail_to_insert)
    with pytest.raises(DatabaseError):
        table.insert([make_row(first)])
    monkeypatch.undo()
    assert not BodyBlock.objects.exists()
    table.insert([make_row(second)])
    assert ServedRequest.objects.get().request_body.encode() == second


def test_short_bodies_need_no_query_of_blocks() -> None:
    with CaptureQueriesContext(
        connection,
    ) as queries:
        table.insert([make_row(b"{}"), make_row(b"x" * 8_000)])
    assert not any("bodyblock" in query["sql"] for query in queries.captured_queries)


def test_oldest_rows_are_deleted_beyond_the_byte_limit() -> None:
    for number in range(10):
        body = incompressible_body(20_000, number)
        table.insert([make_row(body, path=f"/{number}", scenario="a", step_key="1")])
        table.insert([make_row(b"{}", path=f"/short-{number}")])
    limit = stored_bytes() // 2
    table.trim_bytes(limit)
    remaining_rows = list(ServedRequest.objects.order_by("pk"))
    assert [row.path for row in remaining_rows][:2] == ["/short-4", "/5"]
    assert limit * 0.8 < stored_bytes() <= limit
    assert remaining_rows[1].request_body.encode() == incompressible_body(20_000, 5)
    assert PastAnswers.objects.get().count == 5


def test_block_is_deleted_with_its_last_row() -> None:
    turns = list(agent_turns())
    for body in turns:
        table.insert([make_row(body)])
    table.trim(3)
    blocks = BodyBlock.objects.count()
    table.trim_bytes(10**9)
    rows = ServedRequest.objects.order_by("pk")
    assert [row.request_body.encode() for row in rows] == turns[-3:]
    # All turns share tools and conversation; only cache marks are new in each.
    assert BodyBlock.objects.count() == blocks
    rows.delete()
    table.trim_bytes(10**9)
    assert not BodyBlock.objects.exists()


def test_journal_stays_below_its_byte_limit(journal: Journal, settings: Settings) -> None:
    settings.MOCKLLM_JOURNAL_BYTES = 200_000
    for number in range(40):
        journal.record(entry(request_body=incompressible_body(20_000, number), path=f"/{number}"))
        assert journal.flush()
        assert stored_bytes() <= 200_000
    remaining_rows = list(ServedRequest.objects.order_by("pk"))
    assert 10 <= len(remaining_rows) < 20
    assert remaining_rows[-1].path == "/39"
    assert [row.request_bytes for row in remaining_rows] == [
        len(row.request_body) for row in remaining_rows
    ]


def test_reading_a_conversation_reads_each_block_once(journal: Journal) -> None:
    for body in agent_turns():
        journal.record(entry(request_body=body))
        journal.flush()
    rows = list(ServedRequest.objects.order_by("pk"))
    bodies._cache.clear()
    with CaptureQueriesContext(connection) as queries:
        for row in rows * 2:
            assert row.request_body
    # Each turn but the first adds a block; queries of the second round would double the number.
    assert len(queries) <= len(rows)


def test_row_that_is_deleted_while_it_is_read_has_no_text() -> None:
    table.insert([make_row(next(agent_turns()))])
    row = ServedRequest.objects.get()
    ServedRequest.objects.all().delete()
    table.trim_bytes(0)
    assert row.request_body == ""


def test_lint_knows_the_tools_of_long_bodies() -> None:
    table.insert([make_row(next(agent_turns()))])
    assert {"Tool0", "Tool17"} <= offered_tools()
