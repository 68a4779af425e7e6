"""Reads and changes conversations, each change in one transaction. Clients see only their own
conversations; others are not found."""

import json
import re
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple, TypeVar
from uuid import UUID

from django.db import transaction
from django.db.models import Exists, F, Model, OuterRef, Q, QuerySet
from django.utils import timezone

from chat_app.errors import CONFLICT, NOT_FOUND, VALIDATION_ERROR, ChatError
from chat_app.models import ContextState, Conversation, Message, Sender
from chat_app.prompt.messages import to_stored_round
from chat_app.values.events import ToolCall
from chat_app.values.model_call import TextPart, ToolOutput
from mockllm_site.kit.rows import add, maximum, update
from traces_app.leases import end_dead_runs
from traces_app.models import ModelCall, Status, Trace

Row = TypeVar("Row", bound=Model)

MAX_TITLE_CHARS = 80
# A page of search results covers this number of a client's conversations.
MAX_SEARCHED_CONVERSATIONS = 1_000
POSITION = re.compile(r"([0-9]{1,16})-([0-9a-f]{32})")
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
UNDER_WAY = (
    "An answer in this conversation is under way. What it says can be changed once that has ended."
)


def create(client_id: str, title: str = "") -> Conversation:
    """Create a conversation of a client."""
    conversation = Conversation(client_id=client_id, title=title)
    add(conversation)
    return conversation


def rename(conversation: Conversation, title: str) -> Conversation:
    """Change a conversation's title and return it; raises NOT_FOUND if it was deleted meanwhile."""
    _update_row(conversation, title=title)
    return conversation


def delete(conversation: Conversation) -> None:
    """Delete it with its messages, traces and comparisons, after waiting for concurrent writers."""
    gone = False
    while not gone:
        with transaction.atomic():
            # Lock the runs first, like the end of a run does.
            runs = _lock_rows(conversation.traces.all())
            _lock_rows(Conversation.objects.filter(pk=conversation.pk))
            # Retry if a message with new runs was stored meanwhile.
            gone = runs == set(conversation.traces.values_list("pk", flat=True))
            if gone:
                conversation.delete()


def create_with_message(client_id: str, text: str, **columns: Any) -> Message:
    """Create a conversation and its first message, the user's, with more `columns`; return it."""
    conversation = create(client_id, title_from(text))
    return _add_message(conversation, 1, sender=Sender.USER, content=text, **columns)


def _add_message(conversation: Conversation, number: int, **columns: Any) -> Message:
    """Store a message with that number."""
    client_id = conversation.client_id
    message = Message(conversation=conversation, number=number, client_id=client_id, **columns)
    add(message)
    return message


@transaction.atomic(savepoint=False)
def append_message(
    conversation: Conversation, sender: Sender, *, content: str, **columns: Any
) -> Message:
    """Add a message at the end; `columns` are more columns of it. A user's message unarchives the
    conversation, and becomes the title of an untitled one. Raises Conversation.DoesNotExist."""
    key = {"id": conversation.pk}
    changed: dict[str, Any] = {"last_message_at": timezone.now()}
    if sender == Sender.USER:
        changed["archived"] = False
    # A second writer waits here, so that no two messages get one number.
    if not update(Conversation, key, changed):
        raise Conversation.DoesNotExist
    conversation.last_message_at = changed["last_message_at"]
    title = title_from(content) if sender == Sender.USER else ""
    if title and update(Conversation, {**key, "title": ""}, {"title": title}):
        conversation.title = title
    last = maximum(Message, "number", {"conversation_id": conversation.pk}) or 0
    return _add_message(conversation, last + 1, sender=sender, content=content, **columns)


def insert_message(message: Message, *, number: int | None = None) -> None:
    """Store a message that a person wrote, at the end or before the message of that number. Later
    ones move on by one. The conversation must be locked."""
    conversation = message.conversation
    rows = Message.objects.filter(conversation=conversation)
    last = maximum(Message, "number", {"conversation_id": conversation.pk}) or 0
    message.client_id = conversation.client_id
    message.number = min(number or last + 1, last + 1)
    message.rounds = rounds_of(message)
    message.edited_at = timezone.now()
    # One by one from the end: no two messages ever have one number.
    for pk in rows.filter(number__gte=message.number).order_by("-number").values_list("pk"):
        rows.filter(pk=pk[0]).update(number=F("number") + 1)
    message.save()
    after_edit(conversation)


