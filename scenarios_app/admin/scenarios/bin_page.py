"""The bin: deleted scenarios with their past and the way back; and what is told of a deletion."""

from typing import Any

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils.html import format_html
from django.views.decorators.http import require_POST

from scenarios_app.admin.journal.requests import NONE, answered_by_scenario
from scenarios_app.models import Scenario
from scenarios_app.store import bin as the_bin
from scenarios_app.store.history import versions_of


def bin_page(request: HttpRequest, owner: Any) -> HttpResponse:
    """What is in it, the latest first."""
    owner.require(request, "view")
    return _page(
        request,
        owner,
        "bin.html",
        {
            "title": "Bin",
            "binned": the_bin.binned(),
            "days": the_bin.days(),
            "may_restore": owner.has_add_permission(request),
        },
    )


def binned_page(request: HttpRequest, owner: Any, pk: int) -> HttpResponse:
    """The past of one that is in it."""
    owner.require(request, "view")
    scenario = _row(pk)
    return _page(
        request,
        owner,
        "history.html",
        {
            "title": f"History of {scenario}",
            "original": scenario,
            "page": reverse("admin:scenarios_app_scenario_bin"),
            "versions": versions_of(scenario),
            "deleted": True,
        },
    )


@require_POST
def restore(request: HttpRequest, owner: Any, pk: int) -> HttpResponse:
    """Bring one back."""
    owner.require(request, "add")
    was = _row(pk).name
    scenario = the_bin.bring_back(pk)
    owner.log_addition(request, scenario, "Brought back from the bin.")
    told = f"“{was}” is back"
    if scenario.name != was:
        told += f", as “{scenario}”: its name is taken"
    messages.success(request, f"{told}.")
    return redirect("admin:scenarios_app_scenario_change", scenario.pk)


def about_to_go(names: list[str]) -> dict[str, Any]:
    """What the page that asks before a deletion tells of it."""
    hits = answered_by_scenario(names)
    return {
        "going": [(name, hits.get(name, NONE)) for name in sorted(names, key=str.casefold)],
        "days": the_bin.days(),
    }


def tell_gone(request: HttpRequest, name: str) -> None:
    """Say where it is now."""
    days = the_bin.days()
    url = reverse("admin:scenarios_app_scenario_bin")
    text = '“{}” is deleted. <a class="sc-link" href="{}">The bin</a> keeps it for {} day{}.'
    messages.success(request, format_html(text, name, url, days, "" if days == 1 else "s"))


def _row(pk: int) -> Scenario:
    try:
        return the_bin.deleted_row(pk)
    except Scenario.DoesNotExist:
        raise Http404 from None


def _page(request: HttpRequest, owner: Any, name: str, context: dict[str, Any]) -> HttpResponse:
    shown = {**owner.admin_site.each_context(request), **context}
    return TemplateResponse(request, f"scenarios_app/admin/{name}", shown)
