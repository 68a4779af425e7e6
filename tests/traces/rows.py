"""Helpers that store conversations, runs and events for tests of traces."""

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
    """Store a run of this process with a new conversation and user message."""
    now = now or timezone.now()
    conversation = create("reader")
    message = append_message(conversation, Sender.USER, content="Hello")
    defaults = {"owner": current_owner(), "lease_until": now + LEASE, "started_at": now, **columns}
    return Trace.objects.create(conversation=conversation, user_message=message, **defaults)


def dead_owner() -> str:
    """Return the owner name of a dead process whose id another process has now."""
    return f"{current_owner().rpartition('.')[0]}.1"


@contextmanager
def expired_leases() -> Iterator[None]:
    """Make every lease count as unchanged for longer than it lasts."""
    lease_watch.seconds, seconds = 0.0, lease_watch.seconds
    try:
        yield
    finally:
        lease_watch.seconds = seconds


async def make_trace_async(**columns: Any) -> Trace:
    return await in_database(lambda: make_trace(**columns))


async def run_query(read: Callable[[], T]) -> T:
    """Run a query in the thread that the code under test uses."""
    return await in_database(read)


def event(seq: int, type: str = "chunk", **payload: Any) -> LoggedEvent:
    payload = payload or {"content": f"piece {seq} "}
    return LoggedEvent(seq, type, payload, timezone.now())


def stored_seqs(trace: Trace) -> list[int]:
    return list(trace.events.order_by("seq").values_list("seq", flat=True))
