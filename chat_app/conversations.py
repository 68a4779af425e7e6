"""Conversations: what can be done to one, each verb whole or not done, and reading them: only ever
those of the client that asks, others do not exist for it."""

from collections import defaultdict
from typing import Any
from uuid import UUID

from django.db import transaction
from django.db.models import Exists, OuterRef, Q, QuerySet
from django.utils import timezone

from chat_app.errors import CONFLICT, NOT_FOUND, VALIDATION_ERROR, ChatError
from chat_app.models import ContextState, Conversation, Message, Sender
from mockllm_site.kit.rows import add, change, highest
from traces_app.models import ModelCall, Status, Trace

TITLE_LENGTH = 80
# A search looks at so many of a client's newest conversations.
MAX_SEARCHED = 1_000


def create(client_id: str, title: str = "") -> Conversation:
    conversation = Conversation(client_id=client_id, title=title)
    add(conversation)
    return conversation


def rename(conversation: Conversation, title: str) -> Conversation:
    conversation.title = title
    conversation.save(update_fields=["title"])
    return conversation


def delete(conversation: Conversation) -> None:
    """Delete it with its messages, traces and comparisons. A writer at that moment
    is waited for, and a later one finds it gone."""
    gone = False
    while not gone:
        with transaction.atomic():
            # The runs first: what ends one has locked it already when the answer is to be stored.
            runs = _locked(conversation.traces.all())
            _locked(Conversation.objects.filter(pk=conversation.pk))
            # While this waited, a message may have come with runs of its own: once more, with them.
            gone = runs == set(conversation.traces.values_list("pk", flat=True))
            if gone:
                conversation.delete()


def begin_with(client_id: str, text: str, **columns: Any) -> Message:
    """A new conversation of a client's, with the user's message that begins it; `columns` are
    further columns of the message, by name."""
    conversation = create(client_id, title_of(text))
    return _added(conversation, 1, sender=Sender.USER, content=text, **columns)


def _added(conversation: Conversation, number: int, **columns: Any) -> Message:
    """A new message, in the place of that number."""
    client_id = conversation.client_id
    message = Message(conversation=conversation, number=number, client_id=client_id, **columns)
    add(message)
    return message


@transaction.atomic(savepoint=False)
def append_message(
    conversation: Conversation, sender: Sender, *, content: str, **columns: Any
) -> Message:
    """Add a message at the end. The first one of a user gives an untitled conversation its title;
    any one of a user takes it out of the archive.

    `columns` are further columns of the message, by name.
    """
    key = {"id": conversation.pk}
    changed: dict[str, Any] = {"last_message_at": timezone.now()}
    if sender == Sender.USER:
        changed["archived"] = False
    # A second writer waits here, so that no two messages get one number.
    if not change(Conversation, key, changed):
        raise Conversation.DoesNotExist
    conversation.last_message_at = changed["last_message_at"]
    title = title_of(content) if sender == Sender.USER else ""
    if title and change(Conversation, {**key, "title": ""}, {"title": title}):
        conversation.title = title
    last = highest(Message, "number", {"conversation_id": conversation.pk}) or 0
    return _added(conversation, last + 1, sender=sender, content=content, **columns)


def set_feedback(message: Message, feedback: str | None, *, comment: str = "") -> Message:
    """Keep what a reader thinks of a message; None takes it back, with its comment."""
    message.feedback = feedback or ""
    message.feedback_comment = comment if feedback else ""
    message.save(update_fields=["feedback", "feedback_comment"])
    return message


def _locked(rows: QuerySet[Any]) -> set[Any]:
    """The keys of rows that nobody else writes to until the transaction ends."""
    return set(rows.select_for_update().order_by("pk").values_list("pk", flat=True))


def title_of(text: str) -> str:
    """A conversation's title: its first message in one line, cut where it is long."""
    line = " ".join(text.split())
    return line if len(line) <= TITLE_LENGTH else f"{line[: TITLE_LENGTH - 1].rstrip()}…"


