"""The pages of sessions: verdict, used steps, attempts, counters, display name and reset."""

from collections import defaultdict
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import wraps
from typing import Any

from asgiref.sync import async_to_sync
from django.contrib import messages
from django.contrib.admin import ModelAdmin
from django.db.models import Count, Max
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.http import urlencode
from django.views.decorators.http import require_POST

from mockllm_site.kit.permissions import require_permissions
from scenarios_app.admin.journal.record import may_record, record_panel, session_url
from scenarios_app.admin.journal.verdict import quick_verdicts, verdict_card
from scenarios_app.admin.pages import render_page, scenario_urls
from scenarios_app.control.sessions import reset_sessions
from scenarios_app.engine.state import SessionState, StateUnavailable
from scenarios_app.journal import journal
from scenarios_app.models import UNMATCHED_ROWS, PastAnswers, ServedRequest, SessionName
from scenarios_app.serving.services import services

_MAX_SESSIONS = 500


@dataclass(frozen=True, slots=True)
class JournalCounts:
    """The numbers of a session's requests in the journal, and the time of the last one."""

    requests: int = 0
    unmatched: int = 0
    last: datetime | None = None


@dataclass(slots=True)
class SessionLine:
    """A session in the list, with counts of the journal and its state. `called` is its display
    name, or "". `passed` is the verdict, None if it was not judged."""

    name: str
    seen: JournalCounts
    state: SessionState
    called: str = ""
    passed: bool | None = None

    @property
    def url(self) -> str:
        return session_url(self.name)


def handle_missing_state(view: Callable[..., HttpResponse]) -> Callable[..., HttpResponse]:
    """Wrap a view to answer 503 while the shared session state cannot be reached."""

    @wraps(view)
    def guarded(*args: Any, **kwargs: Any) -> HttpResponse:
        """Return the view's response, or the 503."""
        try:
            return view(*args, **kwargs)
        except StateUnavailable as error:
            plain, headers = "text/plain; charset=utf-8", {"Retry-After": "1"}
            return HttpResponse(f"{error}\n", status=503, content_type=plain, headers=headers)

    return guarded


@handle_missing_state
def sessions_page(request: HttpRequest, owner: "ModelAdmin[ServedRequest]") -> HttpResponse:
    """List the sessions with state or requests, the last used first, at most _MAX_SESSIONS. Raises
    MissingPermission."""
    journal.flush()
    counts = _journal_counts()
    names = {*async_to_sync(services().state.sessions)(), *counts}
    newest = sorted(names, key=lambda name: (_last_used(counts[name]), name), reverse=True)
    newest_names = newest[:_MAX_SESSIONS]
    display_names = display_names_of(newest_names)
    lines = [
        SessionLine(name, counts[name], _read_state(name), display_names.get(name, ""))
        for name in newest_names
    ]
    passed = quick_verdicts(
        (line.name, line.seen.requests, bool(line.seen.unmatched or line.state.violations))
        for line in lines
    )
    for line in lines:
        line.passed = passed.get(line.name)
    context = {
        "lines": lines,
        "left_out": len(newest) - len(newest_names),
        "title": "Sessions",
        "record": record_panel(request, None),
    }
    warn_of_losses(request, None)
    return _render_page(request, owner, "sessions.html", context)


@handle_missing_state
def session_page(request: HttpRequest, owner: "ModelAdmin[ServedRequest]") -> HttpResponse:
    """Show the session `name`; one that does not exist is shown without requests and state. Raises
    MissingPermission."""
    journal.flush()
    name = request.GET.get("name", "")
    state = _read_state(name)
    display_name = display_names_of([name]).get(name, "")
    _, own = async_to_sync(services().state.scenarios_of)(name)
    verdict = verdict_card(name)
    names = {ref.scenario for ref in state.consumed} | {a.step.scenario for a, _ in state.attempts}
    context = {
        "title": f"Session {display_name or name}",
        "line": SessionLine(name, _journal_counts(name)[name], state, display_name),
        "own": sorted(own),
        "record": record_panel(request, name),
        "verdict": verdict,
        "pages": scenario_urls(names | verdict.scenarios),
        "journal": f"{reverse('admin:scenarios_app_servedrequest_changelist')}?"
        + urlencode({"session": name}),
    }
    warn_of_losses(request, name)
    return _render_page(request, owner, "session.html", context)


