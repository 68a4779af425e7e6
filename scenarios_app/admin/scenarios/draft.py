"""Drafts in the admin: list, page, publishing and discarding."""

from collections.abc import Iterable, Iterator
from operator import attrgetter
from typing import Any

from django.contrib import admin, messages
from django.contrib.admin.views.main import ChangeList
from django.db.models import QuerySet
from django.db.models.functions import Lower
from django.forms import BaseFormSet, ModelForm
from django.http import HttpRequest, HttpResponse, HttpResponseNotAllowed
from django.shortcuts import redirect
from django.urls import URLPattern
from django.utils import timezone
from django.utils.html import format_html

from mockllm_site.kit.admin.records import admin_url, column
from mockllm_site.kit.permissions import require_permissions
from scenarios_app.admin.editor.layout import SCENARIO, STEP
from scenarios_app.admin.editor.page import ScenarioPage, submit_button
from scenarios_app.admin.editor.problems import problem_at
from scenarios_app.admin.editor.rows import FormProblem
from scenarios_app.admin.editor.step_inline import DraftStepInline
from scenarios_app.admin.filters import DraftFilter
from scenarios_app.admin.pages import published_name, render_page
from scenarios_app.admin.scenarios.list import number_of_steps, search_documents
from scenarios_app.catalog.lint import suspicions_in_place
from scenarios_app.engine.document import DocumentError, compile_scenario, load_text
from scenarios_app.engine.matching.lint import Suspicion
from scenarios_app.models import Draft, DraftStep
from scenarios_app.store import RowProblem, document_of, limits
from scenarios_app.store.drafts import (
    Publication,
    PublishError,
    create_draft,
    plan_publication,
    publish,
)
from scenarios_app.store.history import authors_of
from scenarios_app.templatetags.scenarios_admin import ago

PUBLISH = "_publish"
_SAVED_MESSAGE = "Saved as a draft. Requests are answered from it once it is published."


