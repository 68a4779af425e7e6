"""Permissions and active links of the sidebar; figures and first steps of the overview."""

import json
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

from django.apps import apps
from django.conf import settings
from django.db.models import Exists, OuterRef, Q, QuerySet
from django.http import HttpRequest
from django.urls import reverse
from django.utils.http import urlencode

from scenarios_app.admin.filters import MATCH_PARAMETER, UNMATCHED
from scenarios_app.admin.journal.session_list import display_names_of
from scenarios_app.catalog import catalog
from scenarios_app.journal import journal
from scenarios_app.models import UNMATCHED_ROWS, Revision, Scenario, ServedRequest
from scenarios_app.wire.registry import wires_by_name

_LIST = "/admin/scenarios_app"
IMPORT = ("scenarios_app.add_scenario", "scenarios_app.change_scenario")


def _has_permissions(*permissions: str) -> Callable[[HttpRequest], bool]:
    """Return a function that is true for a request whose user has all these permissions."""
    return lambda request: request.user.has_perms(permissions)


may_see_scenarios = _has_permissions("scenarios_app.view_scenario")
may_see_drafts = _has_permissions("scenarios_app.view_draft")
may_import = _has_permissions(*IMPORT)
may_see_journal = _has_permissions("scenarios_app.view_servedrequest")
may_see_accounts = _has_permissions("auth.view_user")


def is_scenario_page(request: HttpRequest) -> bool:
    """Return True on pages of scenarios and drafts, except *Import* and *Test*."""
    inside = request.path.startswith((f"{_LIST}/scenario/", f"{_LIST}/draft/"))
    return inside and not (is_import_page(request) or is_test_page(request))


def is_test_page(request: HttpRequest) -> bool:
    return request.path.startswith(f"{_LIST}/") and request.path.endswith("/test/")


def is_import_page(request: HttpRequest) -> bool:
    return request.path == f"{_LIST}/scenario/import/"


def is_journal_page(request: HttpRequest) -> bool:
    """Return True on pages of the journal, except those of sessions."""
    return request.path.startswith(f"{_LIST}/servedrequest/") and not is_sessions_page(request)


def is_sessions_page(request: HttpRequest) -> bool:
    """Return True on the list of sessions and the pages below it."""
    return request.path.startswith(f"{_LIST}/servedrequest/session")


_LATEST = 5


def dashboard(request: HttpRequest, context: dict[str, Any]) -> dict[str, Any]:
    """Return the overview's context with the numbers, first steps and latest unmatched requests
    that this user may see."""
    tiles: list[tuple[str, int, str, bool]] = []
    origin = f"{request.scheme}://{request.get_host()}"
    context |= {
        "title": "Overview",
        "tiles": tiles,
        "clients": [sdk for wire in wires_by_name().values() for sdk in wire.sdk_setups(origin)],
    }
    if may_see_scenarios(request):
        enabled = Scenario.objects.filter(enabled=True).count()
        context["file_problems"] = catalog.file_problems
        wrong = len({problem.scenario for problem in catalog.problems})
        url = reverse("admin:scenarios_app_scenario_changelist")
        tiles.append(("Scenarios enabled", enabled, f"{url}?enabled__exact=1", False))
        tiles.append(("Not served: errors", wrong, f"{url}?problems=yes", wrong > 0))
    if may_see_journal(request):
        journal.flush()
        url = reverse("admin:scenarios_app_servedrequest_changelist")
        unmatched = ServedRequest.objects.filter(UNMATCHED_ROWS)
        lost = unmatched.count()
        query = urlencode({MATCH_PARAMETER: UNMATCHED})
        tiles.append(("Requests in the journal", ServedRequest.objects.count(), url, False))
        tiles.append(("Unmatched requests", lost, f"{url}?{query}", lost > 0))
        context["first_steps"] = (
            first_steps(may_publish=request.user.has_perm("scenarios_app.add_scenario"))
            if may_see_scenarios(request)
            else []
        )
        latest: list[Any] = list(
            unmatched.only("at", "path", "model", "session", "near_misses")[:_LATEST]
        )
        called = display_names_of({row.session for row in latest})
        for row in latest:
            row.called = called.get(row.session, row.session)
        context["unmatched"] = latest
    return context


# Fixtures with scenarios that come with this software.
_SHIPPED = ("demo", "auto", "test_mode")


def first_steps(*, may_publish: bool = True) -> list[dict[str, Any]]:
    """Return a new user's first steps, each marked if it is done; empty once all are done. Users
    who may not publish begin with a draft."""
    own = own_scenarios().values("name")
    requests = ServedRequest.objects.order_by()
    answered = requests.filter(scenario__in=own, matched=True).exists()
    steps = [
        {
            "title": "Point a client here",
            "text": "Copy an address from below into your program, and send a request.",
            "url": "#clients",
            "done": answered or requests.exists(),
        },
        {
            "title": "Add a scenario",
            "text": "Say which requests it answers, and type what the model should say.",
            "url": reverse(f"admin:scenarios_app_{'scenario' if may_publish else 'draft'}_add"),
            "done": own.exists(),
        },
        {
            "title": "See it answered",
            "text": "Send a request that your scenario matches; the journal shows it.",
            "url": reverse("admin:scenarios_app_servedrequest_changelist"),
            "done": answered,
        },
    ]
    return [] if all(step["done"] for step in steps) else steps


def own_scenarios() -> QuerySet[Scenario]:
    """Return the scenarios that were not loaded from a shipped fixture."""
    loaded = [f"loaded from {fixture}" for fixture in _SHIPPED]
    revisions = Revision.objects.filter(kind="scenario", key=OuterRef("key"))
    otherwise = revisions.first_of_each().exclude(reason__in=loaded)
    is_own = ~Q(name__in=shipped_names()) | Exists(otherwise)
    return Scenario.objects.filter(is_own)


@cache
def shipped_names() -> frozenset[str]:
    """Return the names of the scenarios in the shipped fixtures."""
    folders = [*settings.FIXTURE_DIRS, Path(apps.get_app_config("scenarios_app").path) / "fixtures"]
    files = [Path(folder) / f"{name}.json" for folder in folders for name in _SHIPPED]
    rows = [row for file in files if file.is_file() for row in json.loads(file.read_text("utf-8"))]
    return frozenset(r["fields"]["name"] for r in rows if r["model"] == "scenarios_app.scenario")
