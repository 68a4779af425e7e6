"""Reading traces: whose they are, what may not be told yet, and each as plain JSON, with everything
that is known of its run."""

from collections.abc import Sequence
from dataclasses import asdict
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db.models import Q, QuerySet

from traces_app.leases import end_dead_runs
from traces_app.models import ModelCall, Status, Trace, TraceEvent
from traces_app.reports import Report, report_in


def trace_of(trace_id: Any, client_id: str | None = None) -> Trace:
    """A trace by its id as it came in. With a client, only one of that client's conversations.

    Raises Trace.DoesNotExist for an id of none. A run whose process died is ended first.
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


def record_of(trace: Trace) -> dict[str, Any]:
    """The whole record. An answer that is still to be voted on names no profile and no model."""
    blind = is_blind(trace)
    events = [_event(row) for row in trace.events.order_by("seq")]
    calls = list(trace.calls.order_by("number"))
    report = final_report(trace, calls)
    return {
        "trace_id": str(trace.pk),
        "conversation_id": str(trace.conversation_id),
        "message_id": _id(trace.message_id),
        "user_message_id": _id(trace.user_message_id),
        "branch": trace.branch or None,
        "status": trace.status,
        "error": {"code": trace.code, "message": trace.error} if trace.code else None,
        "profile": None if blind else trace.profile_name or None,
        "provider": None if blind else trace.provider_id or None,
        "model": None if blind else trace.model_id or None,
        "started_at": trace.started_at,
        "first_token_at": trace.first_token_at,
        "finished_at": trace.finished_at,
        "totals": {
            "events": len(events),
            "model_calls": trace.model_calls,
            "tool_calls": trace.tool_calls,
            "input_tokens": trace.input_tokens,
            "output_tokens": trace.output_tokens,
            "tokens_estimated": trace.tokens_estimated,
            "duration_ms": milliseconds(trace.started_at, trace.finished_at),
            "first_token_ms": milliseconds(trace.started_at, trace.first_token_at),
        },
        "events": events,
        "model_calls": [_call(row, blind=blind) for row in calls],
        "report": None if report is None else asdict(report),
    }


def final_report(trace: Trace, calls: Sequence[ModelCall]) -> Report | None:
    """The report that a run ended with; `calls` are the trace's, in order."""
    if trace.status != Status.COMPLETED or not calls or calls[-1].purpose != "answer":
        return None
    return report_in(calls[-1].parts)


def milliseconds(start: datetime, end: datetime | None) -> int | None:
    """How long something took, None while it goes on."""
    return None if end is None else max(0, round((end - start).total_seconds() * 1000))


def _event(row: TraceEvent) -> dict[str, Any]:
    """An event as the stream sent it, with its number and its time."""
    return {"seq": row.seq, "at": row.at, "type": row.type, **row.payload}


def _call(row: ModelCall, *, blind: bool) -> dict[str, Any]:
    return {
        "number": row.number,
        "purpose": row.purpose,
        "provider": None if blind else row.provider_id or None,
        "model": None if blind else row.model_id or None,
        "request": row.request,
        "tools": row.tools,
        "parts": row.parts,
        "answered_by": None if blind else row.answered_by or None,
        "finish_reason": row.finish_reason or None,
        "input_tokens": row.input_tokens,
        "output_tokens": row.output_tokens,
        "tokens_estimated": row.tokens_estimated,
        "code": row.code or None,
        "started_at": row.started_at,
        "first_token_at": row.first_token_at,
        "finished_at": row.finished_at,
    }


def _id(key: object) -> str | None:
    return None if key is None else str(key)
