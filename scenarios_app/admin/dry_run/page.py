"""The page *Test*: dry runs against published scenarios, a draft or unsaved edits, a tab for each
kind. No step is used up, and nothing is counted or journalled."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.http import urlencode

from mockllm_site.kit.admin.kept_forms import mark_saved
from scenarios_app.admin.dry_run.conversation_tab import conversation_context
from scenarios_app.admin.dry_run.inputs import DryRunScenario, TryForm, dry_run_scenario
from scenarios_app.admin.dry_run.request_tab import request_context
from scenarios_app.admin.dry_run.user_tab import user_context
from scenarios_app.admin.pages import render_page

TabContext: TypeAlias = Callable[
    [HttpRequest, Any, Mapping[str, str], DryRunScenario], dict[str, Any] | HttpResponse
]


@dataclass(frozen=True, slots=True)
class Tab:
    """A tab: its title, icon and template, the fields that a person fills in, and the function that
    returns its context, or a file."""

    title: str
    icon: str
    template: str
    fields: frozenset[str]
    context: TabContext


TABS: Final[Mapping[str, Tab]] = {
    "request": Tab(
        *("One request", "science", "test_request.html"),
        frozenset(TryForm.base_fields),
        request_context,
    ),
    "conversation": Tab(
        *("Conversation", "play_circle", "test_conversation.html"),
        frozenset({"conversation"}),
        conversation_context,
    ),
    "user": Tab(
        *("Scripted user", "record_voice_over", "test_user.html"), frozenset(), user_context
    ),
}


def dry_run_page(request: HttpRequest, owner: Any) -> HttpResponse:
    """Show the tab `?tab=` for the scenario or draft that the fields name; without one all
    published scenarios answer. Raises MissingPermission of `owner`."""
    owner.require(request, "view")
    fields = (request.POST if request.method == "POST" else request.GET).dict()
    return mark_saved(request, show_dry_run(request, owner, fields))


def show_dry_run(request: HttpRequest, owner: Any, fields: Mapping[str, str]) -> HttpResponse:
    """Return the tab of the query or field `tab` with the result of its dry run. The form holds the
    fields of the other tabs too, so that a change of tabs loses nothing."""
    key = request.GET.get("tab") or fields.get("tab", "")
    key = key if key in TABS else "request"
    tab = TABS[key]
    tried = dry_run_scenario(fields)
    context = tab.context(request, owner, fields, tried)
    if isinstance(context, HttpResponse):
        return context
    name = context.get("name", tried.name)
    others = {field for other in TABS.values() for field in other.fields} - tab.fields
    form_data = fields if request.method == "POST" else {}
    query = _query_of(request, tried, name)
    shared = {
        "title": f"Test {name}" if name else "Test",
        "tried": tried,
        "name": name,
        "url": _tab_url(key, query),
        "tabs": [
            (each.title, each.icon, _tab_url(other, query), other == key)
            for other, each in TABS.items()
        ],
        "hidden": {
            "scenario": name,
            **tried.hidden,
            **{field: value for field, value in form_data.items() if field in others},
        },
    }
    return render_page(request, owner, tab.template, shared | context)


def redirect_to_tab(request: HttpRequest, tab: str) -> HttpResponse:
    """Redirect an address of earlier versions, with its query and what is posted to it."""
    query = request.GET.dict() | {"tab": tab}
    return redirect(_tab_url(tab, query), preserve_request=request.method == "POST")


def _query_of(request: HttpRequest, tried: DryRunScenario, name: str) -> dict[str, str]:
    """Return the query that finds the same scenario and journal entry again. Unsaved edits have
    none: they are in the form."""
    query = {key: request.GET[key] for key in ("request",) if key in request.GET}
    if not tried.unsaved and name:
        query |= {"draft": tried.hidden["draft"]} if tried.url else {"scenario": name}
    return query


def _tab_url(tab: str, query: Mapping[str, str]) -> str:
    """Return the address of a tab."""
    url = reverse("admin:scenarios_app_scenario_test")
    return f"{url}?{urlencode({**query, 'tab': tab})}"
