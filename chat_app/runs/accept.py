"""Accepts a message: checks it and stores it with its runs in one transaction, before any provider
is called."""

import copy
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias
from uuid import UUID

from django.db import IntegrityError, transaction
from django.utils import timezone

from chat_app.conversations import append_message, create_with_message, to_uuid
from chat_app.errors import CONFLICT, NOT_FOUND, VALIDATION_ERROR, ChatError
from chat_app.models import Conversation, Message, ModelProfile, Sender
from chat_app.profiles import check_profile, find_profile
from chat_app.runs import log_entries
from chat_app.values.text import UNSTORABLE
from mockllm_site.kit.rows import add
from traces_app.leases import LEASE, current_owner, end_dead_runs
from traces_app.log import LoggedEvent
from traces_app.models import Status, Trace
from traces_app.recorder import insert_events

_MAX_ID_CHARS: Final = 200
_ATTEMPTS: Final = 3

# A profile or its name; None is an unknown profile.
Profile: TypeAlias = ModelProfile | str | None


@dataclass(frozen=True, slots=True)
class IncomingMessage:
    """A message as a client sends it. `profiles` maps each branch to the profile that answers: `""`
    for an ordinary message, `a` and `b` for a comparison, whose `profile_keys` are the request's
    keys by branch, for errors. Without a conversation, one is created for `client_id`; with both,
    it must be that client's."""

    conversation_id: Any
    text: str
    profiles: Mapping[str, Profile]
    client_id: str | None = None
    client_message_id: str | None = None
    profile_keys: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class OpenedRun:
    """A run that is stored but not started yet: its row, the message to be answered, the profile
    that answers, and its first event."""

    trace: Trace
    message: Message
    profile: ModelProfile
    started: LoggedEvent

    @property
    def session(self) -> str:
        """The session of its calls to the mock."""
        return "-".join(filter(None, ["chat", str(self.trace.conversation_id), self.trace.branch]))


@dataclass(frozen=True, slots=True)
class AcceptedMessage:
    """A stored message and its runs, in the order of their branches. `runs` are those to be started
    now; empty if the message was sent before."""

    conversation_id: UUID
    user_message_id: UUID
    trace_ids: tuple[UUID, ...]
    runs: tuple[OpenedRun, ...] = ()


def accept_message(
    incoming: IncomingMessage, *, store_more: Callable[[AcceptedMessage], None] = lambda _: None
) -> AcceptedMessage:
    """Check a message and store it with its runs in one transaction. `store_more` stores related
    rows in the same transaction. Raises ChatError; nothing is stored then."""
    _check_message_id(incoming.client_message_id)
    if key := to_uuid(incoming.conversation_id):
        end_dead_runs(Trace.objects.filter(conversation_id=key))
    for _ in range(_ATTEMPTS):
        try:
            with transaction.atomic():
                return _store_message(incoming, store_more)
        except IntegrityError:
            # The same message was stored concurrently: the next attempt finds it.
            if incoming.client_message_id is None:
                raise
    raise ChatError(CONFLICT, "The message is being sent already", field="client_message_id")


def _store_message(
    incoming: IncomingMessage, store_more: Callable[[AcceptedMessage], None]
) -> AcceptedMessage:
    """Check and store a message in the caller's transaction, or return the stored one if it was
    sent before. Raises ChatError."""
    conversation = _lock_conversation(incoming)
    if sent := _find_duplicate(incoming, conversation):
        return sent
    if conversation is None and incoming.conversation_id is not None:
        raise ChatError(NOT_FOUND, "Conversation not found", field="conversation_id")
    _check_text(incoming.text)
    # In the request's order: with two wrong profiles, the error names the first.
    branches = sorted(incoming.profiles, key=lambda branch: incoming.profile_keys.get(branch, ""))
    profiles = {branch: _find_profile_of(incoming, branch) for branch in branches}
    if conversation is not None and conversation.traces.filter(status=Status.RUNNING).exists():
        raise ChatError(
            CONFLICT, "The conversation is still being answered", field="conversation_id"
        )
    message = _store_user_message(incoming, conversation)
    runs = tuple(
        _store_run(message, profiles[branch], branch=branch) for branch in incoming.profiles
    )
    trace_ids = tuple(run.trace.pk for run in runs)
    accepted = AcceptedMessage(message.conversation_id, message.pk, trace_ids, runs)
    store_more(accepted)
    return accepted


