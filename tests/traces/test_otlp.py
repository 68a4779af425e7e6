"""Traces as OTLP, parsed by OpenTelemetry's protobuf schema."""

from base64 import b64encode
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

from google.protobuf.json_format import ParseDict
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from traces_app.models import ModelCall, Trace
from traces_app.otlp import RunSpan, ToolSpan, to_otlp

START = datetime(2026, 1, 2, 3, 4, 5, 678_901, tzinfo=UTC)
TRACE = UUID("0123456789abcdef0123456789abcdef")


def time_at(ms: int) -> datetime:
    return START + timedelta(milliseconds=ms)


def make_call(number: int, started_ms: int, ended_ms: int, **others: Any) -> ModelCall:
    """Return a model call between two times in milliseconds."""
    columns = {"provider_id": "google", "model_id": "gemini-2.5-pro", **others}
    return ModelCall(
        number=number, started_at=time_at(started_ms), finished_at=time_at(ended_ms), **columns
    )


END = time_at(900)
CALLS: list[dict[str, Any]] = [
    {"finish_reason": "tool_calls", "input_tokens": 10, "output_tokens": 5},
    {"finish_reason": "stop", "input_tokens": 20, "output_tokens": 7},
]


def make_run(
    *,
    ended_at: datetime = END,
    report: str = "",
    calls: Sequence[ModelCall] | None = None,
    tools: Sequence[ToolSpan] = (ToolSpan("call_1", "add", time_at(300), time_at(490)),),
    **others: Any,
) -> RunSpan:
    columns = {
        "id": TRACE,
        "conversation_id": UUID(int=7),
        "provider_id": "google",
        "model_id": "gemini-2.5-pro",
        "started_at": START,
        "status": "completed",
        "input_tokens": 30,
        "output_tokens": 12,
        **others,
    }
    if calls is None:
        calls = (make_call(1, 10, 300, **CALLS[0]), make_call(2, 500, 890, **CALLS[1]))
    return RunSpan(Trace(**columns), ended_at, report, calls, tools)


def encode_and_parse(*runs: RunSpan) -> list[Any]:
    """Encode runs and parse their spans by the schema; unknown keys and wrong types raise."""
    body = to_otlp(runs, version="1.2")
    for span in body["resourceSpans"][0]["scopeSpans"][0]["spans"]:
        for name in {"traceId", "spanId", "parentSpanId"} & span.keys():
            # OTLP/JSON has ids in hexadecimal, protobuf's own JSON in base64.
            span[name] = b64encode(bytes.fromhex(span[name])).decode()
    request = ParseDict(body, ExportTraceServiceRequest())
    return list(request.resource_spans[0].scope_spans[0].spans)


def attributes(span: Any) -> dict[str, Any]:
    values: dict[str, Any] = {}
    for attribute in span.attributes:
        value_type = attribute.value.WhichOneof("value")
        value = getattr(attribute.value, value_type)
        values[attribute.key] = (
            [item.string_value for item in value.values] if value_type == "array_value" else value
        )
    return values


def test_a_run_its_model_calls_and_its_tools_are_spans_of_one_trace() -> None:
    spans = encode_and_parse(make_run())
    assert [span.name for span in spans] == [
        "invoke_agent mockllm",
        "chat gemini-2.5-pro",
        "chat gemini-2.5-pro",
        "execute_tool add",
    ]
    assert {span.trace_id for span in spans} == {TRACE.bytes}
    assert len({span.span_id for span in spans}) == 4
    assert {len(span.span_id) for span in spans} == {8}
    assert {span.parent_span_id for span in spans[1:]} == {spans[0].span_id}
    assert not spans[0].parent_span_id


def test_times_are_exact_to_the_microsecond() -> None:
    span = encode_and_parse(make_run())[0]
    assert span.start_time_unix_nano == int(START.timestamp()) * 10**9 + 678_901_000
    assert span.end_time_unix_nano - span.start_time_unix_nano == 900_000_000


def test_attributes_follow_the_genai_conventions() -> None:
    run, call, _, tool = (attributes(span) for span in encode_and_parse(make_run()))
    assert run["gen_ai.operation.name"] == "invoke_agent"
    assert run["gen_ai.conversation.id"] == str(UUID(int=7))
    assert call == {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": "gcp.gemini",
        "gen_ai.request.model": "gemini-2.5-pro",
        "gen_ai.conversation.id": str(UUID(int=7)),
        "gen_ai.response.finish_reasons": ["tool_calls"],
        "gen_ai.usage.input_tokens": 10,
        "gen_ai.usage.output_tokens": 5,
    }
    assert tool["gen_ai.tool.name"] == "add"
    assert tool["gen_ai.tool.call.id"] == "call_1"


def test_failed_spans_have_the_error_status() -> None:
    failed_run = make_run(
        status="failed",
        code="RATE_LIMITED",
        error="Rate limited, try again",
        calls=(make_call(1, 10, 20, provider_id="openai", model_id="gpt-4o", code="RATE_LIMITED"),),
        tools=(ToolSpan("call_1", "slow", time_at(1), time_at(2), status="timeout"),),
    )
    run, call, tool = encode_and_parse(failed_run)
    assert (run.status.code, run.status.message) == (2, "Rate limited, try again")
    assert attributes(call)["error.type"] == "RATE_LIMITED"
    assert (tool.status.code, attributes(tool)["error.type"]) == (2, "timeout")


def test_run_with_a_failure_report_is_an_error() -> None:
    run = encode_and_parse(make_run(report="failure"))[0]
    assert (run.status.code, run.status.message) == (2, "reported_failure")
    run_attributes = attributes(run)
    assert (run_attributes["mockllm.report.status"], run_attributes["error.type"]) == (
        "failure",
        "reported_failure",
    )
    assert run_attributes["mockllm.run.status"] == "completed"

    run = encode_and_parse(make_run(report="success"))[0]
    assert (run.status.code, attributes(run)["mockllm.report.status"]) == (1, "success")


def test_end_before_the_start_becomes_the_start() -> None:
    span = encode_and_parse(make_run(ended_at=START - timedelta(seconds=1)))[0]
    assert span.end_time_unix_nano == span.start_time_unix_nano


def test_the_same_run_gives_the_same_spans() -> None:
    assert to_otlp([make_run()], version="1.2") == to_otlp([make_run()], version="1.2")


def test_spans_of_two_runs_have_no_id_in_common() -> None:
    first, second = make_run(), make_run(id=UUID("0123456789abcdef0123456789abcdee"))
    spans = encode_and_parse(first, second)
    assert len({span.trace_id for span in spans}) == 2
    assert len({span.span_id for span in spans}) == len(spans) == 8
    for root in (spans[0], spans[4]):
        children = [span for span in spans if span.parent_span_id == root.span_id]
        assert {span.trace_id for span in children} == {root.trace_id}
        assert len(children) == 3
