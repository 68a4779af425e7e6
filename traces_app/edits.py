"""Runs that a person writes or changes: their events and model calls, and what follows."""

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Any, TypeAlias
from uuid import UUID

from django.utils import timezone

from mockllm_site.kit.api.errors import CODES
from traces_app.leases import end_dead_runs, store_totals
from traces_app.log import TERMINAL
from traces_app.models import ModelCall, Status, Trace, TraceEvent

Entry: TypeAlias = tuple[str, dict[str, Any]]

STARTED = "started"
# The HTTP status of each error code.
STATUSES = {code: status for status, code in CODES.items()}
UNDER_WAY = "This run is under way. It can be changed once it has ended."


def why_locked(trace_id: UUID, *, writing: bool) -> str:
    """Return why a run cannot be changed now, "" if it can. If `writing`, lock it in the open
    transaction."""
    rows = Trace.objects.filter(pk=trace_id)
    end_dead_runs(rows)
    if writing:
        rows = rows.select_for_update()
    return UNDER_WAY if Status.RUNNING in rows.values_list("status", flat=True) else ""


def write_run(trace: Trace) -> None:
    """Write the events and model calls of a new run, as its answer tells them, if it has one."""
    entries = [(STARTED, complete_payload(trace, STARTED, {}, at=trace.started_at))]
    if trace.message is not None:
        entries += _entries_of_answer(trace)
        _write_calls(trace)
    for number, (type, payload) in enumerate(entries, start=1):
        TraceEvent.objects.create(
            trace=trace, seq=number, type=type, payload=payload, at=trace.started_at,
            edited_at=timezone.now(),
        )  # fmt: skip
    settle(trace)


def append_event(event: TraceEvent) -> None:
    """Store an event that a person wrote, as the last one before the terminal event."""
    rows = TraceEvent.objects.filter(trace=event.trace)
    before = rows.exclude(type__in=TERMINAL).order_by("seq").last()
    event.seq = before.seq + 1 if before else 1
    event.at = before.at if before else event.trace.started_at
    event.payload = complete_payload(event.trace, event.type, event.payload, at=event.at)
    event.edited_at = timezone.now()
    rows.filter(type__in=TERMINAL, seq__lte=event.seq).update(seq=event.seq + 1)
    event.save()


def settle(trace: Trace) -> None:
    """Make the terminal event and the totals follow from the run's status, events and calls, and
    mark the run as edited."""
    type, payload = _terminal_entry(trace)
    events = list(trace.events.order_by("seq"))
    last = events[-1] if events else None
    if last is None or last.type not in TERMINAL:
        seq = last.seq + 1 if last else 1
        last = TraceEvent(trace=trace, seq=seq, at=trace.finished_at or trace.started_at)
    if (last.type, last.payload) != (type, payload):
        last.type, last.payload, last.edited_at = type, payload, timezone.now()
        last.save()
    Trace.objects.filter(pk=trace.pk).update(edited_at=timezone.now())
    store_totals(trace, events)


def complete_payload(
    trace: Trace, type: str, payload: Mapping[str, Any], *, at: datetime
) -> dict[str, Any]:
    """Return an event's payload with the keys that follow from the run, unless it has them."""
    conversation = {"conversation_id": str(trace.conversation_id)}
    follows: dict[str, dict[str, Any]] = {
        STARTED: {
            **conversation,
            "trace_id": str(trace.pk),
            "message_id": str(trace.user_message_id),
        },
        "chunk": conversation,
        "thinking": conversation,
        "tool_start": {
            "tool_args": {},
            "timestamp": at.astimezone(UTC).isoformat(timespec="milliseconds")[:-6] + "Z",
        },
        "tool_output": {
            "truncated": False,
            "full_length": len(str(payload.get("output", ""))),
            "is_error": False,
            "code": None,
        },
        "tool_end": {"status": "success", "duration_ms": 0},
    }
    return {**follows.get(type, {}), **payload}


def _terminal_entry(trace: Trace) -> Entry:
    """Return the terminal event of an ended run."""
    if trace.status == Status.FAILED:
        status = STATUSES.get(trace.code, 500)
        return "error", {"status": status, "message": trace.error, "code": trace.code}
    payload = {"conversation_id": str(trace.conversation_id), "trace_id": str(trace.pk)}
    if trace.message_id:
        payload["message_id"] = str(trace.message_id)
    cancelled = {"cancelled": True} if trace.status == Status.CANCELLED else {}
    return "done", {**payload, **cancelled}


def _entries_of_answer(trace: Trace) -> Iterator[Entry]:
    """Yield the events between the first and the last, as the run's answer tells them."""
    message: Any = trace.message

    def entry(type: str, **payload: Any) -> Entry:
        return type, complete_payload(trace, type, payload, at=trace.started_at)

    if message.thinking:
        yield entry("thinking", content=message.thinking)
    for call in message.tool_calls:
        id = call["id"]
        arguments = call["arguments"]
        yield entry("tool_start", tool_call_id=id, tool_name=call["name"], tool_args=arguments)
        if call["result"] is not None:
            yield entry(
                "tool_output", tool_call_id=id, output=call["result"], is_error=call["is_error"]
            )
        yield entry("tool_end", tool_call_id=id, status="error" if call["is_error"] else "success")
    if message.content:
        yield entry("chunk", content=message.content)


def _write_calls(trace: Trace) -> None:
    """Write a model call for each round of the run's answer."""
    message: Any = trace.message
    for number, stored_round in enumerate(message.rounds, start=1):
        calls = any("tool_call" in part for part in stored_round["parts"])
        ModelCall.objects.create(
            trace=trace,
            number=number,
            provider_id=trace.provider_id,
            model_id=trace.model_id,
            parts=stored_round["parts"],
            finish_reason="tool_calls" if calls else "stop",
            started_at=trace.started_at,
            finished_at=trace.finished_at,
            edited_at=timezone.now(),
        )
