"""Reading traces: whose they are, what belongs to them, and what may not be told yet."""

from typing import Any
from uuid import UUID

from django.db.models import Q, QuerySet

from traces_app.leases import end_dead_runs
from traces_app.models import Trace


def trace_of(trace_id: Any, client_id: str | None = None) -> Trace:
    """A trace by its id as it came in. With a client, only one of that client's conversations.

    Raises Trace.DoesNotExist for whatever is none. A run whose process died is ended first.
    """
    return _one(Q(pk=_uuid(trace_id)), client_id)


def trace_of_message(message_id: Any, client_id: str | None = None) -> Trace:
    """The trace of an answer, or the latest of those that answered a user's message."""
    key = _uuid(message_id)
    return _one(Q(message=key) | Q(user_message=key), client_id)


def traces_of(conversation_id: UUID) -> QuerySet[Trace]:
    """A conversation's runs, the latest first, none of them dead."""
    found = Trace.objects.filter(conversation=conversation_id)
    end_dead_runs(found)
    return found


def is_blind(trace: Trace) -> bool:
    """Whether it is an answer of a comparison that nobody has voted on: its model is not told."""
    if not trace.branch:
        return False
    sides = (getattr(trace, f"comparison_as_{side}", None) for side in ("a", "b"))
    comparison = next((one for one in sides if one is not None), None)
    return comparison is None or not comparison.preference


def _one(which: Q, client_id: str | None) -> Trace:
    found = Trace.objects.filter(which).order_by("-started_at", "branch")
    if client_id is not None:
        found = found.filter(conversation__client_id=client_id)
    end_dead_runs(found)
    trace = found.first()
    if trace is None:
        raise Trace.DoesNotExist
    return trace


def _uuid(given: Any) -> UUID:
    try:
        return given if isinstance(given, UUID) else UUID(str(given))
    except ValueError:
        raise Trace.DoesNotExist from None
