"""The page *Trash* with deleted scenarios, their history and *Restore*; messages on deletion."""

from typing import Any

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.html import format_html
from django.views.decorators.http import require_POST

from scenarios_app.admin.journal.requests import answered_by_scenario
from scenarios_app.admin.pages import render_page
from scenarios_app.models import Scenario
from scenarios_app.store import trash
from scenarios_app.store.history import versions_of


def trash_page(request: HttpRequest, owner: Any) -> HttpResponse:
    """List the deleted scenarios, the latest first."""
    owner.require(request, "view")
    context = {
        "title": "Trash",
        "entries": trash.trash_entries(),
        "days": trash.retention_days(),
        "may_restore": owner.has_add_permission(request),
    }
    return render_page(request, owner, "trash.html", context)


def deleted_history_page(request: HttpRequest, owner: Any, revision: int) -> HttpResponse:
    """Show the history of a deleted scenario."""
    owner.require(request, "view")
    scenario = _deleted_scenario(revision)
    context = {
        "title": f"History of {scenario}",
        "original": scenario,
        "page": reverse("admin:scenarios_app_scenario_trash"),
        "versions": versions_of(scenario),
        "deleted": True,
    }
    return render_page(request, owner, "history.html", context)


@require_POST
def restore_view(request: HttpRequest, owner: Any, revision: int) -> HttpResponse:
    """Restore a deleted scenario, under another name if its own is taken, and redirect to its page.
    Raises MissingPermission and Http404."""
    owner.require(request, "add")
    old_name = _deleted_scenario(revision).name
    try:
        scenario = trash.restore(revision)
    except Scenario.DoesNotExist:
        raise Http404 from None
    owner.log_addition(request, scenario, "Restored from the trash.")
    is_renamed = scenario.name != old_name
    under = f" as “{scenario}”, because its name is taken" if is_renamed else ""
    messages.success(request, f"“{old_name}” is restored{under}.")
    return redirect("admin:scenarios_app_scenario_change", scenario.pk)


def deletion_context(names: list[str]) -> dict[str, Any]:
    """Return the context of the page that asks before deleting these scenarios: their answers, and
    for how many days the trash keeps them."""
    hits = answered_by_scenario(names)
    return {
        "going": [(name, hits[name]) for name in sorted(names, key=str.casefold)],
        "days": trash.retention_days(),
    }


def report_deletion(request: HttpRequest, name: str) -> None:
    """Tell the user that a scenario is deleted and where to restore it."""
    days = trash.retention_days()
    url = reverse("admin:scenarios_app_scenario_trash")
    text = '“{}” is deleted. <a class="sc-link" href="{}">The trash</a> keeps it for {} day{}.'
    messages.success(request, format_html(text, name, url, days, "" if days == 1 else "s"))


def _deleted_scenario(revision: int) -> Scenario:
    """Return a scenario in the trash as an unsaved row. Raises Http404."""
    try:
        return trash.deleted_scenario(revision)
    except Scenario.DoesNotExist:
        raise Http404 from None
