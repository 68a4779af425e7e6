"""The pages of sessions: verdict, used steps, attempts, counters, display name and reset."""

from collections.abc import Callable, Mapping
from functools import wraps
from typing import Any

from asgiref.sync import async_to_sync
from django.contrib import messages
from django.contrib.admin import ModelAdmin
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.http import urlencode
from django.views.decorators.http import require_POST

from mockllm_site.kit.permissions import require_permissions
from scenarios_app.admin.journal.record import may_record, record_panel, session_url
from scenarios_app.admin.journal.session_list import (
    FoundSession,
    display_names_of,
    find_sessions,
    journal_counts,
    lines_of,
    names_for_people,
)
from scenarios_app.admin.journal.verdict import judge_lines, verdict_card
from scenarios_app.admin.pages import render_page, scenario_urls
from scenarios_app.control.sessions import reset_sessions
from scenarios_app.engine.state import StateUnavailable
from scenarios_app.journal import journal
from scenarios_app.models import PastAnswers, ServedRequest, SessionName
from scenarios_app.serving.services import services

_MAX_SESSIONS = 100


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
    """List the sessions that match the search `?q=`, the last used first, at most _MAX_SESSIONS.
    Raises MissingPermission."""
    journal.flush()
    query = " ".join(request.GET.get("q", "").split())
    sessions = find_sessions(query)
    lines = lines_of(sessions[:_MAX_SESSIONS])
    context = {
        "lines": lines,
        "waiting": judge_lines(lines),
        "query": query,
        "left_out": len(sessions) - len(lines),
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
    display_name = display_names_of([name]).get(name, "")
    (line,) = lines_of([FoundSession(name, display_name, journal_counts(name)[name])])
    _, own = async_to_sync(services().state.scenarios_of)(name)
    verdict = verdict_card(line)
    names = {ref.scenario for ref in line.state.consumed}
    names |= {attempt.step.scenario for attempt, _ in line.state.attempts}
    context = {
        "title": f"Session {names_for_people([name]).get(name, name)}",
        "line": line,
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
