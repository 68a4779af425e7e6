"""What the sidebar asks of a request: who may see a link, and which one stands for this page;
and the figures of the first page."""

from typing import Any

from django.http import HttpRequest
from django.urls import reverse
from django.utils.http import urlencode

from scenarios_app.admin.filters import FOUND, UNANSWERED_BY_ALL
from scenarios_app.catalog import catalog
from scenarios_app.journal import journal
from scenarios_app.models import UNANSWERED, Scenario, ServedRequest
from scenarios_app.wire.registry import ways

_LIST = "/admin/scenarios_app"
IMPORT = ("scenarios_app.add_scenario", "scenarios_app.change_scenario")


def may_see_scenarios(request: HttpRequest) -> bool:
    return request.user.has_perm("scenarios_app.view_scenario")


def may_import(request: HttpRequest) -> bool:
    return request.user.has_perms(IMPORT)


def may_see_journal(request: HttpRequest) -> bool:
    return request.user.has_perm("scenarios_app.view_servedrequest")


def may_see_accounts(request: HttpRequest) -> bool:
    return request.user.has_perm("auth.view_user")


def at_scenarios(request: HttpRequest) -> bool:
    inside = request.path.startswith((f"{_LIST}/scenario/", f"{_LIST}/draft/"))
    elsewhere = at_import(request) or at_try(request) or at_play(request)
    return inside and not elsewhere


def at_try(request: HttpRequest) -> bool:
    return request.path.startswith(f"{_LIST}/") and request.path.endswith("/try/")


def at_play(request: HttpRequest) -> bool:
    return request.path.startswith(f"{_LIST}/") and request.path.endswith("/play/")


def at_import(request: HttpRequest) -> bool:
    return request.path == f"{_LIST}/scenario/import/"


def at_journal(request: HttpRequest) -> bool:
    return request.path.startswith(f"{_LIST}/servedrequest/") and not at_sessions(request)


def at_sessions(request: HttpRequest) -> bool:
    return request.path.startswith(f"{_LIST}/servedrequest/session")


_LATEST = 5


def dashboard(request: HttpRequest, context: dict[str, Any]) -> dict[str, Any]:
    """The page's context with figures that this user may see."""
    tiles: list[tuple[str, int, str, bool]] = []
    origin = f"{request.scheme}://{request.get_host()}"
    context |= {
        "title": "Overview",
        "tiles": tiles,
        "clients": [sdk for wire in ways().values() for sdk in wire.clients(origin)],
    }
    if may_see_scenarios(request):
        enabled = Scenario.objects.filter(enabled=True).count()
        wrong = len({problem.scenario for problem in catalog.problems})
        url = reverse("admin:scenarios_app_scenario_changelist")
        tiles.append(("Scenarios enabled", enabled, f"{url}?enabled__exact=1", False))
        tiles.append(("Left out, with problems", wrong, f"{url}?problems=yes", wrong > 0))
    if may_see_journal(request):
        journal.flush()
        url = reverse("admin:scenarios_app_servedrequest_changelist")
        unmatched = ServedRequest.objects.filter(UNANSWERED)
        lost = unmatched.count()
        query = urlencode({FOUND: UNANSWERED_BY_ALL})
        tiles.append(("Requests in the journal", ServedRequest.objects.count(), url, False))
        tiles.append(("Answered by no step", lost, f"{url}?{query}", lost > 0))
        context["unmatched"] = unmatched.only("at", "path", "model", "session", "near_misses")[
            :_LATEST
        ]
    return context
