"""The journal in the admin: list, filters and a page for each request; and how often each scenario
has answered."""

import json
from collections import defaultdict
from collections.abc import Callable, Collection
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Any
from uuid import UUID

from django.contrib import admin, messages
from django.contrib.admin.utils import unquote
from django.contrib.admin.views.main import ChangeList
from django.db.models import Count, Max, Q, QuerySet
from django.forms import Script
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import get_object_or_404, redirect
from django.urls import URLPattern, path, reverse
from django.utils.html import format_html
from unfold.paginator import InfinitePaginator

from mockllm_site.kit.admin.records import RecordAdmin, column
from mockllm_site.kit.permissions import MissingPermission, require_permissions
from scenarios_app.admin.filters import AnsweredByFilter, MatchFilter, ProviderFilter, SessionFilter
from scenarios_app.admin.journal.body_search import search_bodies
from scenarios_app.admin.journal.from_request import curl_of
from scenarios_app.admin.journal.make_step import DRAFT, make_step_page, may_make_step
from scenarios_app.admin.journal.record import record, session_url
from scenarios_app.admin.journal.session_list import display_names_of
from scenarios_app.admin.journal.sessions import (
    rename,
    reset,
    session_page,
    sessions_page,
    warn_of_losses,
)
from scenarios_app.admin.pages import find_row, render_page, scenario_urls
from scenarios_app.journal import journal
from scenarios_app.models import UNMATCHED_ROWS, Outcome, ServedRequest, SessionName
from scenarios_app.templatetags.scenarios_admin import ago

# Columns that the list does not need and that may be large.
_LARGE_COLUMNS = ("query", "request_text", "response_headers", "response_text", "parts")

_TIMINGS = {"chosen_ms": "Matching took", "head_ms": "First byte after"}


