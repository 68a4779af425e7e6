"""Published scenarios in the admin: their page, its buttons, and how a new one starts: empty, from
an example or from a file."""

from functools import partial
from typing import Any
from urllib.parse import quote

from django.contrib import admin, messages
from django.db import transaction
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseNotAllowed
from django.shortcuts import redirect
from django.template.loader import render_to_string
from django.urls import URLPattern, path, reverse
from django.views.decorators.http import require_POST

from mockllm_site.kit.admin.records import admin_url
from mockllm_site.kit.permissions import require_permissions
from scenarios_app.admin.dry_run.page import dry_run_page, redirect_to_tab
from scenarios_app.admin.editor.page import ScenarioPage, submit_button
from scenarios_app.admin.editor.step_inline import StepInline
from scenarios_app.admin.editor.warnings import MAX_SHOWN, warning_groups
from scenarios_app.admin.journal.requests import answered_by_scenario
from scenarios_app.admin.pages import published_name, render_page
from scenarios_app.admin.scenarios import actions
from scenarios_app.admin.scenarios.import_page import import_page
from scenarios_app.admin.scenarios.list import ScenarioList
from scenarios_app.admin.scenarios.trash_page import deleted_history_page, restore_view, trash_page
from scenarios_app.admin.site import may_import
from scenarios_app.catalog import catalog
from scenarios_app.catalog.lint import stored_suspicions
from scenarios_app.engine.document import DocumentError
from scenarios_app.engine.matching.lint import Suspicion
from scenarios_app.journal.coverage import answer_counts
from scenarios_app.journal.survival import survival
from scenarios_app.models import Draft, Scenario
from scenarios_app.play.conversation import dump_play, examples
from scenarios_app.store.documents import save_conversation
from scenarios_app.store.drafts import create_draft, get_or_create_draft
from scenarios_app.store.history import authors_of

ADD_DRAFTS, EDIT_DRAFTS = "scenarios_app.add_draft", "scenarios_app.change_draft"


