"""Rows written without the ORM equal those that the ORM writes."""

import uuid
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest
from django.db import DatabaseError, connection
from django.db.models import Model

from chat_app.models import Conversation, Message, ModelProfile
from mockllm_site.kit.rows import add, find, insert, maximum, update
from traces_app.models import ModelCall, Status, Trace, TraceEvent

pytestmark = pytest.mark.django_db
AT = datetime(2026, 1, 2, 3, 4, 5, 678901, UTC)
UNUSUAL_TEXT = 'é 🙂 \u2028 "quoted" \\ %s'


def database_rows(model: type[Model]) -> list[tuple[Any, ...]]:
    """Return the rows of a table as tuples."""
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT * FROM {model._meta.db_table} ORDER BY id")
        return list(cursor.fetchall())


def create_conversation() -> Conversation:
    return Conversation.objects.create(client_id="c")


def make_conversation() -> Conversation:
    return Conversation(
        client_id=UNUSUAL_TEXT,
        title=UNUSUAL_TEXT,
        tags=["a", UNUSUAL_TEXT],
        archived=True,
        created_at=AT,
    )


def make_message() -> Message:
    return Message(
        conversation=create_conversation(),
        number=3,
        sender="assistant",
        content=UNUSUAL_TEXT,
        rounds=[{"parts": [{"text": UNUSUAL_TEXT}], "results": []}],
        client_id="c",
        created_at=AT,
    )


def make_trace() -> Trace:
    return Trace(conversation=create_conversation(), started_at=AT, lease_until=None, owner="me")


def make_profile() -> ModelProfile:
    return ModelProfile(
        name=UNUSUAL_TEXT,
        provider_id="p",
        model_id="m",
        mcp_servers=[UNUSUAL_TEXT],
        temperature=0.5,
    )


@pytest.mark.parametrize("make_row", [make_conversation, make_message, make_trace, make_profile])
def test_found_row_equals_the_one_of_a_query(make_row: Callable[[], Model]) -> None:
    row = make_row()
    row.save()
    found_row = find(type(row), {"id": row.pk})
    assert found_row is not None
    queried_row = type(row)._default_manager.get(pk=row.pk)
    columns = [field.attname for field in row._meta.concrete_fields]
    assert [getattr(found_row, column) for column in columns] == [
        getattr(queried_row, column) for column in columns
    ]
    types = [
        [type(getattr(one_row, column)) for column in columns]
        for one_row in (found_row, queried_row)
    ]
    assert types[0] == types[1]
    assert (found_row._state.adding, found_row._state.db) == (False, "default")
    row.delete()
    assert find(type(row), {"id": found_row.pk}) is None


@pytest.mark.parametrize("make_row", [make_conversation, make_message, make_trace])
def test_added_row_equals_the_one_of_bulk_create(make_row: Callable[[], Model]) -> None:
    row = make_row()
    add(row)
    key, added_rows = row.pk, database_rows(type(row))
    row.delete()
    row.pk = key
    type(row)._default_manager.bulk_create([row])
    assert database_rows(type(row)) == added_rows


def test_added_row_can_be_saved_again() -> None:
    row = make_message()
    add(row)
    row.content = "changed"
    row.save()
    assert Message.objects.get().content == "changed"


def call_row(trace: Trace, **columns: Any) -> tuple[Any, ...]:
    values = {"trace_id": trace.pk, "number": 1, "provider_id": "openai", "request": {}, **columns}
    row = ModelCall(**values)
    return tuple(getattr(row, name) for name in CALL_COLUMNS)


CALL_COLUMNS = tuple(f.attname for f in ModelCall._meta.concrete_fields if f.attname != "id")


def test_inserted_row_replaces_one_with_the_same_key() -> None:
    trace = make_trace()
    trace.conversation.save()
    trace.save()
    other_trace = Trace.objects.create(conversation=trace.conversation)
    rows = [call_row(trace, code="first"), call_row(other_trace, code="another's")]
    insert(ModelCall, CALL_COLUMNS, rows, unique=("trace_id", "number"))
    new_rows = [
        call_row(trace, code="second", finished_at=AT),
        call_row(trace, number=2, parts=[{"text": UNUSUAL_TEXT}]),
    ]
    insert(ModelCall, CALL_COLUMNS, new_rows, unique=("trace_id", "number"))
    calls = ModelCall.objects.filter(trace=trace).order_by("number")
    assert [(row.code, row.finished_at, row.parts) for row in calls] == [
        ("second", AT, []),
        ("", None, [{"text": UNUSUAL_TEXT}]),
    ]
    assert ModelCall.objects.get(trace=other_trace).code == "another's"


@pytest.mark.django_db(transaction=True)
def test_all_rows_are_written_or_none() -> None:
    trace = Trace.objects.create(conversation=create_conversation())
    columns = ("trace_id", "seq", "type", "payload", "at")
    rows_with_duplicate = [(trace.pk, seq, "chunk", {}, AT) for seq in (1, 2, 1)]
    with pytest.raises(DatabaseError):
        insert(TraceEvent, columns, rows_with_duplicate)
    assert not TraceEvent.objects.exists()


def test_update_changes_only_matching_rows() -> None:
    own_trace, other_trace = (
        Trace.objects.create(conversation=create_conversation(), owner=owner)
        for owner in ("me", "other")
    )
    values = {"status": Status.FAILED, "error": UNUSUAL_TEXT, "finished_at": AT, "message_id": None}
    assert update(Trace, {"id": own_trace.pk, "owner": "me", "status": Status.RUNNING}, values) == 1
    assert update(Trace, {"id": own_trace.pk, "owner": "me", "status": Status.RUNNING}, values) == 0
    assert update(Trace, {"id": other_trace.pk, "owner": "me"}, values) == 0
    own_trace.refresh_from_db()
    other_trace.refresh_from_db()
    assert (own_trace.status, own_trace.error, own_trace.finished_at) == (
        Status.FAILED,
        UNUSUAL_TEXT,
        AT,
    )
    assert (other_trace.status, other_trace.error) == (Status.RUNNING, "")


def test_maximum_is_that_of_matching_rows() -> None:
    first, second = create_conversation(), create_conversation()
    for number, conversation in ((1, first), (4, first), (9, second)):
        Message.objects.create(
            conversation=conversation, number=number, sender="user", client_id="c"
        )
    assert maximum(Message, "number", {"conversation_id": first.pk}) == 4
    assert maximum(Message, "number", {"conversation_id": uuid.uuid4()}) is None
