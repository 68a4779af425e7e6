"""The search of Ctrl+K: pages, scenarios, drafts, sessions and requests whose name contains a text,
as far as the user may see them."""

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice
from typing import Any, Final
from uuid import UUID

from django.contrib import admin
from django.db.models import BooleanField, ExpressionWrapper, Max, Model, Q
from django.db.models.functions import Lower
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.cache import never_cache

from mockllm_site.kit.admin.records import admin_url, excerpt
from scenarios_app.admin.journal.session_list import find_sessions
from scenarios_app.admin.site import may_see_drafts, may_see_journal, may_see_scenarios
from scenarios_app.engine.state import StateUnavailable
from scenarios_app.journal import journal
from scenarios_app.models import Draft, Scenario, ServedRequest

# Results of each kind, and the newest requests whose messages are searched.
MAX_RESULTS: Final = 6
MAX_SEARCHED_REQUESTS: Final = 2_000
_MAX_TERM_CHARS: Final = 200


@dataclass(frozen=True, slots=True)
class Result:
    """A page to jump to; `kind` says what it shows."""

    title: str
    kind: str
    url: str
    icon: str


@never_cache
def palette_results(request: HttpRequest) -> HttpResponse:
    """Return the results for `?s=` as an HTML fragment, at most MAX_RESULTS of each kind."""
    term = " ".join(request.GET.get("s", "").replace("\0", "").split())[:_MAX_TERM_CHARS]
    results = list(_find_results(request, term)) if term else []
    context = {"results": results, "term": term}
    return render(request, "scenarios_app/admin/palette_results.html", context)


def _find_results(request: HttpRequest, term: str) -> Iterator[Result]:
    """Yield the results by kind."""
    yield from islice(_find_pages(request, term.casefold()), MAX_RESULTS)
    if may_see_scenarios(request):
        yield from _find_rows(Scenario, term, icon="theater_comedy")
    if may_see_drafts(request):
        yield from _find_rows(Draft, term, icon="edit_note")
    if may_see_journal(request):
        journal.flush()
        # Without the shared state of sessions, everything else can still be found.
        with suppress(StateUnavailable):
            for session in find_sessions(term)[:MAX_RESULTS]:
                yield Result(session.called or session.name, "Session", session.url, "group_work")
        yield from _find_requests(term)


def _find_pages(request: HttpRequest, term: str) -> Iterator[Result]:
    """Yield the links of the menu whose title contains the text."""
    site: Any = admin.site
    for group in site.get_sidebar_list(request):
        for item in group["items"]:
            if item["has_permission"] and term in str(item["title"]).casefold():
                yield Result(str(item["title"]), "Page", str(item["link"]), item["icon"])


def _find_rows(model: type[Model], term: str, *, icon: str) -> Iterator[Result]:
    """Yield scenarios or drafts by name, first those that begin with the text."""
    begins = ExpressionWrapper(Q(name__istartswith=term), output_field=BooleanField())
    rows = model._default_manager.filter(name__icontains=term).annotate(begins=begins)
    for row in rows.order_by("-begins", Lower("name"))[:MAX_RESULTS]:
        kind = str(model._meta.verbose_name).capitalize()
        yield Result(str(row), kind, admin_url(row), icon)


def _find_requests(term: str) -> Iterator[Result]:
    """Yield the request of this id, else the newest ones by message or path."""
    rows = ServedRequest.objects.only("at", "path", "request_preview")
    try:
        rows = rows.filter(uid=UUID(term))
    except ValueError:
        newest = ServedRequest.objects.order_by().aggregate(newest=Max("pk"))["newest"] or 0
        by_text = Q(request_preview__icontains=term) | Q(path__icontains=term)
        rows = rows.filter(by_text, pk__gt=newest - MAX_SEARCHED_REQUESTS)
    for row in rows.order_by("-pk")[:MAX_RESULTS]:
        title = excerpt(row.request_preview) or row.path
        yield Result(title, f"Request, {row.at:%H:%M:%S}", admin_url(row), "receipt_long")