def _store_user_message(incoming: IncomingMessage, conversation: Conversation | None) -> Message:
    """Store the user's message, in a new conversation if there is none."""
    text, columns = incoming.text, {"client_message_id": incoming.client_message_id}
    if conversation is None:
        assert incoming.client_id is not None
        return create_with_message(incoming.client_id, text, **columns)
    return append_message(conversation, Sender.USER, content=text, **columns)


def _lock_conversation(incoming: IncomingMessage) -> Conversation | None:
    """Return the client's conversation, locked against other senders, or None if none is found."""
    key = to_uuid(incoming.conversation_id)
    if key is None:
        return None
    rows = Conversation.objects.select_for_update(no_key=True).filter(pk=key)
    if incoming.client_id is not None:
        rows = rows.filter(client_id=incoming.client_id)
    return rows.first()


def _find_duplicate(
    incoming: IncomingMessage, conversation: Conversation | None
) -> AcceptedMessage | None:
    """Return the message stored under this client_message_id, or None; raises CONFLICT if it
    differs."""
    client_id = incoming.client_id or (conversation and conversation.client_id)
    if incoming.client_message_id is None or not client_id:
        return None
    message = Message.objects.filter(
        client_id=client_id, client_message_id=incoming.client_message_id
    ).first()
    if message is None:
        return None
    runs = dict(message.traces.order_by("branch").values_list("branch", "pk"))
    if message.content != incoming.text or list(runs) != sorted(incoming.profiles):
        raise ChatError(
            CONFLICT, "This client_message_id belongs to another message", field="client_message_id"
        )
    return AcceptedMessage(message.conversation_id, message.pk, tuple(runs.values()))


def _store_run(message: Message, profile: ModelProfile, *, branch: str) -> OpenedRun:
    """Store a run of this process, with its first event; it is not started."""
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
        lease_until=now + LEASE,
    )
    add(trace)
    started = LoggedEvent(
        1, *log_entries.started_entry(message.conversation_id, trace.pk, message_id=message.pk), now
    )
    insert_events({trace.pk: [started]})
    # A copy, because the caller may change the profile during the run.
    return OpenedRun(trace, message, copy.copy(profile), started)


def _check_text(text: str) -> None:
    """Raise VALIDATION_ERROR for a blank text, and for one with NUL or a lone surrogate."""
    if not text.strip():
        raise ChatError(VALIDATION_ERROR, "Message cannot be empty", field="user_message")
    if UNSTORABLE.search(text):
        raise ChatError(
            VALIDATION_ERROR,
            "Message cannot hold a NUL character or half a surrogate pair",
            field="user_message",
        )


def _check_message_id(client_message_id: str | None) -> None:
    """Raise VALIDATION_ERROR for an id that is too long, or has NUL or a lone surrogate."""
    if client_message_id is not None and (
        len(client_message_id) > _MAX_ID_CHARS or UNSTORABLE.search(client_message_id)
    ):
        raise ChatError(
            VALIDATION_ERROR,
            f"client_message_id: at most {_MAX_ID_CHARS} characters, without NUL",
            field="client_message_id",
        )


def _find_profile_of(incoming: IncomingMessage, branch: str) -> ModelProfile:
    """Return the stored profile of a branch. An error of a comparison names key and profile."""
    profile, key = incoming.profiles[branch], incoming.profile_keys.get(branch)
    try:
        return _find_usable_profile(profile)
    except ChatError as error:
        if key is None:
            raise
        name = profile.name if isinstance(profile, ModelProfile) else profile
        path = (error.field or "profile").replace("profile", key, 1)
        raise ChatError(error.code, f"{key} “{name}”: {error.message}", field=path) from None


def _find_usable_profile(profile: Profile) -> ModelProfile:
    """Return the stored profile; raises NOT_FOUND, and VALIDATION_ERROR for an unusable one."""
    if isinstance(profile, str):
        profile = find_profile(profile)
    elif profile is None or not ModelProfile.objects.filter(pk=profile.pk).exists():
        raise ChatError(NOT_FOUND, "Profile not found", field="profile.id")
    check_profile(profile)
    return profile
