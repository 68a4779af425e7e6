"""Changes of conversations, and their visibility to clients."""

from concurrent.futures import ThreadPoolExecutor
from typing import Any
from uuid import UUID, uuid4

import pytest
from django.db import connections

from chat_app.conversations import (
    MAX_TITLE_CHARS,
    append_message,
    conversation_of,
    conversations_of,
    create,
    delete,
    message_of,
    messages_of,
    rename,
    rewind,
    set_feedback,
    title_from,
    to_uuid,
    trace_ids_of,
)
from chat_app.errors import NOT_FOUND, ChatError
from chat_app.models import Conversation, Feedback, Message, Sender
from tests.chat.api_client import UNKNOWN_ID
from tests.traces.rows import dead_owner, make_trace
from traces_app.models import Status, Trace


@pytest.mark.django_db
def test_messages_are_numbered_in_order() -> None:
    first, other = create("c"), create("c")
    for text in ("a", "b", "c"):
        append_message(first, Sender.USER, content=text)
    append_message(other, Sender.ASSISTANT, content="x")
    assert [(m.number, m.content) for m in messages_of(first)] == [(1, "a"), (2, "b"), (3, "c")]
    assert [m.number for m in messages_of(other)] == [1]


@pytest.mark.django_db(transaction=True)
def test_concurrent_messages_get_distinct_numbers() -> None:
    conversation = create("c")

    def append(text: int) -> None:
        try:
            append_message(conversation, Sender.USER, content=str(text))
        finally:
            connections.close_all()

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(append, range(40)))
    messages = list(messages_of(conversation))
    assert [message.number for message in messages] == list(range(1, 41))
    assert {message.content for message in messages} == {str(number) for number in range(40)}


@pytest.mark.django_db
def test_a_message_makes_its_conversation_the_newest() -> None:
    older, newer = create("c"), create("c")
    assert list(conversations_of("c")) == [newer, older]
    append_message(older, Sender.USER, content="x")
    assert list(conversations_of("c")) == [older, newer]
    assert older.last_message_at == Conversation.objects.get(pk=older.pk).last_message_at


@pytest.mark.django_db
def test_the_first_message_of_a_user_gives_the_title() -> None:
    conversation = create("c")
    append_message(conversation, Sender.ASSISTANT, content="Hello, I am a model")
    append_message(conversation, Sender.USER, content="The question")
    append_message(conversation, Sender.USER, content="Another one")
    assert conversation.title == "The question"
    assert Conversation.objects.get().title == "The question"


@pytest.mark.parametrize(
    ("text", "title"),
    [
        ("short", "short"),
        ("  two\n\nlines ", "two lines"),
        ("x" * MAX_TITLE_CHARS, "x" * MAX_TITLE_CHARS),
        ("x" * (MAX_TITLE_CHARS + 1), "x" * (MAX_TITLE_CHARS - 1) + "…"),
        ("word " * 40, ("word " * 16)[: MAX_TITLE_CHARS - 1].rstrip() + "…"),
    ],
)
def test_title_is_one_line_of_limited_length(text: str, title: str) -> None:
    assert title_from(text) == title
    assert len(title_from(text)) <= MAX_TITLE_CHARS


@pytest.mark.django_db
def test_rename_and_delete_change_the_stored_conversation() -> None:
    conversation = create("c", "old")
    rename(conversation, "new")
    assert Conversation.objects.get().title == "new"
    append_message(conversation, Sender.USER, content="x")
    assert conversation.title == "new"
    delete(conversation)
    assert not Conversation.objects.exists() and not Message.objects.exists()


@pytest.mark.django_db
def test_change_of_a_row_that_was_deleted_meanwhile_is_not_found() -> None:
    conversation = create("c", "old")
    message = append_message(conversation, Sender.ASSISTANT, content="x")
    Conversation.objects.all().delete()
    for change in (lambda: rename(conversation, "new"), lambda: set_feedback(message, "like")):
        with pytest.raises(ChatError) as raised:
            change()
        assert raised.value.code == NOT_FOUND


@pytest.mark.django_db
def test_conversation_of_a_dead_run_can_be_rewound() -> None:
    trace = make_trace(owner=dead_owner())
    rewind(trace.conversation, trace.user_message)
    assert not Message.objects.exists()
    trace.refresh_from_db()
    assert trace.status == Status.FAILED


@pytest.mark.django_db
def test_removing_feedback_removes_its_comment() -> None:
    message = append_message(create("c"), Sender.ASSISTANT, content="x")
    set_feedback(message, Feedback.LIKE, comment="good")
    assert (message.feedback, message.feedback_comment) == ("like", "good")
    set_feedback(message, None, comment="left over")
    message.refresh_from_db()
    assert (message.feedback, message.feedback_comment) == ("", "")


@pytest.mark.django_db
@pytest.mark.parametrize(
    "invalid_id", [None, "", "x", 7, [], b"1", "\0", UNKNOWN_ID, UUID(UNKNOWN_ID)]
)
def test_foreign_and_invalid_ids_are_not_found(invalid_id: Any) -> None:
    append_message(create("c"), Sender.USER, content="x")
    for select, message in (
        (conversation_of, "Conversation not found"),
        (message_of, "Message not found"),
    ):
        with pytest.raises(ChatError) as raised:
            select("c", invalid_id)
        assert (raised.value.code, raised.value.message) == (NOT_FOUND, message)


@pytest.mark.django_db
def test_rows_of_another_client_are_not_found() -> None:
    conversation = create("c")
    message = append_message(conversation, Sender.USER, content="x")
    assert conversation_of("c", str(conversation.pk)) == conversation
    assert message_of("c", message.pk) == message
    for client_id in ("", "C", "d", "c "):
        with pytest.raises(ChatError):
            conversation_of(client_id, conversation.pk)
        with pytest.raises(ChatError):
            message_of(client_id, message.pk)
        assert not conversations_of(client_id).exists()


@pytest.mark.django_db
def test_trace_ids_map_messages_to_their_latest_trace() -> None:
    conversation = create("c")
    question = append_message(conversation, Sender.USER, content="x")
    answer = append_message(conversation, Sender.ASSISTANT, content="y")
    Trace.objects.create(conversation=conversation, user_message=question, status="failed")
    latest = Trace.objects.create(conversation=conversation, user_message=question, message=answer)
    assert trace_ids_of(conversation) == {question.pk: latest.pk, answer.pk: latest.pk}


def test_id_is_accepted_in_every_uuid_notation() -> None:
    key = uuid4()
    assert to_uuid(str(key)) == to_uuid(str(key).upper()) == to_uuid(key.hex) == to_uuid(key) == key


@pytest.mark.django_db
def test_archived_conversation_is_unlisted_until_its_user_writes_again() -> None:
    active, archived = create("c"), create("c")
    Conversation.objects.filter(pk=archived.pk).update(archived=True)
    assert list(conversations_of("c")) == [active]
    assert conversation_of("c", archived.pk) == archived
    append_message(archived, Sender.ASSISTANT, content="an answer that was on its way")
    assert list(conversations_of("c")) == [active]
    append_message(archived, Sender.USER, content="and on")
    assert list(conversations_of("c")) == [archived, active]