@admin.register(Draft)
class DraftAdmin(ScenarioPage):
    inlines = (DraftStepInline,)
    list_display = ("title", "published_name", "step_count", "by", "changed")
    list_filter = (DraftFilter,)
    search_fields = ("name",)
    get_search_results = search_documents
    ordering = (Lower("name"), "pk")
    list_per_page = 50
    delete_confirmation_template = "scenarios_app/admin/discard.html"
    step_count = column("Steps", attrgetter("steps_in_it"), ordering="steps_in_it")
    by = column("By", lambda draft: getattr(draft, "author", ""))
    changed = column("Changed", lambda draft: ago(draft.updated_at), ordering="updated_at")

    # ── The list ──

    def get_queryset(self, request: HttpRequest) -> QuerySet[Draft]:
        rows: QuerySet[Draft] = super().get_queryset(request).select_related("published")
        return rows.annotate(steps_in_it=number_of_steps(DraftStep))

    def get_changelist_instance(self, request: HttpRequest) -> ChangeList:
        """Add the author of each listed draft to the row."""
        changelist = super().get_changelist_instance(request)
        authors = authors_of(changelist.result_list)
        for row in changelist.result_list:
            row.author = authors[row.pk]
        return changelist

    @admin.display(description="Name", ordering=Lower("name"))
    def title(self, draft: Draft) -> str:
        return draft.name

    @admin.display(description="Draft of", ordering=Lower("published__name"))
    def published_name(self, draft: Draft) -> str:
        if draft.published is None:
            return format_html('<span class="sc-tag">{}</span>', "not published yet")
        return draft.published.name

    # ── The page ──

    def get_urls(self) -> list[URLPattern]:
        publish = self.route("<path:object_id>/publish/", self.publish_one, "publish")
        make = self.route("from-document/", self.make_draft, "from_document")
        return [publish, make, *super().get_urls()]

    def page_context(self, request: HttpRequest, obj: Draft | None) -> dict[str, Any]:
        """Return what the page shows beside the form: changes, problems, warnings, author, and the
        button to publish."""
        context: dict[str, Any] = {"show_save_and_continue": False, "show_delete": False}
        if obj is None:
            return context
        stored = Draft.objects.select_related("published").get(pk=obj.pk)
        publication = plan_publication(stored)
        may_publish = request.user.has_perms(publish_permissions(stored))
        if may_publish:
            context["actions_submit_line"] = [submit_button(PUBLISH, "Save and publish…")]
        return context | {
            "publication": publication,
            "wrong": list(draft_problems(stored, publication.problems)),
            "suspicions": _suspicions(stored, publication),
            "test_query": f"draft={obj.pk}",
            "published": stored.published,
            "made_by": authors_of([stored])[stored.pk],
            "made_at": stored.created_at,
            "may_publish": may_publish,
            "may_discard": self.has_delete_permission(request, stored),
        }

    def save_related(
        self,
        request: HttpRequest,
        form: "ModelForm[Any]",
        formsets: "list[BaseFormSet[Any]]",
        change: bool,
    ) -> None:
        """Save the steps, and set the time of the draft's last change."""
        super().save_related(request, form, formsets, change)
        Draft.objects.filter(pk=form.instance.pk).update(updated_at=timezone.now())

    def response_add(
        self, request: HttpRequest, obj: Draft, post_url_continue: str | None = None
    ) -> HttpResponse:
        """Return to the draft, also after it was created."""
        return self.response_change(request, obj)

    def response_change(self, request: HttpRequest, obj: Draft) -> HttpResponse:
        """Stay on the page, or go on to publishing if its button was used."""
        if PUBLISH in request.POST:
            return redirect("admin:scenarios_app_draft_publish", obj.pk)
        messages.success(request, _SAVED_MESSAGE)
        return redirect(admin_url(obj))

    def publish_one(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """Show what publishing changes; a post publishes and redirects to the scenario, or shows
        why not. Raises MissingPermission and Http404."""
        draft = self.get_row(request, object_id, "view")
        require_permissions(request, *publish_permissions(draft))
        if request.method == "POST":
            seen, over = request.POST.get("seen", ""), "over" in request.POST
            try:
                scenario = publish(draft, seen=seen, over=over)
            except PublishError as error:
                messages.error(request, f"“{draft}” was not published: {error}")
                if not Draft.objects.filter(pk=draft.pk).exists():
                    return redirect("admin:scenarios_app_draft_changelist")
            else:
                self.log_change(request, scenario, "Published its draft.")
                messages.success(request, f"“{scenario}” is published.")
                return redirect(admin_url(scenario))
        publication = plan_publication(draft)
        context = {
            "title": f"Publish {draft}",
            "draft": draft,
            "page": admin_url(draft),
            "publication": publication,
            "wrong": list(draft_problems(draft, publication.problems)),
        }
        return render_page(request, self, "publish.html", context)

    def make_draft(self, request: HttpRequest) -> HttpResponse:
        """Create a draft of the posted document, such as one made from a trace, and redirect to it;
        an error is shown on the list of drafts."""
        self.require(request, "add")
        if request.method != "POST":
            return HttpResponseNotAllowed(["POST"])
        posted = request.POST.get("document", "").encode("utf-8", "replace")
        try:
            (document,) = load_text(posted, limits=limits())
        except DocumentError as error:
            messages.error(request, f"No draft was made: {error}")
        except ValueError:
            messages.error(request, "No draft was made: it takes one scenario at a time.")
        else:
            draft = create_draft(document)
            self.log_addition(request, draft, "Made from a document.")
            messages.success(request, _SAVED_MESSAGE)
            return redirect(admin_url(draft))
        return redirect("admin:scenarios_app_draft_changelist")

    # ── Discarding ──

    def delete_view(
        self, request: HttpRequest, object_id: str, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        """Ask before a draft is discarded; a post discards it and redirects to its published
        scenario, if there is one."""
        # Read before the row is deleted.
        draft = self.get_row(request, object_id, "delete")
        response = super().delete_view(request, object_id, extra_context)
        if request.method == "POST" and draft.published is not None:
            return redirect("admin:scenarios_app_scenario_change", draft.published.pk)
        return response


def publish_permissions(draft: Draft) -> tuple[str, str]:
    """Return the permissions to publish the draft: to publish, and to add or change the
    scenario."""
    change = "add" if draft.published is None else "change"
    return "scenarios_app.publish_draft", f"scenarios_app.{change}_scenario"


def _suspicions(draft: Draft, publication: Publication) -> list[Suspicion]:
    """Return the warnings of a draft as if it was published; none if it has problems or is
    disabled."""
    if publication.problems:
        return []
    try:
        document = document_of(draft)
    except DocumentError:
        return []
    if not document.enabled:
        return []
    return suspicions_in_place(compile_scenario(document), of=published_name(draft))


def draft_problems(draft: Draft, problems: Iterable[RowProblem]) -> Iterator[FormProblem]:
    """Yield each problem of a draft as a line with its step, field label and link."""
    steps = list(draft.steps.all())
    for problem in problems:
        if problem.step is None:
            field, message = problem_at(SCENARIO, problem.place, problem.message, draft.document)
            yield FormProblem(field.label, message, f"id_{field.place}")
        else:
            row = problem.step - 1
            document = steps[row].document
            field, message = problem_at(STEP, problem.place, problem.message, document)
            yield FormProblem(f"Step {problem.step}, {field.label}", message, f"steps-{row}")
