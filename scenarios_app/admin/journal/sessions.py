"""The pages of sessions: the verdict on each, what it has consumed, tried and counted, its name and
its reset."""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from functools import wraps
from typing import Concatenate, ParamSpec

from asgiref.sync import async_to_sync
from django.contrib import messages
from django.contrib.admin import ModelAdmin
from django.db.models import Count, Max
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils.http import urlencode
from django.views.decorators.http import require_POST

from mockllm_site.kit.permissions import require
from scenarios_app.admin.journal.record import may_record, record_panel, session_url
from scenarios_app.admin.journal.verdict import quick_verdicts, verdict_card
from scenarios_app.control.sessions import reset_sessions
from scenarios_app.engine.state import SessionState, StateUnavailable
from scenarios_app.journal import journal
from scenarios_app.models import (
    UNANSWERED,
    PastAnswers,
    Scenario,
    ServedRequest,
    SessionName,
)
from scenarios_app.serving.services import services

_MOST = 500
P = ParamSpec("P")


@dataclass(frozen=True, slots=True)
class Seen:
    """What the journal holds of a session."""

    requests: int = 0
    unmatched: int = 0
    last: datetime | None = None


@dataclass(frozen=True, slots=True)
class Line:
    name: str
    seen: Seen
    state: SessionState
    called: str = ""
    passed: bool | None = None
    """None where it was not judged."""

    @property
    def url(self) -> str:
        return session_url(self.name)


def needing_state(
    view: Callable[Concatenate[HttpRequest, P], HttpResponse],
) -> Callable[Concatenate[HttpRequest, P], HttpResponse]:
    """The view, with a 503 where what sessions remember cannot be reached."""

    @wraps(view)
    def guarded(request: HttpRequest, *args: P.args, **kwargs: P.kwargs) -> HttpResponse:
        try:
            return view(request, *args, **kwargs)
        except StateUnavailable as error:
            plain, headers = "text/plain; charset=utf-8", {"Retry-After": "1"}
            return HttpResponse(f"{error}\n", status=503, content_type=plain, headers=headers)

    return guarded


@needing_state
def sessions_page(request: HttpRequest, owner: "ModelAdmin[ServedRequest]") -> HttpResponse:
    """Every session with state or with requests in the journal, the last one used first."""
    journal.flush()
    seen = _seen()
    names = {*async_to_sync(services().state.sessions)(), *seen}
    newest = sorted(names, key=lambda name: (_time(seen.get(name)), name), reverse=True)
    called = names_of(newest[:_MOST])
    lines = [
        Line(name, seen.get(name, Seen()), _state(name), called.get(name, ""))
        for name in newest[:_MOST]
    ]
    passed = quick_verdicts(
        (line.name, line.seen.requests, bool(line.seen.unmatched or line.state.violations))
        for line in lines
    )
    lines = [replace(line, passed=passed.get(line.name)) for line in lines]
    left_out = max(len(names) - _MOST, 0)
    context = {
        "lines": lines,
        "left_out": left_out,
        "title": "Sessions",
        "record": record_panel(request, None),
    }
    tell_losses(request, None)
    return _page(request, owner, "sessions.html", context)


@needing_state
def session_page(request: HttpRequest, owner: "ModelAdmin[ServedRequest]") -> HttpResponse:
    journal.flush()
    name = request.GET.get("name", "")
    state = _state(name)
    called = names_of([name]).get(name, "")
    _, own = async_to_sync(services().state.scenarios_of)(name)
    verdict = verdict_card(name)
    names = {ref.scenario for ref in state.consumed} | {a.step.scenario for a, _ in state.attempts}
    context = {
        "title": f"Session {called or name}",
        "line": Line(name, _seen(name).get(name, Seen()), state, called),
        "own": sorted(own),
        "record": record_panel(request, name),
        "verdict": verdict,
        "pages": _pages(names | verdict.scenarios),
        "journal": f"{reverse('admin:scenarios_app_servedrequest_changelist')}?"
        + urlencode({"session": name}),
    }
    tell_losses(request, name)
    return _page(request, owner, "session.html", context)


@require_POST
def rename(request: HttpRequest) -> HttpResponse:
    """Give a session a name that says what it is; an empty one takes it back."""
    require(request, "scenarios_app.change_scenario")
    session = request.POST.get("session", "")
    name = " ".join(request.POST.get("name", "").split())[:100]
    if not session or len(session) > 255 or "\0" in session + name:
        messages.error(request, "This is the name of no session.")
        return redirect("admin:scenarios_app_sessions")
    if name:
        SessionName.objects.update_or_create(session=session, defaults={"name": name})
        messages.success(request, f"The session is called “{name}”.")
    else:
        SessionName.objects.filter(session=session).delete()
        messages.success(request, "The session has no other name any more.")
    return redirect(session_url(session))


@require_POST
@needing_state
def reset(request: HttpRequest) -> HttpResponse:
    """Forget one session, or all when no name is given; its own scenarios only if asked."""
    require(request, "scenarios_app.change_scenario")
    name = request.POST.get("name")
    reset_session(name, scenarios="scenarios" in request.POST)
    told = "Every session is as new." if name is None else f"Session “{name}” is as new."
    messages.success(request, told)
    return redirect("admin:scenarios_app_sessions")


def reset_session(name: str | None, *, scenarios: bool) -> None:
    """Forget a session, or every one and what columns show of answers that are not kept."""
    services().cluster.flush()
    reset_sessions(None if name is None else [name], scenarios=scenarios)
    if name is None:
        PastAnswers.objects.all().delete()


def tell_losses(request: HttpRequest, session: str | None) -> None:
    """Warn on the page of a session, or of all, where the journal is not whole."""
    if told := journal.dropped_rows.told(session):
        messages.warning(request, told)


def _page(
    request: HttpRequest,
    owner: "ModelAdmin[ServedRequest]",
    template: str,
    context: Mapping[str, object],
) -> HttpResponse:
    require(request, "scenarios_app.view_servedrequest")
    return TemplateResponse(
        request,
        f"scenarios_app/admin/{template}",
        {
            **owner.admin_site.each_context(request),
            **context,
            "may_reset": request.user.has_perm("scenarios_app.change_scenario"),
            "may_record": may_record(request),
        },
    )


def names_of(sessions: Collection[str]) -> dict[str, str]:
    """What people call sessions, by their own names."""
    rows = SessionName.objects.filter(session__in=sessions)
    return dict(rows.values_list("session", "name"))


def _state(name: str) -> SessionState:
    return async_to_sync(services().state.read)(name)


def _seen(name: str | None = None) -> dict[str, Seen]:
    rows = ServedRequest.objects.order_by()
    if name is not None:
        rows = rows.filter(session=name)
    unmatched = Count("pk", filter=UNANSWERED)
    counted = rows.values_list("session").annotate(Count("pk"), unmatched=unmatched, last=Max("at"))
    return {session: Seen(*figures) for session, *figures in counted}


def _time(seen: Seen | None) -> float:
    return seen.last.timestamp() if seen and seen.last else 0.0


def _pages(names: set[str]) -> dict[str, str]:
    """Where scenarios are edited, by name."""
    found = Scenario.objects.filter(name__in=names).values_list("name", "pk")
    return {name: reverse("admin:scenarios_app_scenario_change", args=(pk,)) for name, pk in found}