@require_POST
def rename(request: HttpRequest) -> HttpResponse:
    """Set the display name of the posted session; an empty name removes it. Redirect to its page.
    Raises MissingPermission."""
    require_permissions(request, "scenarios_app.change_scenario")
    session = request.POST.get("session", "")
    name = " ".join(request.POST.get("name", "").split())[:100]
    if not session or len(session) > 255 or "\0" in session + name:
        messages.error(request, "There is no such session.")
        return redirect("admin:scenarios_app_sessions")
    if name:
        SessionName.objects.update_or_create(session=session, defaults={"name": name})
        messages.success(request, f"The display name is “{name}”.")
    else:
        SessionName.objects.filter(session=session).delete()
        messages.success(request, "The display name is removed.")
    return redirect(session_url(session))


@require_POST
@handle_missing_state
def reset(request: HttpRequest) -> HttpResponse:
    """Reset the posted session, or all without a name; with `scenarios` also their own scenarios.
    Redirect to the list. Raises MissingPermission."""
    require_permissions(request, "scenarios_app.change_scenario")
    name = request.POST.get("name")
    reset_session(name, scenarios="scenarios" in request.POST)
    message = "All sessions are reset." if name is None else f"Session “{name}” is reset."
    messages.success(request, message)
    return redirect("admin:scenarios_app_sessions")


def reset_session(name: str | None, *, scenarios: bool) -> None:
    """Reset a session, with `scenarios` also its own scenarios; for None all sessions and the
    answer counts of pruned requests."""
    services().cluster.flush()
    reset_sessions(None if name is None else [name], scenarios=scenarios)
    if name is None:
        PastAnswers.objects.all().delete()


def warn_of_losses(request: HttpRequest, session: str | None) -> None:
    """Show a warning if the journal lacks requests of the session, or for None of any."""
    if warning := journal.dropped_rows.warning(session):
        messages.warning(request, warning)


def _render_page(
    request: HttpRequest,
    owner: "ModelAdmin[ServedRequest]",
    template: str,
    context: Mapping[str, object],
) -> HttpResponse:
    """Render a page of sessions with the user's rights. Raises MissingPermission."""
    require_permissions(request, "scenarios_app.view_servedrequest")
    rights = {
        "may_reset": request.user.has_perm("scenarios_app.change_scenario"),
        "may_record": may_record(request),
    }
    return render_page(request, owner, template, {**context, **rights})


def display_names_of(sessions: Collection[str]) -> dict[str, str]:
    """Return the display names of these sessions, by session; those without one are left out."""
    rows = SessionName.objects.filter(session__in=sessions)
    return dict(rows.values_list("session", "name"))


def _read_state(name: str) -> SessionState:
    return async_to_sync(services().state.read)(name)


def _journal_counts(name: str | None = None) -> defaultdict[str, JournalCounts]:
    """Return counts of journaled requests by session, zeros for others; with `name` only its."""
    rows = ServedRequest.objects.order_by()
    if name is not None:
        rows = rows.filter(session=name)
    unmatched = Count("pk", filter=UNMATCHED_ROWS)
    counted = rows.values_list("session").annotate(Count("pk"), unmatched=unmatched, last=Max("at"))
    counts = {session: JournalCounts(*numbers) for session, *numbers in counted}
    return defaultdict(JournalCounts, counts)


def _last_used(counts: JournalCounts) -> float:
    """Return the Unix time of the last request, 0.0 without any."""
    return counts.last.timestamp() if counts.last else 0.0
