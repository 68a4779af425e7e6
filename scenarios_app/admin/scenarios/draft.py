"""Drafts in the admin: a list of them, the scenario's page once more, publishing and discarding."""

from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import Any

from django.contrib import admin, messages
from django.contrib.admin.views.main import ChangeList
from django.db.models import QuerySet
from django.db.models.functions import Lower
from django.forms import BaseFormSet, ModelForm
from django.http import HttpRequest, HttpResponse, HttpResponseNotAllowed
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.urls import URLPattern
from django.utils import timezone
from django.utils.html import format_html

from mockllm_site.kit.permissions import require
from scenarios_app.admin.editor.layout import SCENARIO_CELLS, STEP_CELLS
from scenarios_app.admin.editor.page import Button, ScenarioPage
from scenarios_app.admin.editor.problems import scenario_problem, step_problem
from scenarios_app.admin.editor.rows import Told
from scenarios_app.admin.editor.step_inline import DraftStepInline
from scenarios_app.admin.filters import DraftFilter
from scenarios_app.admin.scenarios.list import number_of_steps
from scenarios_app.catalog.lint import suspicions_in_place
from scenarios_app.engine.document import DocumentError, compile_scenario, load_text
from scenarios_app.engine.matching.lint import Suspicion
from scenarios_app.models import Draft, DraftStep
from scenarios_app.store import RowProblem, document_of, drafts, limits
from scenarios_app.store.drafts import (
    NotPublished,
    Publication,
    drafted,
    publication_of,
    publish,
)
from scenarios_app.store.history import authors_of
from scenarios_app.templatetags.scenarios_admin import ago

PUBLISH = "_publish"
_SAVED = "Saved as a draft. Requests are answered from it once it is published."