@admin.register(ServedRequest)
class JournalAdmin(RecordAdmin):
    class Media:
        js = (Script("scenarios_app/journal.js", type="module"),)

    list_display = (
        "when",
        "request_line",
        "message_and_answer",
        "answered_by",
        "result",
        "duration",
        "session_name",
    )
    list_filter = (SessionFilter, ProviderFilter, AnsweredByFilter, MatchFilter, "outcome")
    search_fields = (
        "request_preview",
        "response_preview",
        "path",
        "model",
        "scenario",
        "step",
        "session",
    )
    search_help_text = "Text of messages, bodies, paths, sessions …"
    ordering = ("-pk",)
    list_per_page = 50
    paginator = InfinitePaginator
    duration = column(
        "Duration",
        lambda served: f"{served.duration_ms:,.0f}\N{NO-BREAK SPACE}ms",
        ordering="duration_ms",
    )

    def get_urls(self) -> list[URLPattern]:
        def page(route: str, view: Callable[..., HttpResponseBase], name: str) -> URLPattern:
            return path(route, self.admin_site.admin_view(view), name=f"scenarios_app_{name}")

        return [
            page("sessions/", partial(sessions_page, owner=self), "sessions"),
            page("session/", partial(session_page, owner=self), "session"),
            page("session/reset/", reset, "session_reset"),
            page("session/rename/", rename, "session_rename"),
            page("make-step/", self.make_step_of_latest, "make_step_of_latest"),
            page("session/record/", record, "session_record"),
            page("<int:pk>/make-step/", self.make_step, "make_step"),
            *super().get_urls(),
        ]

    def get_queryset(self, request: HttpRequest) -> QuerySet[ServedRequest]:
        return super().get_queryset(request).defer(*_LARGE_COLUMNS)

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[ServedRequest], search_term: str
    ) -> tuple[QuerySet[ServedRequest], bool]:
        """Return the one request whose id is the search term; else those with the term in a search
        field, a session's display name or a body, as far as `search_bodies` comes."""
        try:
            return queryset.filter(uid=UUID(search_term.strip())), False
        except ValueError:
            rows, distinct = super().get_search_results(request, queryset, search_term)
        if term := search_term.strip():
            renamed_sessions = SessionName.objects.filter(name__icontains=term).values("session")
            ids, searched = search_bodies(queryset, term)
            rows |= queryset.filter(Q(session__in=renamed_sessions) | Q(pk__in=ids))
            if searched is not None:
                text = f"Bodies were searched in the newest {searched:,} of these requests."
                messages.info(request, text)
        return rows, distinct

    def get_changelist_instance(self, request: HttpRequest) -> ChangeList:
        """Add the display name of its session to each listed row."""
        changelist = super().get_changelist_instance(request)
        called = display_names_of({row.session for row in changelist.result_list})
        for row in changelist.result_list:
            row.called = called.get(row.session, "")
        return changelist

    def changelist_view(
        self, request: HttpRequest, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        """Show the list, with a warning if rows were lost. Only the first page is updated live."""
        journal.flush()
        warn_of_losses(request, request.GET.get("session"))
        live = {"live": "p" not in request.GET, "here": f"?{request.GET.urlencode()}"}
        return super().changelist_view(
            request, {"title": "Journal", **live, **(extra_context or {})}
        )

    def change_view(
        self,
        request: HttpRequest,
        object_id: str,
        form_url: str = "",
        extra_context: dict[str, Any] | None = None,
    ) -> HttpResponse:
        """Show one request, the decision and the response, all read-only."""
        journal.flush()
        self._require_view(request)
        served = find_row(ServedRequest, unquote(object_id))
        if served is None:
            return self._get_obj_does_not_exist_redirect(request, self.opts, object_id)
        names = {served.scenario, *(str(miss.get("scenario")) for miss in served.near_misses)}
        context = {
            "media": self.media,
            "title": f"{served.method} {served.path}",
            "served": served,
            "told": outcome_badge(served),
            "session_url": session_url(served.session),
            "pages": scenario_urls(names),
            "curl": curl_of(served, request.build_absolute_uri("/").removesuffix("/")),
            "test_url": f"{reverse('admin:scenarios_app_scenario_test')}?request={served.pk}",
            "may_make": may_make_step(request),
            "timings": [(_TIMINGS.get(k, k), v) for k, v in served.timings.items()],
            "request_body": indent_json(served.request_body),
            "response_body": indent_json(served.response_body),
        }
        return render_page(request, self, "served_request.html", context)

    def _require_view(self, request: HttpRequest) -> None:
        """Raise MissingPermission unless the user may view the journal."""
        if not self.has_view_permission(request):
            raise MissingPermission(VIEW_PERMISSION)

    def make_step(self, request: HttpRequest, pk: int) -> HttpResponse:
        """Return `make_step_page` for this request. Raises MissingPermission and Http404."""
        self._require_view(request)
        if not may_make_step(request):
            require_permissions(request, *DRAFT)
        journal.flush()
        return make_step_page(request, self, get_object_or_404(ServedRequest, pk=pk))

    def make_step_of_latest(self, request: HttpRequest) -> HttpResponse:
        """Redirect to *Make a step* for a session's latest unmatched request, or to the journal
        without one. Users who may not make a step are redirected to the request."""
        self._require_view(request)
        journal.flush()
        session = request.GET.get("session", "")
        rows = ServedRequest.objects.filter(UNMATCHED_ROWS, session__in=_with_comparisons(session))
        latest = rows.values_list("pk", flat=True).first()
        if latest is None:
            messages.info(request, "The journal has no unmatched request of this session.")
            return redirect("admin:scenarios_app_servedrequest_changelist")
        page = "make_step" if may_make_step(request) else "servedrequest_change"
        return redirect(f"admin:scenarios_app_{page}", latest)

    @admin.display(description="When", ordering="pk")
    def when(self, served: ServedRequest) -> str:
        return format_html(
            '{}<span class="sc-under">{}</span>', f"{served.at:%H:%M:%S}", ago(served.at)
        )

    @admin.display(description="Request", ordering="path")
    def request_line(self, served: ServedRequest) -> str:
        # A narrow column cuts the end off, and an answer over a WebSocket is always streamed.
        words = (
            "WebSocket" if served.is_over_socket else "",
            served.provider,
            served.model,
            "streamed" if served.streamed and not served.is_over_socket else "",
        )
        return format_html(
            '{0}{1}<span class="sc-under" title="{2}">{2}</span>',
            "" if served.method == "POST" else f"{served.method} ",
            served.path,
            ", ".join(filter(None, words)),
        )

    @admin.display(description="Message / answer")
    def message_and_answer(self, served: ServedRequest) -> str:
        return format_html(
            '<span class="sc-talk"><span class="sc-said" title="{0}">{0}</span>'
            '<span class="sc-said sc-under" title="{1}">{1}</span></span>',
            served.request_preview,
            served.response_preview,
        )

    @admin.display(description="Answered by", ordering="scenario")
    def answered_by(self, served: ServedRequest) -> str:
        """Return scenario and step as HTML, or the closest step of an unmatched request."""
        if served.is_unmatched:
            near = nearest(served.near_misses)
            return format_html('–<span class="sc-under">{}</span>', near and f"closest: {near}")
        return format_html('{}<span class="sc-under">step {}</span>', served.scenario, served.step)

    @admin.display(description="Result", ordering="outcome")
    def result(self, served: ServedRequest) -> str:
        """Return a badge with outcome and status, and below it the fault and violations."""
        tone, words = outcome_badge(served)
        more = [*([f"fault {served.fault}"] if served.fault else ()), *served.violations]
        if served.fallback:
            words = "default answer"
            if served.outcome != Outcome.COMPLETE:
                more.insert(0, str(served.get_outcome_display()))
            more.insert(0, "no scenario matched")
        return format_html(
            '<span class="sc-outcome sc-{}">{} {}</span><span class="sc-under">{}</span>',
            tone,
            served.status,
            words,
            "; ".join(more),
        )

    @admin.display(description="Session", ordering="session")
    def session_name(self, served: Any) -> str:
        called = getattr(served, "called", "")
        return format_html(
            '<span class="sc-session" title="{}">{}</span>',
            served.session,
            called or served.session,
        )


def _with_comparisons(name: str) -> list[str]:
    """Return the session and, for a chat, those of its A/B runs: NAME-a and NAME-b."""
    return [name, *([f"{name}-a", f"{name}-b"] if name.startswith("chat-") else [])]


def outcome_badge(served: ServedRequest) -> tuple[str, str]:
    """Return the end of the CSS class (`sc-…`) and the text of a request's outcome."""
    words = str(served.get_outcome_display())
    if not served.fallback:
        return served.outcome, words
    default = "no scenario matched (default answer)"
    return "fallback", default if served.outcome == Outcome.COMPLETE else f"{default}, {words}"


def nearest(near_misses: Any) -> str:
    """Return why the nearest step did not answer, or an empty string."""
    for miss in near_misses or ():
        for mismatch in miss.get("mismatches", ()):
            place = f"{miss.get('scenario')}, step {miss.get('step')}"
            return (
                f"{place}: {mismatch.get('field')} wanted {mismatch.get('expected')}, "
                f"got {mismatch.get('actual')}"
            )
    return ""


def indent_json(body: str) -> str:
    """Return JSON indented, and any other text, such as a stream or a cut body, unchanged."""
    try:
        text = json.dumps(json.loads(body), ensure_ascii=False, indent=2)
    except (ValueError, RecursionError):
        return body
    # JSON can contain half of a surrogate pair, which cannot be encoded.
    return text.encode("utf-8", "backslashreplace").decode()


VIEW_PERMISSION = "scenarios_app.view_servedrequest"


@dataclass(frozen=True, slots=True)
class AnswerCount:
    """The number of answers of a scenario, and the time of the last; None if never."""

    count: int = 0
    last: datetime | None = None


def answered_by_scenario(names: Collection[str]) -> defaultdict[str, AnswerCount]:
    """Return the number of journaled answers and the time of the last one, by scenario name."""
    journal.flush()
    rows = ServedRequest.objects.filter(scenario__in=names).order_by()
    # Both numbers are read from the index alone.
    counted = list(rows.values_list("scenario").annotate(Count("pk"), Max("pk")))
    last = ServedRequest.objects.filter(pk__in=[pk for _, _, pk in counted])
    times = dict(last.order_by().values_list("pk", "at"))
    hits = {name: AnswerCount(count, times.get(pk)) for name, count, pk in counted}
    return defaultdict(AnswerCount, hits)
