"""A message on its way in: checked, then stored with its runs in one transaction, before anything
is asked of a provider."""

import copy
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final
from uuid import UUID

from django.db import IntegrityError, transaction
from django.utils import timezone

from chat_app.conversations import append_message, as_uuid, begin_with
from chat_app.errors import CONFLICT, NOT_FOUND, VALIDATION_ERROR, ChatError
from chat_app.models import Conversation, Message, ModelProfile, Sender
from chat_app.profiles import Named, check_profile, profile_named
from chat_app.runs import log_entries as mapping
from mockllm_site.kit.rows import add
from traces_app.leases import current_owner, end_dead_runs, lease_end
from traces_app.log import LoggedEvent
from traces_app.models import Status, Trace
from traces_app.recorder import insert_events

_UNSTORABLE: Final = re.compile("[\0\ud800-\udfff]")
_ID_LENGTH: Final = 200
_ATTEMPTS: Final = 3


@dataclass(frozen=True, slots=True)
class Sending:
    """What a client sends: a text, and for each branch a profile that is to answer it. The branch
    of an ordinary message is empty, those of a comparison are `a` and `b`. Without a conversation
    one is begun for `client_id`; with both, it must be that client's."""

    conversation_id: Any
    text: str
    profiles: Mapping[str, ModelProfile | Named | None]
    client_id: str | None = None
    client_message_id: str | None = None


@dataclass(frozen=True, slots=True)
class OpenedRun:
    """A run that is stored and not started yet; `started` is its first event."""

    trace_id: UUID
    conversation_id: UUID
    user_message_id: UUID
    user_message_number: int
    text: str
    client_id: str
    profile: ModelProfile
    branch: str
    started: LoggedEvent

    @property
    def session(self) -> str:
        """The mock's session for it."""
        suffix = f"-{self.branch}" if self.branch else ""
        return f"chat-{self.conversation_id}{suffix}"


@dataclass(frozen=True, slots=True)
class Begun:
    """A stored message and the runs that answer it, in the order of their branches; `runs` are
    those to be started now, none if the message was sent before."""

    conversation_id: UUID
    user_message_id: UUID
    trace_ids: tuple[UUID, ...]
    runs: tuple[OpenedRun, ...] = ()


def begin(sending: Sending, *, also: Callable[[Begun], None] = lambda _: None) -> Begun:
    """Check a message and store it with its runs; `also` stores what belongs to them in the same
    transaction. Where it raises ChatError, nothing is stored."""
    _check_message_id(sending.client_message_id)
    if key := as_uuid(sending.conversation_id):
        end_dead_runs(Trace.objects.filter(conversation_id=key))
    for _ in range(_ATTEMPTS):
        try:
            with transaction.atomic():
                return _begin(sending, also)
        except IntegrityError:
            # The same message was stored at the same moment: the next look finds it.
            if sending.client_message_id is None:
                raise
    raise ChatError(CONFLICT, "The message is being sent already", field="client_message_id")


def _begin(sending: Sending, also: Callable[[Begun], None]) -> Begun:
    conversation = _conversation(sending)
    if sent := _sent_before(sending, conversation):
        return sent
    if conversation is None and sending.conversation_id is not None:
        raise ChatError(NOT_FOUND, "Conversation not found", field="conversation_id")
    _check_text(sending.text)
    profiles = {branch: _checked(profile) for branch, profile in sending.profiles.items()}
    if conversation is not None and conversation.traces.filter(status=Status.RUNNING).exists():
        raise ChatError(
            CONFLICT, "The conversation has an answer that still runs", field="conversation_id"
        )
    message = _message(sending, conversation)
    runs = tuple(_open(message, profile, branch=branch) for branch, profile in profiles.items())
    begun = Begun(message.conversation_id, message.pk, tuple(run.trace_id for run in runs), runs)
    also(begun)
    return begun


def _message(sending: Sending, conversation: Conversation | None) -> Message:
    """The user's message, stored; the first one of a conversation where there is none yet."""
    given = sending.client_message_id
    if conversation is None:
        assert sending.client_id is not None
        return begin_with(sending.client_id, sending.text, client_message_id=given)
    return append_message(conversation, Sender.USER, content=sending.text, client_message_id=given)


def _conversation(sending: Sending) -> Conversation | None:
    """The conversation, locked: other senders wait."""
    key = as_uuid(sending.conversation_id)
    if key is None:
        return None
    rows = Conversation.objects.select_for_update(no_key=True).filter(pk=key)
    if sending.client_id is not None:
        rows = rows.filter(client_id=sending.client_id)
    return rows.first()


def _sent_before(sending: Sending, conversation: Conversation | None) -> Begun | None:
    client_id = sending.client_id or (conversation and conversation.client_id)
    if sending.client_message_id is None or not client_id:
        return None
    message = Message.objects.filter(
        client_id=client_id, client_message_id=sending.client_message_id
    ).first()
    if message is None:
        return None
    runs = dict(message.traces.order_by("branch").values_list("branch", "pk"))
    if message.content != sending.text or list(runs) != sorted(sending.profiles):
        raise ChatError(
            CONFLICT, "This client_message_id belongs to another message", field="client_message_id"
        )
    return Begun(message.conversation_id, message.pk, tuple(runs.values()))


def _open(message: Message, profile: ModelProfile, *, branch: str) -> OpenedRun:
    now = timezone.now()
    trace = Trace(
        conversation_id=message.conversation_id,
        user_message=message,
        branch=branch,
        profile_name=profile.name,
        provider_id=profile.provider_id,
        model_id=profile.model_id,
        started_at=now,
        owner=current_owner(),
        lease_until=lease_end(now),
    )
    add(trace)
    started = LoggedEvent(
        1, *mapping.started(message.conversation_id, trace.pk, message_id=message.pk), now
    )
    insert_events({trace.pk: [started]})
    return OpenedRun(
        trace_id=trace.pk,
        conversation_id=message.conversation_id,
        user_message_id=message.pk,
        user_message_number=message.number,
        text=message.content,
        client_id=message.client_id,
        # The run keeps what it began with: the caller may change the profile.
        profile=copy.copy(profile),
        branch=branch,
        started=started,
    )


def _check_text(text: str) -> None:
    if not text.strip():
        raise ChatError(VALIDATION_ERROR, "Message cannot be empty", field="user_message")
    if _UNSTORABLE.search(text):
        raise ChatError(
            VALIDATION_ERROR,
            "Message cannot hold a NUL character or half a surrogate pair",
            field="user_message",
        )


def _check_message_id(given: str | None) -> None:
    if given is not None and (len(given) > _ID_LENGTH or _UNSTORABLE.search(given)):
        raise ChatError(
            VALIDATION_ERROR,
            f"A client_message_id has at most {_ID_LENGTH} characters, and no NUL among them",
            field="client_message_id",
        )


def _checked(profile: ModelProfile | Named | None) -> ModelProfile:
    if isinstance(profile, Named):
        profile = profile_named(profile.name)
    elif profile is None or not ModelProfile.objects.filter(pk=profile.pk).exists():
        raise ChatError(NOT_FOUND, "Profile not found", field="profile.id")
    check_profile(profile)
    return profile
