"""Long bodies as the database has them: readable, shared, and deleted with their last row."""

import json
from typing import Any

import pytest
from django.db import DatabaseError, connection
from django.test.utils import CaptureQueriesContext
from pytest_django import Settings

from mockllm_site.kit import rows
from scenarios_app.catalog.lint import offered_tools
from scenarios_app.journal import Journal, table
from scenarios_app.journal.entry import Row, row_of
from scenarios_app.models import BodyBlock, PastAnswers, ServedRequest, bodies
from tests.state.entries import entry
from tests.support.agent_traffic import agent_turns

MB = 1_048_576
CANARY = "canary-1f2e3d4c5b6a"
pytestmark = pytest.mark.django_db


def row(body: bytes, **fields: Any) -> Row:
    return row_of(entry(request_body=body, **fields), body_bytes=MB)


def incompressible(size: int, seed: int = 0) -> bytes:
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
    stored = ServedRequest.objects.order_by("pk")
    assert [one.request_body.encode() for one in stored] == turns
    assert {one.response_body.encode() for one in stored} == {stream}
    assert {(one.request_text, one.response_text) for one in stored} == {("", "")}
    assert not any(one.request_cut or one.response_cut for one in stored)
    assert stored_bytes() < sum(map(len, turns)) / 20


@pytest.mark.parametrize("size", [MB, MB + 1])
def test_body_over_a_megabyte_is_cut_and_says_so(journal: Journal, size: int) -> None:
    body = incompressible(MB) + b"x" * (size - MB)
    journal.record(entry(request_body=body, response_body=(body[:MB], body[MB:])))
    journal.flush()
    stored = ServedRequest.objects.get()
    assert (stored.request_bytes, stored.response_bytes) == (size, size)
    assert stored.request_cut is stored.response_cut is (size > MB)
    assert stored.request_body == stored.response_body == body[:MB].decode()


def test_row_of_an_earlier_version_is_readable() -> None:
    body = '{"a": "' + "x" * 65_000
    columns = row(b"{}")._asdict() | {"request_text": body, "request_cut": True}
    ServedRequest.objects.create(**columns)
    stored = ServedRequest.objects.get()
    assert (stored.request_body, stored.parts) == (body, None)


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
    stored = ServedRequest.objects.get()
    texts = [bodies.decompress(bytes(block.data)).decode() for block in BodyBlock.objects.all()]
    assert texts
    assert not any(CANARY in text for text in (*texts, json.dumps(stored.parts)))
    assert stored.request_body == body.replace(CANARY, "***5b6a")


def test_blocks_that_are_gone_are_stored_again() -> None:
    first, second, third = agent_turns(turns=3)
    table.insert([row(first)])
    ServedRequest.objects.all().delete()
    table.trim_bytes(10**9)
    assert not BodyBlock.objects.exists()
    table.insert([row(second)])
    table.insert([row(third)])
    stored = ServedRequest.objects.order_by("pk")
    assert [one.request_body.encode() for one in stored] == [second, third]


def test_rows_after_a_failed_write_refer_to_stored_blocks_only(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    first, second = agent_turns(turns=2)
    insert = rows.insert

    def failing(model: Any, *arguments: Any, **options: Any) -> None:
        if model is ServedRequest:
            raise DatabaseError("the disk is full")
        insert(model, *arguments, **options)

    monkeypatch.setattr(rows, "insert", failing)
    with pytest.raises(DatabaseError):
        table.insert([row(first)])
    monkeypatch.undo()
    assert not BodyBlock.objects.exists()
    table.insert([row(second)])
    assert ServedRequest.objects.get().request_body.encode() == second


def test_rows_of_short_bodies_touch_no_block() -> None:
    with CaptureQueriesContext(
        connection,
    ) as queries:
        table.insert([row(b"{}"), row(b"x" * 8_000)])
    assert not any("bodyblock" in query["sql"] for query in queries.captured_queries)


def test_oldest_rows_leave_if_bodies_take_too_many_bytes() -> None:
    for number in range(10):
        body = incompressible(20_000, number)
        table.insert([row(body, path=f"/{number}", scenario="a", step_key="1")])
        table.insert([row(b"{}", path=f"/short-{number}")])
    limit = stored_bytes() // 2
    table.trim_bytes(limit)
    left = list(ServedRequest.objects.order_by("pk"))
    assert [one.path for one in left][:2] == ["/short-4", "/5"]
    assert limit * 0.8 < stored_bytes() <= limit
    assert left[1].request_body.encode() == incompressible(20_000, 5)
    assert PastAnswers.objects.get().count == 5


def test_block_stays_as_long_as_a_row_refers_to_it() -> None:
    turns = list(agent_turns())
    for body in turns:
        table.insert([row(body)])
    table.trim(3)
    blocks = BodyBlock.objects.count()
    table.trim_bytes(10**9)
    stored = ServedRequest.objects.order_by("pk")
    assert [one.request_body.encode() for one in stored] == turns[-3:]
    # All turns share tools and conversation; only cache marks are new in each.
    assert BodyBlock.objects.count() == blocks
    stored.delete()
    table.trim_bytes(10**9)
    assert not BodyBlock.objects.exists()


def test_journal_holds_its_limit_of_bytes(journal: Journal, settings: Settings) -> None:
    settings.MOCKLLM_JOURNAL_BYTES = 200_000
    for number in range(40):
        journal.record(entry(request_body=incompressible(20_000, number), path=f"/{number}"))
        assert journal.flush()
        assert stored_bytes() <= 200_000
    left = list(ServedRequest.objects.order_by("pk"))
    assert 10 <= len(left) < 20
    assert left[-1].path == "/39"
    assert [one.request_bytes for one in left] == [len(one.request_body) for one in left]


def test_reading_a_conversation_reads_each_block_once(journal: Journal) -> None:
    for body in agent_turns():
        journal.record(entry(request_body=body))
        journal.flush()
    stored = list(ServedRequest.objects.order_by("pk"))
    bodies._cache.clear()
    with CaptureQueriesContext(connection) as queries:
        for one in stored * 2:
            assert one.request_body
    # Each turn but the first adds a block; queries of the second round would double the number.
    assert len(queries) <= len(stored)


def test_row_that_is_deleted_while_it_is_read_has_no_text() -> None:
    table.insert([row(next(agent_turns()))])
    stored = ServedRequest.objects.get()
    ServedRequest.objects.all().delete()
    table.trim_bytes(0)
    assert stored.request_body == ""


def test_lint_knows_the_tools_of_long_bodies() -> None:
    table.insert([row(next(agent_turns()))])
    assert {"Tool0", "Tool17"} <= offered_tools()
