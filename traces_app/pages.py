"""The page of one trace: its waterfall, which is its model calls and tools as bars in time, its
totals and every event."""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Literal, TypeAlias

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from mockllm_site.kit.api.access import SEES_TRACES, here_or_logged_in, login_client
from mockllm_site.kit.api.locality import is_open
from traces_app.models import Status, Trace
from traces_app.otlp import CallSpan, RunSpan, run_span
from traces_app.reports import FAILURE
from traces_app.selectors import final_report, is_blind, trace_of

Kind: TypeAlias = Literal["run", "call", "tool"]

# What a login needs to save the scenario that a trace gives.
MAKES_DRAFTS = "scenarios_app.add_draft"
# The chart's width in its own units; no bar is so short that it can't be seen.
WIDTH = 1_000.0
_LEAST = 3.0


@dataclass(frozen=True, slots=True)
class Bar:
    """One span; `left`, `width` and `first` (where the first token came) are the chart's units."""

    kind: Kind
    name: str
    said: str
    started_ms: int
    duration_ms: int
    left: str
    width: str
    first: str = ""
    failed: bool = False


def bars(run: RunSpan, first_tokens: Mapping[int, datetime | None]) -> list[Bar]:
    """The run and what happened in it, in the order in which it began. `first_tokens` are those of
    the model calls by number."""
    ends = [run.ended, *(call.ended for call in run.calls), *(tool.ended for tool in run.tools)]
    length = max((max(ends) - run.started).total_seconds() * 1_000, 1.0)
    inner = sorted(_inner(run, first_tokens, length), key=lambda bar: bar.started_ms)
    whole = _bar(
        run,
        length,
        kind="run",
        name=run.status,
        said=f"report: {run.report}" if run.report else "",
        started=run.started,
        ended=run.ended,
        failed=run.report == FAILURE,
    )
    return [whole, *inner]


def _inner(
    run: RunSpan, first_tokens: Mapping[int, datetime | None], length: float
) -> Iterator[Bar]:
    for call in run.calls:
        yield _bar(
            run,
            length,
            kind="call",
            name=f"model call {call.number}",
            said=", ".join(_said(call)),
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
            said=tool.status,
            started=tool.started,
            ended=tool.ended,
            failed=tool.status != "success",
        )


def _said(call: CallSpan) -> Iterable[str]:
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
    kind: Kind,
    name: str,
    started: datetime,
    ended: datetime,
    said: str = "",
    first: datetime | None = None,
    failed: bool = False,
) -> Bar:
    start = _ms(run, started)
    lasted = max(_ms(run, ended) - start, 0.0)
    width = max(lasted / length * WIDTH, _LEAST)
    left = min(start / length * WIDTH, WIDTH - width)
    return Bar(
        kind,
        name,
        said,
        started_ms=round(start),
        duration_ms=round(lasted),
        left=f"{left:.1f}",
        width=f"{width:.1f}",
        first=f"{_ms(run, first) / length * WIDTH:.1f}" if first else "",
        failed=failed,
    )


def _ms(run: RunSpan, moment: datetime) -> float:
    return max((moment - run.started).total_seconds() * 1_000, 0.0)


@dataclass(frozen=True, slots=True)
class EventRow:
    seq: int
    ms: int
    type: str
    payload: str


@require_safe
@never_cache
@here_or_logged_in()
def trace_page(request: HttpRequest, trace_id: str) -> HttpResponse:
    """A login that may not see all traces sees its own."""
    user = request.user
    all_of_them = is_open(request) or user.has_perm(SEES_TRACES)
    try:
        trace = trace_of(trace_id, None if all_of_them else login_client(user))
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
        "bars": bars(span, {call.number: call.first_token_at for call in calls}),
        "events": events,
        "calls": calls,
        "duration_ms": round((span.ended - span.started).total_seconds() * 1_000),
        "first_token_ms": _since_start(trace),
        "report": final_report(trace, calls),
        "makes": user.has_perm(MAKES_DRAFTS),
        "stranger": not user.is_authenticated,
    }
    return render(request, "traces_app/trace.html", context)


def _since_start(trace: Trace) -> int | None:
    if trace.first_token_at is None:
        return None
    return round((trace.first_token_at - trace.started_at).total_seconds() * 1_000)