def conversation_of(client_id: str, conversation_id: Any) -> Conversation:
    """A client's conversation, by its id as it came in; raises NOT_FOUND for an id of none."""
    key = as_uuid(conversation_id)
    found = key and Conversation.objects.filter(pk=key, client_id=client_id).first()
    if not found:
        raise ChatError(NOT_FOUND, "Conversation not found", field="conversation_id")
    return found


def conversations_of(
    client_id: str, limit: int | None = None, *, containing: str = ""
) -> QuerySet[Conversation]:
    """A client's conversations, the one with the newest message first; not the archived ones.

    With `containing`, only those with this text in the title or in a message, in any letter case,
    among the client's MAX_SEARCHED newest.
    """
    rows = Conversation.objects.filter(client_id=client_id, archived=False)
    if containing:
        newest = rows.values("pk")[:MAX_SEARCHED]
        said = Message.objects.filter(conversation=OuterRef("pk"), content__icontains=containing)
        rows = Conversation.objects.filter(pk__in=newest)
        rows = rows.filter(Q(title__icontains=containing) | Exists(said))
    return rows[:limit]


def message_of(client_id: str, message_id: Any) -> Message:
    """A message of one of a client's conversations; raises NOT_FOUND for an id of none."""
    key = as_uuid(message_id)
    rows = Message.objects.select_related("conversation")
    found = key and rows.filter(pk=key, conversation__client_id=client_id).first()
    if not found:
        raise ChatError(NOT_FOUND, "Message not found", field="message_id")
    return found


def messages_of(conversation: Conversation) -> QuerySet[Message]:
    """All messages of a conversation in order, also those that no prompt holds."""
    return Message.objects.filter(conversation=conversation).order_by("number")


def trace_ids_of(conversation: Conversation) -> dict[UUID, UUID]:
    """By message: the run that wrote an answer, the latest that answered a user's message."""
    found: dict[UUID, UUID] = {}
    traces = Trace.objects.filter(conversation=conversation).order_by("started_at", "-branch")
    for key, asked, answer in traces.values_list("pk", "user_message", "message"):
        found |= {message: key for message in (asked, answer) if message is not None}
    return found


def answered_by_of(conversation: Conversation) -> dict[UUID, list[str]]:
    """By run: which steps of the mock answered its model calls, in order. Runs of a comparison
    that waits for its vote are not among them: a name might tell whose answer it is."""
    calls = ModelCall.objects.filter(trace__conversation=conversation, purpose="answer")
    voted = Q(trace__branch="") | Q(trace__user_message__comparison__preference__gt="")
    found: defaultdict[UUID, list[str]] = defaultdict(list)
    rows = calls.filter(voted).exclude(answered_by="").order_by("number")
    for trace, step in rows.values_list("trace", "answered_by"):
        found[trace].append(step)
    return found


@transaction.atomic
def rewind(conversation: Conversation, message: Message) -> None:
    """Take a user's message and all that came after it out of a conversation, so that it can be
    asked anew. Runs stay as traces. Raises CONFLICT where an answer still runs, or one of those
    answers is part of a comparison."""
    _locked(Conversation.objects.filter(pk=conversation.pk))
    rows = Message.objects.filter(conversation=conversation, number__gte=message.number)
    if message.sender != Sender.USER:
        raise ChatError(VALIDATION_ERROR, "expected a message of the user", field="message_id")
    if conversation.traces.filter(status=Status.RUNNING).exists():
        raise ChatError(CONFLICT, "The conversation has an answer that still runs")
    if rows.filter(comparison__isnull=False).exists():
        raise ChatError(CONFLICT, "Answers that were compared stay; ask in a new conversation")
    rows.delete()
    ContextState.objects.filter(conversation=conversation, last__gte=message.number).delete()


def as_uuid(given: Any) -> UUID | None:
    """The id that a client means; None for what is no id at all."""
    if isinstance(given, UUID):
        return given
    try:
        return UUID(given) if isinstance(given, str) else None
    except ValueError:
        return None
