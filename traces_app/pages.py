"""The page of one trace: its totals, its events, and a waterfall of its model and tool calls."""

import json
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Literal, TypeAlias

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from mockllm_site.kit.api.access import VIEW_TRACES_PERMISSION, local_or_logged_in, login_client_id
from mockllm_site.kit.api.locality import is_open
from traces_app.models import ModelCall, Status, Trace
from traces_app.otlp import RunSpan, call_end, run_span
from traces_app.reports import FAILURE
from traces_app.selectors import duration_ms, final_report, is_blind, trace_of

BarKind: TypeAlias = Literal["run", "call", "tool"]

# The permission to save a trace's scenario as a draft.
ADD_DRAFT_PERMISSION = "scenarios_app.add_draft"
# The permission to edit a trace, or its note and tags, in the admin.
CHANGE_TRACE_PERMISSION = "traces_app.change_trace"
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


def waterfall_bars(run: RunSpan) -> list[Bar]:
    """Return the bar of the run, then those of its model and tool calls in the order of start."""
    start = run.trace.started_at
    ends = [run.ended, *map(call_end, run.calls), *(tool.ended for tool in run.tools)]
    length = max(_milliseconds_between(start, max(ends)), 1.0)

    def make_bar(
        kind: BarKind,
        name: str,
        detail: str,
        *,
        times: tuple[datetime, datetime],
        failed: bool,
        first: datetime | None = None,
    ) -> Bar:
        """Return a bar with its position and length in chart units, wide enough to be seen."""
        begin, end = (_milliseconds_between(start, time) for time in times)
        lasted = max(end - begin, 0.0)
        width = max(lasted / length * CHART_WIDTH, _MIN_BAR_WIDTH)
        mark = f"{_milliseconds_between(start, first) / length * CHART_WIDTH:.1f}" if first else ""
        left = min(begin / length * CHART_WIDTH, CHART_WIDTH - width)
        return Bar(
            kind,
            name,
            detail,
            started_ms=round(begin),
            duration_ms=round(lasted),
            left=f"{left:.1f}",
            width=f"{width:.1f}",
            first=mark,
            failed=failed,
        )

    report = f"report: {run.report}" if run.report else ""
    failed = run.report == FAILURE
    whole = make_bar("run", run.trace.status, report, times=(start, run.ended), failed=failed)
    calls = (
        make_bar(
            "call",
            f"model call {call.number}",
            ", ".join(_call_details(call)),
            times=(call.started_at, call_end(call)),
            failed=bool(call.code),
            first=call.first_token_at,
        )
        for call in run.calls
    )
    tools = (
        make_bar(
            "tool",
            tool.name,
            tool.status,
            times=(tool.started, tool.ended),
            failed=tool.status != "success",
        )
        for tool in run.tools
    )
    return [whole, *sorted((*calls, *tools), key=lambda bar: bar.started_ms)]


def _call_details(call: ModelCall) -> Iterable[str]:
    """Yield the error, finish reason and tokens of a model call."""
    if call.code:
        yield call.code
    if call.finish_reason:
        yield call.finish_reason
    if call.input_tokens or call.output_tokens:
        estimated = " (estimated)" if call.tokens_estimated else ""
        yield f"{call.input_tokens} → {call.output_tokens} tokens{estimated}"


def _milliseconds_between(start: datetime, moment: datetime) -> float:
    """Return the milliseconds from `start` to a moment, at least 0."""
    return max((moment - start).total_seconds() * 1_000, 0.0)


@require_safe
@never_cache
@local_or_logged_in()
def trace_page(request: HttpRequest, trace_id: str) -> HttpResponse:
    """Render a trace; a login without the permission to see all traces sees its own. Raises Http404
    for another one."""
    user = request.user
    sees_all_traces = is_open(request) or user.has_perm(VIEW_TRACES_PERMISSION)
    try:
        trace = trace_of(trace_id, None if sees_all_traces else login_client_id(user))
    except Trace.DoesNotExist:
        raise Http404 from None
    run = run_span(trace)
    events = [
        {
            "seq": event.seq,
            "ms": duration_ms(trace.started_at, event.at),
            "type": event.type,
            "payload": json.dumps(event.payload, ensure_ascii=False, indent=2),
        }
        for event in trace.events.order_by("seq")
    ]
    context = {
        "trace": trace,
        "question": trace.user_message.content if trace.user_message else "",
        "sees_form": user.is_staff and user.has_perm(VIEW_TRACES_PERMISSION),
        "can_edit": user.has_perm(CHANGE_TRACE_PERMISSION),
        "running": trace.status == Status.RUNNING,
        "blind": is_blind(trace),
        "bars": waterfall_bars(run),
        "events": events,
        "calls": run.calls,
        "duration_ms": duration_ms(trace.started_at, run.ended),
        "first_token_ms": duration_ms(trace.started_at, trace.first_token_at),
        "report": final_report(trace, run.calls),
        "can_make_drafts": user.has_perm(ADD_DRAFT_PERMISSION),
        "is_anonymous": not user.is_authenticated,
    }
    return render(request, "traces_app/trace.html", context)
