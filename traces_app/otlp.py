"""A trace as OpenTelemetry's OTLP/JSON, with the names of its GenAI conventions (version 1.38).

One span for the run (`invoke_agent`), one for each model call (`chat`) and one for each tool call
(`execute_tool`). Contents of messages are not exported, because spans often go to third parties.
"""

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, TypeAlias

import httpx2

from traces_app.models import ModelCall, Trace, TraceEvent
from traces_app.reports import FAILURE
from traces_app.selectors import final_report

Attribute: TypeAlias = str | int | list[str]

SCOPE = "mockllm.traces"
SCHEMA_URL = "https://opentelemetry.io/schemas/1.38.0"
# Our provider ids whose names in the conventions differ.
OTEL_PROVIDER_NAMES = {"google": "gcp.gemini"}
INTERNAL_KIND, CLIENT_KIND = 1, 3
OK_STATUS, ERROR_STATUS = 1, 2
# `error.type` of a run whose final report has the status `failure`.
REPORTED_FAILURE = "reported_failure"
_ROOT = "run"
PUSH_TIMEOUT_SECONDS = 10.0


@dataclass(frozen=True, slots=True)
class ToolSpan:
    """One call of a tool; `status` is success, error, timeout or cancelled."""

    id: str
    name: str
    started: datetime
    ended: datetime
    status: str = "success"


@dataclass(frozen=True, slots=True)
class RunSpan:
    """One run with its model calls and tool calls; `report` is the status of its final report, if
    it has one. A run that has not ended yet ends at its last event here."""

    trace: Trace
    ended: datetime
    report: str = ""
    calls: Sequence[ModelCall] = ()
    tools: Sequence[ToolSpan] = ()


def call_end(call: ModelCall) -> datetime:
    """Return the end of a model call; its start if no end is stored."""
    return call.finished_at or call.started_at


def to_otlp(runs: Iterable[RunSpan], *, version: str) -> dict[str, Any]:
    """Return the body of an ExportTraceServiceRequest as JSON data."""
    spans = [span for run in runs for span in _encode_run(run)]
    service: dict[str, Attribute] = {"service.name": "mockllm", "service.version": version}
    return {
        "resourceSpans": [
            {
                "resource": {"attributes": _encode_attributes(service)},
                "scopeSpans": [
                    {
                        "scope": {"name": SCOPE, "version": version},
                        "spans": spans,
                        "schemaUrl": SCHEMA_URL,
                    }
                ],
                "schemaUrl": SCHEMA_URL,
            }
        ]
    }


def _encode_run(run: RunSpan) -> Iterator[dict[str, Any]]:
    """Yield the spans of a run: its root, then those of model calls and tools."""
    trace, conversation = run.trace, str(run.trace.conversation_id)
    yield _encode_span(
        run,
        _ROOT,
        name="invoke_agent mockllm",
        times=(trace.started_at, run.ended),
        attributes={
            "gen_ai.operation.name": "invoke_agent",
            "gen_ai.agent.name": "mockllm",
            "gen_ai.provider.name": OTEL_PROVIDER_NAMES.get(trace.provider_id, trace.provider_id),
            "gen_ai.request.model": trace.model_id,
            "gen_ai.conversation.id": conversation,
            **_usage_attributes(trace),
            "mockllm.run.status": trace.status,
            "mockllm.edited": "true" if trace.edited_at else "",
            "mockllm.report.status": run.report,
        },
        error=trace.code or (REPORTED_FAILURE if run.report == FAILURE else ""),
        message=trace.error,
    )
    for call in run.calls:
        yield _encode_span(
            run,
            f"call {call.number}",
            name=f"chat {call.model_id}",
            kind=CLIENT_KIND,
            times=(call.started_at, call_end(call)),
            attributes={
                "gen_ai.operation.name": "chat",
                "gen_ai.provider.name": OTEL_PROVIDER_NAMES.get(call.provider_id, call.provider_id),
                "gen_ai.request.model": call.model_id,
                "gen_ai.conversation.id": conversation,
                "gen_ai.response.finish_reasons": list(filter(None, [call.finish_reason])),
                **_usage_attributes(call),
            },
            error=call.code,
        )
    for tool in run.tools:
        yield _encode_span(
            run,
            f"tool {tool.id}",
            name=f"execute_tool {tool.name}",
            times=(tool.started, tool.ended),
            attributes={
                "gen_ai.operation.name": "execute_tool",
                "gen_ai.tool.name": tool.name,
                "gen_ai.tool.call.id": tool.id,
                "gen_ai.tool.type": "function",
            },
            error="" if tool.status == "success" else tool.status,
        )