def rounds_of(message: Message) -> list[dict[str, Any]]:
    """Return the rounds of an answer that a person wrote: its tool calls, then its text. Thinking
    is left out, because providers accept only their own, signed."""
    rounds = []
    if message.tool_calls:
        calls = [ToolCall(row["id"], row["name"], _json_text(row)) for row in message.tool_calls]
        results = [
            ToolOutput(row["id"], row["name"], row["result"], row["is_error"])
            for row in message.tool_calls
            if row["result"] is not None
        ]
        rounds.append(to_stored_round(calls, results))
    if message.content and message.sender == Sender.ASSISTANT:
        rounds.append(to_stored_round([TextPart(message.content)], []))
    return rounds


def _json_text(call: Mapping[str, Any]) -> str:
    arguments = call["arguments"]
    return arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False)


def after_edit(conversation: Conversation) -> None:
    """Mark a conversation whose messages a person changed, delete its summary, and give it a title
    if it has none."""
    ContextState.objects.filter(conversation=conversation).delete()
    conversation.edited_at = timezone.now()
    if not conversation.title:
        first = messages_of(conversation).filter(sender=Sender.USER).first()
        conversation.title = title_from(first.content) if first else ""
    conversation.save(update_fields=["title", "edited_at"])


def why_locked(conversation_id: Any, *, writing: bool) -> str:
    """Return why messages cannot be edited now, "" if they can. If `writing`, lock the conversation
    in the open transaction, so that no run starts meanwhile."""
    end_dead_runs(Trace.objects.filter(conversation=conversation_id))
    if writing:
        _lock_rows(Conversation.objects.filter(pk=conversation_id))
    if Trace.objects.filter(conversation=conversation_id, status=Status.RUNNING).exists():
        return UNDER_WAY
    return ""


def set_feedback(message: Message, feedback: str | None, *, comment: str = "") -> None:
    """Store feedback on a message; None removes it with its comment. Raises NOT_FOUND if the
    message was deleted meanwhile."""
    _update_row(message, feedback=feedback or "", feedback_comment=comment if feedback else "")


def _update_row(row: Conversation | Message, **columns: str) -> None:
    """Set columns of a loaded row, and store them; raises NOT_FOUND if it is not stored."""
    if not update(type(row), {"id": row.pk}, columns):
        raise _not_found(str(row._meta.model_name))
    vars(row).update(columns)


def _lock_rows(rows: QuerySet[Any]) -> set[Any]:
    """Lock rows until the end of the transaction; return their keys."""
    return set(rows.select_for_update().order_by("pk").values_list("pk", flat=True))


def title_from(text: str) -> str:
    """Return a title for a first message: one line of at most MAX_TITLE_CHARS."""
    line = " ".join(text.split())
    return line if len(line) <= MAX_TITLE_CHARS else f"{line[: MAX_TITLE_CHARS - 1].rstrip()}…"


def find_row(rows: QuerySet[Row], row_id: Any, *, name: str = "") -> Row:
    """Return the row with an id (text or UUID); raises NOT_FOUND for `name`, by default the
    model."""
    key = to_uuid(row_id)
    row = None if key is None else rows.filter(pk=key).first()
    if row is None:
        raise _not_found(name or str(rows.model._meta.model_name))
    return row


def _not_found(name: str) -> ChatError:
    return ChatError(NOT_FOUND, f"{name.capitalize()} not found", field=f"{name}_id")


def conversation_of(client_id: str, conversation_id: Any) -> Conversation:
    """Return a client's conversation by its id (text or UUID); raises NOT_FOUND."""
    return find_row(Conversation.objects.filter(client_id=client_id), conversation_id)


class ListPosition(NamedTuple):
    """A place in a client's list of conversations: before it are those with later messages, and of
    one time those with greater ids. New messages and deletions do not move it."""

    at: datetime
    key: UUID

    def __str__(self) -> str:
        """Return the position as text: microseconds since 1970, and an id."""
        return f"{(self.at - _EPOCH) // timedelta(microseconds=1)}-{self.key.hex}"


def to_position(text: str) -> ListPosition | None:
    """Return the position of its text, or None for any other text."""
    if (match := POSITION.fullmatch(text)) is None:
        return None
    return ListPosition(_EPOCH + timedelta(microseconds=int(match[1])), UUID(match[2]))


@dataclass(frozen=True, slots=True)
class ConversationPage:
    """A part of a client's list; `next` is the position of its end, None at the end of the list."""

    conversations: list[Conversation]
    next: ListPosition | None


