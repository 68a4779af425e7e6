"""Reads stored traces as spans, and hands them to a collector."""

from collections.abc import Iterable
from datetime import timedelta
from typing import Any

import httpx2

from traces_app.models import ModelCall, Status, Trace, TraceEvent
from traces_app.otlp import CallSpan, RunSpan, ToolSpan

SECONDS = 10.0


class CannotExport(Exception):
    """The collector did not take the spans; the message says what it said."""


def run_span(trace: Trace) -> RunSpan:
    """A stored run, as far as it has come."""
    events = list(trace.events.order_by("seq"))
    ended = trace.finished_at or (events[-1].at if events else trace.started_at)
    return RunSpan(
        trace=trace.id,
        conversation=trace.conversation_id,
        provider=trace.provider_id,
        model=trace.model_id,
        started=trace.started_at,
        ended=ended,
        status=trace.status,
        code=trace.code if trace.status == Status.FAILED else "",
        error=trace.error,
        input_tokens=trace.input_tokens,
        output_tokens=trace.output_tokens,
        calls=tuple(_call(call) for call in trace.calls.order_by("number")),
        tools=tuple(_tools(events)),
    )


def push(body: dict[str, Any], url: str) -> None:
    """Post spans to a collector's `/v1/traces`; raises CannotExport."""
    try:
        with httpx2.Client(timeout=SECONDS, trust_env=False) as client:
            answer = client.post(url, json=body)
    except httpx2.HTTPError as error:
        raise CannotExport(f"{url}: {error}") from None
    if not answer.is_success:
        raise CannotExport(f"{url}: {answer.status_code} {answer.text[:200]}".strip())


def _call(call: ModelCall) -> CallSpan:
    return CallSpan(
        number=call.number,
        provider=call.provider_id,
        model=call.model_id,
        started=call.started_at,
        ended=call.finished_at or call.started_at,
        finish_reason=call.finish_reason,
        input_tokens=call.input_tokens,
        output_tokens=call.output_tokens,
        code=call.code,
    )


def _tools(events: Iterable[TraceEvent]) -> Iterable[ToolSpan]:
    """The tool calls that the log tells of; one whose end is missing ends where it began."""
    started: dict[str, TraceEvent] = {}
    ended: dict[str, TraceEvent] = {}
    for event in events:
        if event.type == "tool_start":
            started[event.payload["tool_call_id"]] = event
        elif event.type == "tool_end":
            ended[event.payload["tool_call_id"]] = event
    for id, start in started.items():
        end = ended.get(id)
        lasted = timedelta(milliseconds=end.payload["duration_ms"] if end else 0)
        yield ToolSpan(
            id=id,
            name=start.payload["tool_name"],
            started=start.at,
            ended=start.at + lasted,
            status=end.payload["status"] if end else "cancelled",
        )
