"""Queries for traces by id, message or client, and the JSON record of one."""

from collections.abc import Sequence
from dataclasses import asdict
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db.models import Q, QuerySet

from traces_app.leases import end_dead_runs
from traces_app.models import ModelCall, Status, Trace
from traces_app.reports import FinalReport, find_report


def trace_of(trace_id: Any, client_id: str | None = None) -> Trace:
    """Return a trace by its id (text or UUID); with a client, only if it is that client's. Raises
    Trace.DoesNotExist. A dead run is ended first."""
    return _find_trace(Q(pk=_to_uuid(trace_id)), client_id)


def trace_of_message(message_id: Any, client_id: str | None = None) -> Trace:
    """Return the trace of an answer, or the latest of a user's message; else like `trace_of`."""
    key = _to_uuid(message_id)
    return _find_trace(Q(message=key) | Q(user_message=key), client_id)


def traces_of(conversation_id: UUID) -> QuerySet[Trace]:
    """Return a conversation's runs, the latest first; dead ones are ended first."""
    traces = Trace.objects.filter(conversation=conversation_id)
    end_dead_runs(traces)
    return traces


def is_blind(trace: Trace) -> bool:
    """True if a trace is of a comparison without a vote, so that its model must stay hidden."""
    if not trace.branch:
        return False
    sides = (getattr(trace, f"comparison_as_{side}", None) for side in ("a", "b"))
    comparison = next((comparison for comparison in sides if comparison is not None), None)
    return comparison is None or not comparison.preference


def _find_trace(condition: Q, client_id: str | None) -> Trace:
    """Return the latest trace that meets the condition, of one client if `client_id` is given.
    Raises Trace.DoesNotExist. Dead runs are ended first."""
    traces = Trace.objects.filter(condition).order_by("-started_at", "branch")
    if client_id is not None:
        traces = traces.filter(conversation__client_id=client_id)
    end_dead_runs(traces)
    trace = traces.first()
    if trace is None:
        raise Trace.DoesNotExist
    return trace


def _to_uuid(value: Any) -> UUID:
    """Return an id as a UUID; raises Trace.DoesNotExist if it is none."""
    try:
        return value if isinstance(value, UUID) else UUID(str(value))
    except ValueError:
        raise Trace.DoesNotExist from None


def trace_record(trace: Trace) -> dict[str, Any]:
    """Return the API's record of a trace, without profile and model while `is_blind`."""
    blind = is_blind(trace)
    rows = trace.events.order_by("seq")
    # As the stream sent them, with number and time.
    events = [{"seq": row.seq, "at": row.at, "type": row.type, **row.payload} for row in rows]
    calls = list(trace.calls.order_by("number"))
    report = final_report(trace, calls)
    return {
        "trace_id": trace.pk,
        "conversation_id": trace.conversation_id,
        "message_id": trace.message_id,
        "user_message_id": trace.user_message_id,
        "branch": trace.branch or None,
        "status": trace.status,
        "error": {"code": trace.code, "message": trace.error} if trace.code else None,
        "profile": None if blind else trace.profile_name or None,
        "provider": None if blind else trace.provider_id or None,
        "model": None if blind else trace.model_id or None,
        "started_at": trace.started_at,
        "first_token_at": trace.first_token_at,
        "finished_at": trace.finished_at,
        "edited_at": trace.edited_at,
        "totals": {
            "events": len(events),
            "model_calls": trace.model_calls,
            "tool_calls": trace.tool_calls,
            "input_tokens": trace.input_tokens,
            "output_tokens": trace.output_tokens,
            "tokens_estimated": trace.tokens_estimated,
            "duration_ms": duration_ms(trace.started_at, trace.finished_at),
            "first_token_ms": duration_ms(trace.started_at, trace.first_token_at),
        },
        "events": events,
        "model_calls": [_call_record(row, blind=blind) for row in calls],
        "report": None if report is None else asdict(report),
    }


def final_report(trace: Trace, calls: Sequence[ModelCall]) -> FinalReport | None:
    """Return the report that a run ended with, or None; `calls` are the trace's, in order."""
    if trace.status != Status.COMPLETED or not calls or calls[-1].purpose != "answer":
        return None
    return find_report(calls[-1].parts)


def duration_ms(start: datetime, end: datetime | None) -> int | None:
    """Return the milliseconds from `start` to `end`, or None if there is no end yet."""
    return None if end is None else max(0, round((end - start).total_seconds() * 1000))


def _call_record(row: ModelCall, *, blind: bool) -> dict[str, Any]:
    """Return the API's record of a model call, if `blind` without provider, model and step."""
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