def conversations_of(client_id: str) -> QuerySet[Conversation]:
    """Return a client's conversations without archived ones, latest message first."""
    rows = Conversation.objects.filter(client_id=client_id, archived=False)
    return rows.order_by("-last_message_at", "-pk")


def page_of(
    client_id: str, limit: int, *, containing: str = "", after: ListPosition | None = None
) -> ConversationPage:
    """Return the next `limit` of a client's conversations after a position. `containing` searches
    titles and messages, ignoring case, in the next MAX_SEARCHED_CONVERSATIONS: more can follow a
    page that is not full."""
    rows = conversations_of(client_id)
    if after is not None:
        rows = rows.filter(last_message_at__lte=after.at)
        rows = rows.exclude(last_message_at=after.at, pk__gte=after.key)
    listed = rows
    if containing:
        searched = rows.values("pk")[:MAX_SEARCHED_CONVERSATIONS]
        hits = Message.objects.filter(conversation=OuterRef("pk"), content__icontains=containing)
        listed = conversations_of(client_id).filter(pk__in=searched)
        listed = listed.filter(Q(title__icontains=containing) | Exists(hits))
    rows_and_next = list(listed[: limit + 1])
    # The last conversation of the page, or the last searched one, and one that follows it.
    end = rows_and_next[limit - 1 :]
    if containing and len(end) < 2:
        end = list(rows[MAX_SEARCHED_CONVERSATIONS - 1 : MAX_SEARCHED_CONVERSATIONS + 1])
    follow = ListPosition(end[0].last_message_at, end[0].pk) if len(end) == 2 else None
    return ConversationPage(rows_and_next[:limit], follow)


def message_of(client_id: str, message_id: Any) -> Message:
    """Return a message of a client by its id (text or UUID); raises NOT_FOUND."""
    rows = Message.objects.select_related("conversation")
    return find_row(rows.filter(conversation__client_id=client_id), message_id)


def messages_of(conversation: Conversation) -> QuerySet[Message]:
    """Return all messages of a conversation in order."""
    return Message.objects.filter(conversation=conversation).order_by("number")


def trace_ids_of(conversation: Conversation) -> dict[UUID, UUID]:
    """Return ids of traces by ids of messages; a user's message has its latest trace."""
    trace_ids: dict[UUID, UUID] = {}
    traces = Trace.objects.filter(conversation=conversation).order_by("started_at", "-branch")
    for key, question, answer in traces.values_list("pk", "user_message", "message"):
        trace_ids |= {message: key for message in (question, answer) if message is not None}
    return trace_ids


def answered_by_of(conversation: Conversation) -> dict[UUID, list[str]]:
    """Return the mock's steps that answered the model calls, by trace. Comparisons without a vote
    are left out, because a step's name could reveal the profile."""
    calls = ModelCall.objects.filter(trace__conversation=conversation, purpose="answer")
    voted = Q(trace__branch="") | Q(trace__user_message__comparison__preference__gt="")
    steps: defaultdict[UUID, list[str]] = defaultdict(list)
    rows = calls.filter(voted).exclude(answered_by="").order_by("number")
    for trace, step in rows.values_list("trace", "answered_by"):
        steps[trace].append(step)
    return steps


def rewind(conversation: Conversation, message: Message) -> None:
    """Delete a user's message and all later ones, so that it can be sent again; traces stay. Raises
    CONFLICT if an answer runs or is part of a comparison, VALIDATION_ERROR for an answer."""
    if message.sender != Sender.USER:
        raise ChatError(VALIDATION_ERROR, "expected a message of the user", field="message_id")
    end_dead_runs(conversation.traces.all())
    with transaction.atomic():
        _lock_rows(Conversation.objects.filter(pk=conversation.pk))
        if conversation.traces.filter(status=Status.RUNNING).exists():
            raise ChatError(CONFLICT, "The conversation is still being answered")
        rows = Message.objects.filter(conversation=conversation, number__gte=message.number)
        if rows.filter(comparison__isnull=False).exists():
            raise ChatError(CONFLICT, "Compared answers cannot be deleted; use a new conversation")
        rows.delete()
        ContextState.objects.filter(conversation=conversation, last__gte=message.number).delete()


def to_uuid(value: Any) -> UUID | None:
    """Return an id as a UUID, or None if it is no valid id."""
    if isinstance(value, UUID):
        return value
    try:
        return UUID(value) if isinstance(value, str) else None
    except ValueError:
        return None
