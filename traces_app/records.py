"""A trace as others read it: everything that is known of a run, as plain JSON."""

from collections.abc import Sequence
from dataclasses import asdict
from datetime import datetime
from typing import Any

from traces_app.models import ModelCall, Status, Trace, TraceEvent
from traces_app.reports import Report, report_in
from traces_app.selectors import is_blind


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
        "finish_reason": row.finish_reason or None,
        "input_tokens": row.input_tokens,
        "output_tokens": row.output_tokens,
        "code": row.code or None,
        "started_at": row.started_at,
        "first_token_at": row.first_token_at,
        "finished_at": row.finished_at,
    }


def _id(key: object) -> str | None:
    return None if key is None else str(key)