@admin.register(Draft)
class DraftAdmin(ScenarioPage):
    inlines = (DraftStepInline,)
    list_display = ("title", "draft_of", "step_count", "by", "changed")
    list_filter = (DraftFilter,)
    search_fields = ("name", "description", "steps__name", "steps__answer_text")
    ordering = (Lower("name"), "pk")
    list_per_page = 50
    delete_confirmation_template = "scenarios_app/admin/discard.html"

    # ── The list ──

    def get_queryset(self, request: HttpRequest) -> QuerySet[Draft]:
        rows: QuerySet[Draft] = super().get_queryset(request).select_related("published")
        return rows.annotate(steps_in_it=number_of_steps(DraftStep))

    def get_changelist_instance(self, request: HttpRequest) -> ChangeList:
        changelist = super().get_changelist_instance(request)
        authors = authors_of(changelist.result_list)
        for row in changelist.result_list:
            row.author = authors[row.pk]
        return changelist

    @admin.display(description="Name", ordering=Lower("name"))
    def title(self, draft: Draft) -> str:
        return draft.name

    @admin.display(description="Draft of", ordering=Lower("published__name"))
    def draft_of(self, draft: Draft) -> str:
        if draft.published is None:
            return format_html('<span class="sc-tag">{}</span>', "not published yet")
        return draft.published.name

    @admin.display(description="Steps", ordering="steps_in_it")
    def step_count(self, draft: Any) -> int:
        return int(draft.steps_in_it)

    @admin.display(description="By")
    def by(self, draft: Any) -> str:
        return str(getattr(draft, "author", ""))

    @admin.display(description="Changed", ordering="updated_at")
    def changed(self, draft: Draft) -> str:
        return ago(draft.updated_at)

    # ── The page ──

    def get_urls(self) -> list[URLPattern]:
        publish = self.page("<path:object_id>/publish/", self.publish_one, "publish")
        make = self.page("from-document/", self.make_draft, "from_document")
        return [publish, make, *super().get_urls()]

    def served_name(self, obj: Draft | None) -> str:
        return obj.published.name if obj and obj.published else ""

    def shown_besides(self, request: HttpRequest, obj: Draft | None) -> dict[str, Any]:
        besides: dict[str, Any] = {
            "show_save_and_continue": False,
            "show_delete": False,
        }
        if obj is None:
            return besides
        stored = Draft.objects.select_related("published").get(pk=obj.pk)
        found = publication_of(stored)
        may_publish = request.user.has_perms(to_publish(stored))
        if may_publish:
            besides["actions_submit_line"] = [Button(PUBLISH, "Save and publish…")]
        return besides | {
            "publication": found,
            "wrong": list(wrong_in(stored, found.problems)),
            "suspicions": _suspicions(stored, found, self.served_name(stored)),
            "try_query": f"draft={obj.pk}",
            "published": stored.published,
            "made_by": authors_of([stored])[stored.pk],
            "made_at": stored.created_at,
            "may_publish": may_publish,
            "may_discard": self.has_delete_permission(request, stored),
        }

    def bring_back(self, obj: Draft, moment: datetime) -> None:
        drafts.restore(obj, moment)

    def save_related(
        self,
        request: HttpRequest,
        form: "ModelForm[Any]",
        formsets: "list[BaseFormSet[Any]]",
        change: bool,
    ) -> None:
        super().save_related(request, form, formsets, change)
        Draft.objects.filter(pk=form.instance.pk).update(updated_at=timezone.now())

    def response_add(
        self, request: HttpRequest, obj: Draft, post_url_continue: str | None = None
    ) -> HttpResponse:
        return self._saved(request, obj)

    def response_change(self, request: HttpRequest, obj: Draft) -> HttpResponse:
        return self._saved(request, obj)

    def _saved(self, request: HttpRequest, draft: Draft) -> HttpResponse:
        if PUBLISH in request.POST:
            return redirect("admin:scenarios_app_draft_publish", draft.pk)
        messages.success(request, _SAVED)
        return redirect(self.page_of(draft))

    def publish_one(self, request: HttpRequest, object_id: str) -> HttpResponse:
        draft = self.row_of(request, object_id, "view")
        require(request, *to_publish(draft))
        return publish_page(request, self, draft)

    def make_draft(self, request: HttpRequest) -> HttpResponse:
        """A draft of the posted document, such as the one that a trace gives."""
        self.require(request, "add")
        if request.method != "POST":
            return HttpResponseNotAllowed(["POST"])
        given = request.POST.get("document", "").encode("utf-8", "replace")
        try:
            (document,) = load_text(given, limits=limits())
        except DocumentError as error:
            messages.error(request, f"No draft was made: {error}")
        except ValueError:
            messages.error(request, "No draft was made: it takes one scenario at a time.")
        else:
            draft = drafted(document)
            self.log_addition(request, draft, "Made from a document.")
            messages.success(request, _SAVED)
            return redirect(self.page_of(draft))
        return redirect("admin:scenarios_app_draft_changelist")

    # ── Discarding ──

    def delete_view(
        self, request: HttpRequest, object_id: str, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        # Looked at before it is gone.
        draft = self.row_of(request, object_id, "delete")
        response = super().delete_view(request, object_id, extra_context)
        if request.method == "POST" and draft.published is not None:
            return redirect("admin:scenarios_app_scenario_change", draft.published.pk)
        return response

    def delete_model(self, request: HttpRequest, obj: Draft) -> None:
        drafts.discard(obj)

    def delete_queryset(self, request: HttpRequest, queryset: QuerySet[Draft]) -> None:
        for draft in queryset:
            drafts.discard(draft)


def to_publish(draft: Draft) -> tuple[str, str]:
    """The permissions that publishing it needs: it changes a scenario or makes a new one."""
    change = "add" if draft.published is None else "change"
    return "scenarios_app.publish_draft", f"scenarios_app.{change}_scenario"


def _suspicions(draft: Draft, found: Publication, published: str) -> list[Suspicion]:
    if found.problems or not draft.enabled:
        return []
    try:
        compiled = compile_scenario(document_of(draft))
    except DocumentError:
        return []
    return suspicions_in_place(compiled, of=published)


def publish_page(request: HttpRequest, owner: Any, draft: Draft) -> HttpResponse:
    """Looking at it, then one explicit post."""
    if request.method == "POST":
        try:
            scenario = publish(
                draft, seen=request.POST.get("seen", ""), over="over" in request.POST
            )
        except NotPublished as error:
            messages.error(request, f"“{draft}” was not published: {error}")
            if not Draft.objects.filter(pk=draft.pk).exists():
                return redirect("admin:scenarios_app_draft_changelist")
        else:
            owner.log_change(request, scenario, "Published its draft.")
            messages.success(request, f"“{scenario}” is published.")
            return redirect("admin:scenarios_app_scenario_change", scenario.pk)
    found = publication_of(draft)
    context = {
        **owner.admin_site.each_context(request),
        "title": f"Publish {draft}",
        "draft": draft,
        "page": owner.page_of(draft),
        "publication": found,
        "wrong": list(wrong_in(draft, found.problems)),
    }
    return TemplateResponse(request, "scenarios_app/admin/publish.html", context)


def wrong_in(draft: Draft, problems: Iterable[RowProblem]) -> Iterator[Told]:
    """Each problem with the step and the field that it is about, by their names on the page."""
    steps = list(draft.steps.all())
    for problem in problems:
        if problem.step is None:
            column, message = scenario_problem(problem.place, problem.message)
            yield Told(SCENARIO_CELLS[column].label, message, f"id_{column}")
        else:
            row = problem.step - 1
            column, message = step_problem(problem.place, problem.message, steps[row])
            where = f"Step {problem.step}, {STEP_CELLS[column].label}"
            yield Told(where, message, f"steps-{row}")
