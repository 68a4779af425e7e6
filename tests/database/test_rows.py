"""Rows that are written without the ORM are those that it would write."""

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
ODD = 'é 🙂 \u2028 "quoted" \\ %s'


def stored(model: type[Model]) -> list[tuple[Any, ...]]:
    """The rows as they lie in the database."""
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT * FROM {model._meta.db_table} ORDER BY id")
        return list(cursor.fetchall())


def conversation() -> Conversation:
    return Conversation.objects.create(client_id="c")


def a_conversation() -> Conversation:
    return Conversation(client_id=ODD, title=ODD, tags=["a", ODD], archived=True, created_at=AT)


def a_message() -> Message:
    return Message(
        conversation=conversation(),
        number=3,
        sender="assistant",
        content=ODD,
        rounds=[{"parts": [{"text": ODD}], "results": []}],
        client_id="c",
        created_at=AT,
    )


def a_trace() -> Trace:
    return Trace(conversation=conversation(), started_at=AT, lease_until=None, owner="me")


def a_profile() -> ModelProfile:
    return ModelProfile(name=ODD, provider_id="p", model_id="m", mcp_servers=[ODD], temperature=0.5)


@pytest.mark.parametrize("made", [a_conversation, a_message, a_trace, a_profile])
def test_a_row_that_is_found_is_the_one_that_a_query_gives(made: Callable[[], Model]) -> None:
    row = made()
    row.save()
    found = find(type(row), {"id": row.pk})
    assert found is not None
    asked = type(row)._default_manager.get(pk=row.pk)
    columns = [field.attname for field in row._meta.concrete_fields]
    assert [getattr(found, one) for one in columns] == [getattr(asked, one) for one in columns]
    types = [[type(getattr(one, column)) for column in columns] for one in (found, asked)]
    assert types[0] == types[1]
    assert (found._state.adding, found._state.db) == (False, "default")
    row.delete()
    assert find(type(row), {"id": found.pk}) is None


@pytest.mark.parametrize("made", [a_conversation, a_message, a_trace])
def test_a_row_is_the_one_that_save_would_store(made: Callable[[], Model]) -> None:
    row = made()
    add(row)
    ours = stored(type(row))
    row.delete()
    row.pk = uuid.UUID(str(ours[0][0]))
    type(row)._default_manager.bulk_create([row])
    assert stored(type(row)) == ours


def test_added_row_can_be_saved_again() -> None:
    row = a_message()
    add(row)
    row.content = "changed"
    row.save()
    assert Message.objects.get().content == "changed"


def call(trace: Trace, **columns: Any) -> tuple[Any, ...]:
    given = {"trace_id": trace.pk, "number": 1, "provider_id": "openai", "request": {}, **columns}
    row = ModelCall(**given)
    return tuple(getattr(row, name) for name in CALL)


CALL = tuple(f.attname for f in ModelCall._meta.concrete_fields if f.attname != "id")


def test_a_row_takes_the_place_of_one_with_the_same_key() -> None:
    trace = a_trace()
    trace.conversation.save()
    trace.save()
    other = Trace.objects.create(conversation=trace.conversation)
    rows = [call(trace, code="first"), call(other, code="another's")]
    insert(ModelCall, CALL, rows, unique=("trace_id", "number"))
    again = [
        call(trace, code="second", finished_at=AT),
        call(trace, number=2, parts=[{"text": ODD}]),
    ]
    insert(ModelCall, CALL, again, unique=("trace_id", "number"))
    found = ModelCall.objects.filter(trace=trace).order_by("number")
    assert [(row.code, row.finished_at, row.parts) for row in found] == [
        ("second", AT, []),
        ("", None, [{"text": ODD}]),
    ]
    assert ModelCall.objects.get(trace=other).code == "another's"


@pytest.mark.django_db(transaction=True)
def test_all_rows_are_written_or_none() -> None:
    trace = Trace.objects.create(conversation=conversation())
    columns = ("trace_id", "seq", "type", "payload", "at")
    twice = [(trace.pk, seq, "chunk", {}, AT) for seq in (1, 2, 1)]
    with pytest.raises(DatabaseError):
        insert(TraceEvent, columns, twice)
    assert not TraceEvent.objects.exists()


def test_only_rows_that_are_meant_change() -> None:
    mine, others = (
        Trace.objects.create(conversation=conversation(), owner=owner) for owner in ("me", "other")
    )
    ended = {"status": Status.FAILED, "error": ODD, "finished_at": AT, "message_id": None}
    assert update(Trace, {"id": mine.pk, "owner": "me", "status": Status.RUNNING}, ended) == 1
    assert update(Trace, {"id": mine.pk, "owner": "me", "status": Status.RUNNING}, ended) == 0
    assert update(Trace, {"id": others.pk, "owner": "me"}, ended) == 0
    mine.refresh_from_db()
    others.refresh_from_db()
    assert (mine.status, mine.error, mine.finished_at) == (Status.FAILED, ODD, AT)
    assert (others.status, others.error) == (Status.RUNNING, "")


def test_the_highest_is_that_of_the_rows_that_are_meant() -> None:
    one, other = conversation(), conversation()
    for number, of in ((1, one), (4, one), (9, other)):
        Message.objects.create(conversation=of, number=number, sender="user", client_id="c")
    assert maximum(Message, "number", {"conversation_id": one.pk}) == 4
    assert maximum(Message, "number", {"conversation_id": uuid.uuid4()}) is None
