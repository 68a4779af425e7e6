"""The page of one trace: its totals, its events, and a waterfall of its model and tool calls."""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Literal, TypeAlias

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from mockllm_site.kit.api.access import SEES_TRACES, local_or_logged_in, login_client
from mockllm_site.kit.api.locality import is_open
from traces_app.models import Status, Trace
from traces_app.otlp import CallSpan, RunSpan, run_span
from traces_app.reports import FAILURE
from traces_app.selectors import final_report, is_blind, trace_of

BarKind: TypeAlias = Literal["run", "call", "tool"]

# The permission to save a trace's scenario as a draft.
ADD_DRAFT_PERMISSION = "scenarios_app.add_draft"
# In units of the chart; a shorter bar would be invisible.
CHART_WIDTH = 1_000.0
_MIN_BAR_WIDTH = 3.0


@dataclass(frozen=True, slots=True)
class Bar:
    """One bar of the waterfall; `left`, `width` and `first` (the first token) in chart units."""

    kind: BarKind
    name: str
    detail: str
    started_ms: int
    duration_ms: int
    left: str
    width: str
    first: str = ""
    failed: bool = False


def waterfall_bars(run: RunSpan, first_tokens: Mapping[int, datetime | None]) -> list[Bar]:
    """Return the bar of the run, then those of its calls in the order of their start.

    `first_tokens` maps the numbers of model calls to the times of their first tokens.
    """
    ends = [run.ended, *(call.ended for call in run.calls), *(tool.ended for tool in run.tools)]
    length = max((max(ends) - run.started).total_seconds() * 1_000, 1.0)
    inner = sorted(_call_and_tool_bars(run, first_tokens, length), key=lambda bar: bar.started_ms)
    whole = _bar(
        run,
        length,
        kind="run",
        name=run.status,
        detail=f"report: {run.report}" if run.report else "",
        started=run.started,
        ended=run.ended,
        failed=run.report == FAILURE,
    )
    return [whole, *inner]


def _call_and_tool_bars(
    run: RunSpan, first_tokens: Mapping[int, datetime | None], length: float
) -> Iterator[Bar]:
    for call in run.calls:
        yield _bar(
            run,
            length,
            kind="call",
            name=f"model call {call.number}",
            detail=", ".join(_call_details(call)),
            started=call.started,
            ended=call.ended,
            first=first_tokens.get(call.number),
            failed=bool(call.code),
        )
    for tool in run.tools:
        yield _bar(
            run,
            length,
            kind="tool",
            name=tool.name,
            detail=tool.status,
            started=tool.started,
            ended=tool.ended,
            failed=tool.status != "success",
        )


def _call_details(call: CallSpan) -> Iterable[str]:
    if call.code:
        yield call.code
    if call.finish_reason:
        yield call.finish_reason
    if call.input_tokens or call.output_tokens:
        estimated = " (estimated)" if call.tokens_estimated else ""
        yield f"{call.input_tokens} → {call.output_tokens} tokens{estimated}"


def _bar(
    run: RunSpan,
    length: float,
    *,
    kind: BarKind,
    name: str,
    started: datetime,
    ended: datetime,
    detail: str = "",
    first: datetime | None = None,
    failed: bool = False,
) -> Bar:
    start = _ms_since_start(run, started)
    lasted = max(_ms_since_start(run, ended) - start, 0.0)
    width = max(lasted / length * CHART_WIDTH, _MIN_BAR_WIDTH)
    left = min(start / length * CHART_WIDTH, CHART_WIDTH - width)
    return Bar(
        kind,
        name,
        detail,
        started_ms=round(start),
        duration_ms=round(lasted),
        left=f"{left:.1f}",
        width=f"{width:.1f}",
        first=f"{_ms_since_start(run, first) / length * CHART_WIDTH:.1f}" if first else "",
        failed=failed,
    )


def _ms_since_start(run: RunSpan, moment: datetime) -> float:
    return max((moment - run.started).total_seconds() * 1_000, 0.0)


@dataclass(frozen=True, slots=True)
class EventRow:
    """One event in the page's table; `ms` counts from the start of the run."""

    seq: int
    ms: int
    type: str
    payload: str


@require_safe
@never_cache
@local_or_logged_in()
def trace_page(request: HttpRequest, trace_id: str) -> HttpResponse:
    """Render a trace; a login without the permission to see all traces sees its own."""
    user = request.user
    sees_all_traces = is_open(request) or user.has_perm(SEES_TRACES)
    try:
        trace = trace_of(trace_id, None if sees_all_traces else login_client(user))
    except Trace.DoesNotExist:
        raise Http404 from None
    calls = list(trace.calls.order_by("number"))
    events = [
        EventRow(
            event.seq,
            round((event.at - trace.started_at).total_seconds() * 1_000),
            event.type,
            json.dumps(event.payload, ensure_ascii=False, indent=2),
        )
        for event in trace.events.order_by("seq")
    ]
    span = run_span(trace)
    context = {
        "trace": trace,
        "running": trace.status == Status.RUNNING,
        "blind": is_blind(trace),
        "bars": waterfall_bars(span, {call.number: call.first_token_at for call in calls}),
        "events": events,
        "calls": calls,
        "duration_ms": round((span.ended - span.started).total_seconds() * 1_000),
        "first_token_ms": _first_token_ms(trace),
        "report": final_report(trace, calls),
        "can_make_drafts": user.has_perm(ADD_DRAFT_PERMISSION),
        "is_anonymous": not user.is_authenticated,
    }
    return render(request, "traces_app/trace.html", context)


def _first_token_ms(trace: Trace) -> int | None:
    if trace.first_token_at is None:
        return None
    return round((trace.first_token_at - trace.started_at).total_seconds() * 1_000)
