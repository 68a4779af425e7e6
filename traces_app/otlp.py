"""A trace as OpenTelemetry's OTLP/JSON, with the names of its GenAI conventions (version 1.38).

One span for the run (`invoke_agent`), one for each model call (`chat`) and one for each tool call
(`execute_tool`). Contents of messages are not exported, because spans often go to third parties.
"""

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, TypeAlias
from uuid import UUID

import httpx2

from traces_app.models import ModelCall, Status, Trace, TraceEvent
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


@dataclass(frozen=True, slots=True)
class CallSpan:
    """One request to a model."""

    number: int
    provider: str
    model: str
    started: datetime
    ended: datetime
    finish_reason: str = ""
    input_tokens: int = 0
    output_tokens: int = 0
    tokens_estimated: bool = False
    code: str = ""


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
    """One run. `status` is completed, cancelled or failed; `code` says why it failed; `report` is
    the status of its final report, if it has one."""

    trace: UUID
    conversation: UUID
    provider: str
    model: str
    started: datetime
    ended: datetime
    status: str
    code: str = ""
    error: str = ""
    input_tokens: int = 0
    output_tokens: int = 0
    tokens_estimated: bool = False
    report: str = ""
    calls: tuple[CallSpan, ...] = ()
    tools: tuple[ToolSpan, ...] = ()


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
    root = _span_id(run, "run")
    error = run.code or (REPORTED_FAILURE if run.report == FAILURE else "")
    yield {
        **_span_fields(run, "run", started=run.started, ended=run.ended),
        "name": "invoke_agent mockllm",
        "kind": INTERNAL_KIND,
        "attributes": _encode_attributes(
            {
                "gen_ai.operation.name": "invoke_agent",
                "gen_ai.agent.name": "mockllm",
                "gen_ai.provider.name": _provider(run.provider),
                "gen_ai.request.model": run.model,
                "gen_ai.conversation.id": str(run.conversation),
                **_usage(run),
                "mockllm.run.status": run.status,
                "mockllm.report.status": run.report,
                "error.type": error,
            }
        ),
        "status": _status(error, run.error),
    }
    for call in run.calls:
        yield {
            **_span_fields(run, f"call {call.number}", started=call.started, ended=call.ended),
            "parentSpanId": root,
            "name": f"chat {call.model}",
            "kind": CLIENT_KIND,
            "attributes": _encode_attributes(
                {
                    "gen_ai.operation.name": "chat",
                    "gen_ai.provider.name": _provider(call.provider),
                    "gen_ai.request.model": call.model,
                    "gen_ai.conversation.id": str(run.conversation),
                    "gen_ai.response.finish_reasons": [call.finish_reason]
                    if call.finish_reason
                    else [],
                    **_usage(call),
                    "error.type": call.code,
                }
            ),
            "status": _status(call.code, call.code),
        }
    for tool in run.tools:
        failed = "" if tool.status == "success" else tool.status
        yield {
            **_span_fields(run, f"tool {tool.id}", started=tool.started, ended=tool.ended),
            "parentSpanId": root,
            "name": f"execute_tool {tool.name}",
            "kind": INTERNAL_KIND,
            "attributes": _encode_attributes(
                {
                    "gen_ai.operation.name": "execute_tool",
                    "gen_ai.tool.name": tool.name,
                    "gen_ai.tool.call.id": tool.id,
                    "gen_ai.tool.type": "function",
                    "error.type": failed,
                }
            ),
            "status": _status(failed, failed),
        }


def _span_fields(run: RunSpan, name: str, *, started: datetime, ended: datetime) -> dict[str, Any]:
    return {
        "traceId": run.trace.hex,
        "spanId": _span_id(run, name),
        "startTimeUnixNano": _nanoseconds(started),
        "endTimeUnixNano": _nanoseconds(max(started, ended)),
    }


def _span_id(run: RunSpan, name: str) -> str:
    return hashlib.sha256(f"{run.trace.hex} {name}".encode()).hexdigest()[:16]


def _nanoseconds(moment: datetime) -> str:
    """Return nanoseconds as a string, because they exceed JSON's safe integers."""
    epoch = datetime.fromtimestamp(0, tz=moment.tzinfo)
    return str((moment - epoch) // timedelta(microseconds=1) * 1_000)


def _provider(name: str) -> str:
    return OTEL_PROVIDER_NAMES.get(name, name)


def _usage(span: RunSpan | CallSpan) -> dict[str, Attribute]:
    return {
        "gen_ai.usage.input_tokens": span.input_tokens,
        "gen_ai.usage.output_tokens": span.output_tokens,
        "mockllm.usage.estimated": "true" if span.tokens_estimated else "",
    }


def _status(code: str, message: str) -> dict[str, Any]:
    return {"code": ERROR_STATUS, "message": message or code} if code else {"code": OK_STATUS}


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


PUSH_TIMEOUT_SECONDS = 10.0


class CannotExport(Exception):
    """The collector did not accept the spans; the message has its response."""


def run_span(trace: Trace) -> RunSpan:
    """Return the span of a stored run; of a running one, up to its last event."""
    events = list(trace.events.order_by("seq"))
    calls = list(trace.calls.order_by("number"))
    report = final_report(trace, calls)
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
        tokens_estimated=trace.tokens_estimated,
        report=report.status if report else "",
        calls=tuple(_call_span(call) for call in calls),
        tools=tuple(_tool_spans(events)),
    )


def push_spans(body: dict[str, Any], url: str) -> None:
    """Post spans to a collector's `/v1/traces`; raises CannotExport."""
    try:
        with httpx2.Client(timeout=PUSH_TIMEOUT_SECONDS, trust_env=False) as client:
            answer = client.post(url, json=body)
    except httpx2.HTTPError as error:
        raise CannotExport(f"{url}: {error}") from None
    if not answer.is_success:
        raise CannotExport(f"{url}: {answer.status_code} {answer.text[:200]}".strip())


def _call_span(call: ModelCall) -> CallSpan:
    return CallSpan(
        number=call.number,
        provider=call.provider_id,
        model=call.model_id,
        started=call.started_at,
        ended=call.finished_at or call.started_at,
        finish_reason=call.finish_reason,
        input_tokens=call.input_tokens,
        output_tokens=call.output_tokens,
        tokens_estimated=call.tokens_estimated,
        code=call.code,
    )


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
