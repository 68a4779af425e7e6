"""The page of one trace: its waterfall, its totals and every event."""

import json
from dataclasses import dataclass

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from mockllm_site.kit.api.access import SEES_TRACES, login_client
from mockllm_site.kit.api.locality import is_open
from mockllm_site.kit.api.page_access import here_or_logged_in
from traces_app.models import Status, Trace
from traces_app.otlp import run_span
from traces_app.records import final_report
from traces_app.selectors import is_blind, trace_of
from traces_app.waterfall import bars


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
    }
    return render(request, "traces_app/trace.html", context)


def _since_start(trace: Trace) -> int | None:
    if trace.first_token_at is None:
        return None
    return round((trace.first_token_at - trace.started_at).total_seconds() * 1_000)