@admin.register(Scenario)
class ScenarioAdmin(ScenarioPage, ScenarioList):
    inlines = (StepInline,)

    def get_urls(self) -> list[URLPattern]:
        switch = self.admin_site.admin_view(require_POST(self.switch_one))
        return [
            self.route("import/", partial(import_page, owner=self), "import"),
            self.route("test/", partial(dry_run_page, owner=self), "test"),
            *(
                self.route(f"{old}/", partial(redirect_to_tab, tab=tab), f"test_{tab}")
                for old, tab in (("try", "request"), ("play", "conversation"), ("user", "user"))
            ),
            self.route("new/", partial(gallery_page, owner=self), "new"),
            self.route("trash/", partial(trash_page, owner=self), "trash"),
            self.route(
                "trash/<int:revision>/", partial(deleted_history_page, owner=self), "trash_entry"
            ),
            self.route(
                "trash/<int:revision>/restore/", partial(restore_view, owner=self), "restore"
            ),
            self.route("<path:object_id>/export/", self.export_one, "export"),
            path("<path:object_id>/switch/", switch, name="scenarios_app_scenario_switch"),
            self.route("<path:object_id>/duplicate/", self.duplicate_one, "duplicate"),
            self.route("<path:object_id>/draft/", self.edit_as_draft, "draft"),
            *super().get_urls(),
        ]

    def page_context(self, request: HttpRequest, obj: Scenario | None) -> dict[str, Any]:
        """Return what the page shows beside the form: answers, problems, warnings, results of
        sweeps, and the draft."""
        if obj is None:
            if not request.user.has_perm(ADD_DRAFTS):
                return {}
            url = reverse("admin:scenarios_app_draft_add")
            return {"actions_submit_line": [submit_button("_draft", "Save as a draft", to=url)]}
        name = published_name(obj)
        draft = Draft.objects.filter(published=obj.pk).first()
        return {
            "answered_by_step": answer_counts([name])[name],
            "hits": answered_by_scenario([name])[name],
            "problems": [problem for problem in catalog.problems if problem.scenario == name],
            "suspicions": _suspicions_of(name),
            "test_query": f"scenario={quote(name)}",
            "draft": draft,
            "may_draft": request.user.has_perm(EDIT_DRAFTS),
            "swept": [one for one in survival([name]).scenarios if one.was_swept],
            "draft_by": authors_of([draft])[draft.pk] if draft else "",
        }

    def response_post_save_add(self, request: HttpRequest, obj: Scenario) -> HttpResponse:
        """Show the new scenario's warnings on the next page."""
        return self._with_warnings(request, obj, super().response_post_save_add(request, obj))

    def response_post_save_change(self, request: HttpRequest, obj: Scenario) -> HttpResponse:
        return self._with_warnings(request, obj, super().response_post_save_change(request, obj))

    def _with_warnings(
        self, request: HttpRequest, obj: Scenario, response: HttpResponse
    ) -> HttpResponse:
        """Return the response, and show the saved scenario's warnings on the next page."""

        page = admin_url(obj)

        def add_warning() -> None:
            """Show the warnings; called after the commit, when lint sees the saved scenario."""
            suspicions = _suspicions_of(obj.name)
            if suspicions:
                groups = warning_groups(suspicions, ())
                context = {
                    "groups": groups[:MAX_SHOWN],
                    "more": groups[MAX_SHOWN:],
                    "count": len(suspicions),
                    "page": page,
                }
                template = "scenarios_app/admin/saved_warnings.html"
                messages.warning(request, render_to_string(template, context))

        transaction.on_commit(add_warning)
        return response

    def edit_as_draft(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """Redirect a post to the scenario's draft, created if there is none; answer 405 to other
        methods. Raises MissingPermission and Http404."""
        scenario = self.get_row(request, object_id, "view")
        require_permissions(request, EDIT_DRAFTS)
        if request.method != "POST":
            return HttpResponseNotAllowed(["POST"])
        draft, is_new = get_or_create_draft(scenario)
        if is_new:
            self.log_change(request, scenario, "Copied to a draft.")
        return redirect("admin:scenarios_app_draft_change", draft.pk)

    def export_one(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """Download a scenario as a document; an invalid one is reported on its page."""
        scenario = self.get_row(request, object_id, "view")
        try:
            return actions.export([scenario])
        except DocumentError as error:
            actions.report_document_error(request, error, f"“{scenario}” cannot be exported")
            return redirect(admin_url(scenario))

    def duplicate_one(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """Duplicate the scenario on a post and redirect to the copy; answer 405 to other
        methods."""
        scenario = self.get_row(request, object_id, "view")
        self.require(request, "add")
        if request.method != "POST":
            return HttpResponseNotAllowed(["POST"])
        try:
            (copy,) = actions.duplicate([scenario])
        except DocumentError as error:
            actions.report_document_error(request, error, f"“{scenario}” cannot be duplicated")
            return redirect(admin_url(scenario))
        self.log_addition(request, copy, f"Duplicated “{scenario}”.")
        messages.success(request, f"This is “{copy}”, disabled until you enable it.")
        return redirect(admin_url(copy))


def _suspicions_of(name: str) -> list[Suspicion]:
    return [suspicion for suspicion in stored_suspicions() if suspicion.scenario == name]


def gallery_page(request: HttpRequest, owner: Any) -> HttpResponse:
    """Show the examples; a post creates a draft of one and redirects to it. Raises
    MissingPermission, and Http404 for an unknown example."""
    require_permissions(request, ADD_DRAFTS)
    if request.method == "POST":
        example = examples().get(request.POST.get("example", ""))
        if example is None:
            raise Http404
        draft = create_draft(example.scenario)
        save_conversation(draft.name, dump_play(example.conversation))
        return redirect("admin:scenarios_app_draft_change", draft.pk)
    context = {
        "title": "New scenario",
        "examples": list(examples().values()),
        "may_import": may_import(request),
    }
    return render_page(request, owner, "gallery.html", context)
