"""Conversations, runs and events as rows, for tests of what records and reads them."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime
from typing import Any, TypeVar

from django.utils import timezone

from chat_app.conversations import append_message, create
from chat_app.models import Sender
from mockllm_site.kit.database_thread import in_database
from traces_app.leases import LEASE, current_owner, lease_watch
from traces_app.log import LoggedEvent
from traces_app.models import Trace

T = TypeVar("T")


def make_trace(*, now: datetime | None = None, **columns: Any) -> Trace:
    """A run of this process, with a conversation and a user's message of its own."""
    now = now or timezone.now()
    conversation = create("reader")
    message = append_message(conversation, Sender.USER, content="Hello")
    given = {"owner": current_owner(), "lease_until": now + LEASE, "started_at": now, **columns}
    return Trace.objects.create(conversation=conversation, user_message=message, **given)


def dead_owner() -> str:
    """The name that a process had which is no more: another one has its number."""
    return f"{current_owner().rpartition('.')[0]}.1"


@contextmanager
def standing_still() -> Iterator[None]:
    """As if somebody had looked, for as long as a lease lasts, at leases that nobody renews."""
    lease_watch.seconds, seconds = 0.0, lease_watch.seconds
    try:
        yield
    finally:
        lease_watch.seconds = seconds


async def a_trace(**columns: Any) -> Trace:
    return await in_database(lambda: make_trace(**columns))


async def rows(read: Callable[[], T]) -> T:
    """Run a query in the thread that the code under test uses."""
    return await in_database(read)


def event(seq: int, type: str = "chunk", **payload: Any) -> LoggedEvent:
    payload = payload or {"content": f"piece {seq} "}
    return LoggedEvent(seq, type, payload, timezone.now())


def seqs(trace: Trace) -> list[int]:
    return list(trace.events.order_by("seq").values_list("seq", flat=True))