def _encode_span(
    run: RunSpan,
    key: str,
    *,
    name: str,
    times: tuple[datetime, datetime],
    attributes: Mapping[str, Attribute],
    error: str,
    message: str = "",
    kind: int = INTERNAL_KIND,
) -> dict[str, Any]:
    """Return one span of a run; `key` is unique in the run, `_ROOT` that of its root."""
    start, end = times
    parent = {} if key == _ROOT else {"parentSpanId": _span_id(run, _ROOT)}
    failed = {"code": ERROR_STATUS, "message": message or error}
    return {
        "traceId": run.trace.id.hex,
        "spanId": _span_id(run, key),
        "startTimeUnixNano": _nanoseconds(start),
        "endTimeUnixNano": _nanoseconds(max(start, end)),
        **parent,
        "name": name,
        "kind": kind,
        "attributes": _encode_attributes({**attributes, "error.type": error}),
        "status": failed if error else {"code": OK_STATUS},
    }


def _span_id(run: RunSpan, key: str) -> str:
    """Return a span id that is the same in each export."""
    return hashlib.sha256(f"{run.trace.id.hex} {key}".encode()).hexdigest()[:16]


def _nanoseconds(moment: datetime) -> str:
    """Return nanoseconds as a string, because they exceed JSON's safe integers."""
    epoch = datetime.fromtimestamp(0, tz=moment.tzinfo)
    return str((moment - epoch) // timedelta(microseconds=1) * 1_000)


def _usage_attributes(row: Trace | ModelCall) -> dict[str, Attribute]:
    """Return the token counts; an estimate is marked."""
    return {
        "gen_ai.usage.input_tokens": row.input_tokens,
        "gen_ai.usage.output_tokens": row.output_tokens,
        "mockllm.usage.estimated": "true" if row.tokens_estimated else "",
    }


def _encode_attributes(attributes: Mapping[str, Attribute]) -> list[dict[str, Any]]:
    """Return OTLP attributes, without the empty ones."""
    return [
        {"key": key, "value": _encode_value(value)}
        for key, value in attributes.items()
        if value not in ("", [])
    ]


def _encode_value(value: Attribute) -> dict[str, Any]:
    match value:
        case str():
            return {"stringValue": value}
        case int():
            return {"intValue": str(value)}
        case _:
            return {"arrayValue": {"values": [{"stringValue": item} for item in value]}}


class CannotExport(Exception):
    """The collector did not accept the spans; the message has its response."""


def run_span(trace: Trace) -> RunSpan:
    """Return the span of a stored run; of a running one, up to its last event."""
    events = list(trace.events.order_by("seq"))
    calls = list(trace.calls.order_by("number"))
    report = final_report(trace, calls)
    return RunSpan(
        trace,
        trace.finished_at or (events[-1].at if events else trace.started_at),
        report=report.status if report else "",
        calls=calls,
        tools=list(_tool_spans(events)),
    )


def push_spans(body: dict[str, Any], url: str) -> None:
    """Post spans to a collector's `/v1/traces`; raises CannotExport."""
    try:
        with httpx2.Client(timeout=PUSH_TIMEOUT_SECONDS, trust_env=False) as client:
            answer = client.post(url, json=body)
    except (httpx2.HTTPError, httpx2.InvalidURL) as error:
        raise CannotExport(f"{url}: {error}") from None
    if not answer.is_success:
        raise CannotExport(f"{url}: {answer.status_code} {answer.text[:200]}".strip())


def _tool_spans(events: Iterable[TraceEvent]) -> Iterable[ToolSpan]:
    """Yield the tool calls among the events; one without an end has the duration 0."""
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
