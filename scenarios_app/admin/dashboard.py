"""The admin's first page: what is scripted, what was asked, and what nothing answered."""

from typing import Any

from django.http import HttpRequest
from django.urls import reverse
from django.utils.http import urlencode

from scenarios_app.admin.site import may_see_journal, may_see_scenarios
from scenarios_app.catalog import catalog
from scenarios_app.journal import journal
from scenarios_app.models import Outcome, Scenario, ServedRequest

_LATEST = 5


def dashboard(request: HttpRequest, context: dict[str, Any]) -> dict[str, Any]:
    """The page's context with figures that this user may see."""
    tiles: list[tuple[str, int, str, bool]] = []
    context |= {
        "title": "Overview",
        "tiles": tiles,
        "origin": f"{request.scheme}://{request.get_host()}",
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
        unmatched = ServedRequest.objects.filter(outcome=Outcome.UNMATCHED)
        lost = unmatched.count()
        query = urlencode({"outcome__exact": Outcome.UNMATCHED.value})
        tiles.append(("Requests in the journal", ServedRequest.objects.count(), url, False))
        tiles.append(("Answered by no step", lost, f"{url}?{query}", lost > 0))
        context["unmatched"] = unmatched.only("at", "path", "model", "session", "near_misses")[
            :_LATEST
        ]
    return context
