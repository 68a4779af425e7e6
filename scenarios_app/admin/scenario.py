"""Scenarios in the admin: the page on which one is written, and what one does from there."""

import re
from collections.abc import Callable
from typing import Any
from urllib.parse import quote

from django.contrib import admin, messages
from django.contrib.admin.utils import unquote
from django.core.exceptions import PermissionDenied
from django.db import models
from django.forms import Field, ModelForm, Script
from django.http import Http404, HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import get_object_or_404, redirect
from django.template.response import TemplateResponse
from django.urls import URLPattern, path, reverse
from django.utils import timezone

from scenarios_app.admin import actions
from scenarios_app.admin.checking import check_page
from scenarios_app.admin.editor import empty_row, scenario_groups, step_groups, step_rows, told
from scenarios_app.admin.forms import SEEN, ScenarioForm, meanwhile
from scenarios_app.admin.hits import NONE, scenario_hits, step_hits
from scenarios_app.admin.importing import import_page
from scenarios_app.admin.inputs import form_field
from scenarios_app.admin.layout import SCENARIO, SCENARIO_CELLS
from scenarios_app.admin.scenario_list import ScenarioList
from scenarios_app.admin.step_inline import StepInline
from scenarios_app.admin.trying import try_page
from scenarios_app.catalog import catalog
from scenarios_app.engine.document import DocumentError
from scenarios_app.journal import journal
from scenarios_app.linting import stored_suspicions
from scenarios_app.models import Scenario, Step
from scenarios_app.versions import moment_of, restore, versions_of

_PREFIX = re.compile(r"steps-\d{1,6}")


@admin.register(Scenario)
class ScenarioAdmin(ScenarioList):
    form = ScenarioForm
    inlines = (StepInline,)
    fieldsets = [(group.title or None, {"fields": group.fields}) for group in SCENARIO]  # noqa: RUF012

    class Media:
        js = (
            Script("scenarios_app/tool_calls.js", type="module"),
            Script("scenarios_app/editor.js", defer=True),
            Script("scenarios_app/checking.js", defer=True),
        )

    def get_urls(self) -> list[URLPattern]:
        def page(route: str, view: Callable[..., HttpResponseBase], name: str) -> URLPattern:
            name = f"scenarios_app_scenario_{name}"
            return path(route, self.admin_site.admin_view(view), name=name)

        return [
            page("import/", self.import_documents, "import"),
            page("try/", self.try_request, "try"),
            page("add/check/", self.check_new, "check_new"),
            page("<path:object_id>/check/", self.check_one, "check"),
            page("<path:object_id>/export/", self.export_one, "export"),
            page("<path:object_id>/duplicate/", self.duplicate_one, "duplicate"),
            page("<path:object_id>/steps/<int:step_id>/", self.step_fields, "step"),
            *super().get_urls(),
        ]

    def formfield_for_dbfield(
        self, db_field: "models.Field[Any, Any]", request: HttpRequest | None, **kwargs: Any
    ) -> Field | None:
        if cell := SCENARIO_CELLS.get(db_field.name):
            return form_field(db_field, cell)
        return super().formfield_for_dbfield(db_field, request, **kwargs)

    def get_form(
        self,
        request: HttpRequest,
        obj: Scenario | None = None,
        change: bool = False,
        **kwargs: Any,
    ) -> "type[ModelForm[Scenario]]":
        # For a change, fields that the user may not edit would be missing instead of disabled.
        return super().get_form(request, obj, change=False, **kwargs)

    def changeform_view(
        self,
        request: HttpRequest,
        object_id: str | None = None,
        form_url: str = "",
        extra_context: dict[str, Any] | None = None,
    ) -> HttpResponse:
        # Now: a post runs in a transaction, which the journal would have to wait for.
        journal.flush()
        return super().changeform_view(request, object_id, form_url, extra_context)

    def save_model(
        self, request: HttpRequest, obj: Scenario, form: "ModelForm[Scenario]", change: bool
    ) -> None:
        # Only its steps may have changed; then the history needs no entry of the scenario's own.
        if not change or form.has_changed():
            super().save_model(request, obj, form, change)

    def render_change_form(
        self,
        request: HttpRequest,
        context: dict[str, Any],
        add: bool = False,
        change: bool = False,
        form_url: str = "",
        obj: Scenario | None = None,
    ) -> TemplateResponse:
        form = context["adminform"].form
        (inline,) = context["inline_admin_formsets"] or (None,)
        name = Scenario.objects.values_list("name", flat=True).get(pk=obj.pk) if obj else ""
        rows = step_rows(inline.formset, step_hits(name)) if inline else []
        may_edit = (
            self.has_change_permission(request, obj) if obj else self.has_add_permission(request)
        )
        context |= {
            "groups": scenario_groups(form),
            "rows": rows,
            "blank": empty_row(inline.formset) if inline else None,
            "others": bool(obj and form.is_bound and meanwhile(obj, form.data)),
            "told": told(form, inline.formset if inline else None, rows) if form.is_bound else (),
            "name_in_url": quote(name),
            # What was seen stays seen until the page is opened anew.
            "seen_at": request.POST.get(SEEN) or timezone.now().isoformat(),
            "may_edit": may_edit,
            "may_edit_steps": may_edit and _may_edit(inline),
            "hits": scenario_hits([name]).get(name, NONE),
            "problems": [p for p in catalog.problems if p.scenario == name] if obj else (),
            "suspicions": [s for s in stored_suspicions() if s.scenario == name] if obj else (),
            "show_save_and_add_another": False,
        }
        return super().render_change_form(request, context, add, change, form_url, obj)

    # ── From the page of one scenario ──

    def history_view(
        self, request: HttpRequest, object_id: str, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        """Who changed what and when; a version can be brought back."""
        scenario = self._of(request, object_id, self.has_view_or_change_permission)
        may_edit = self.has_change_permission(request, scenario)
        if request.method == "POST":
            return self._restore(request, scenario, may_edit=may_edit)
        context = {
            **self.admin_site.each_context(request),
            "title": f"History of {scenario}",
            "original": scenario,
            "versions": versions_of(scenario),
            "may_edit": may_edit,
        }
        return TemplateResponse(request, "scenarios_app/admin/history.html", context)

    def _restore(self, request: HttpRequest, scenario: Scenario, *, may_edit: bool) -> HttpResponse:
        if not may_edit:
            raise PermissionDenied
        try:
            moment = moment_of(request.POST.get("at", ""))
            restore(scenario, moment)
        except (ValueError, DocumentError) as error:
            messages.error(request, f"“{scenario}” cannot be brought back to that: {error}")
            return redirect("admin:scenarios_app_scenario_history", scenario.pk)
        actions.forget([scenario.name])
        self.log_change(request, scenario, f"Brought back to {moment:%Y-%m-%d %H:%M:%S}.")
        messages.success(request, f"“{scenario}” is what it was at {moment:%Y-%m-%d %H:%M:%S} UTC.")
        return redirect(self._page_of(scenario))

    def step_fields(self, request: HttpRequest, object_id: str, step_id: int) -> HttpResponse:
        """The fields of a row that is being opened, as a piece of the page."""
        scenario = self._of(request, object_id, self.has_view_or_change_permission)
        step = get_object_or_404(Step, pk=step_id, scenario=scenario)
        prefix = request.GET.get("prefix", "")
        if not _PREFIX.fullmatch(prefix):
            raise Http404
        (inline,) = self.get_inline_instances(request, scenario)
        form_class = inline.get_formset(request, scenario).form
        form = form_class(instance=step, prefix=prefix, use_required_attribute=False)
        context = {
            "groups": step_groups(form),
            "may_edit_steps": inline.has_change_permission(request, scenario)
            and self.has_change_permission(request, scenario),
        }
        return TemplateResponse(request, "scenarios_app/admin/step_fields.html", context)

    def check_one(self, request: HttpRequest, object_id: str) -> HttpResponse:
        scenario = self._of(request, object_id, self.has_change_permission)
        return check_page(request, self, scenario)

    def check_new(self, request: HttpRequest) -> HttpResponse:
        if not self.has_add_permission(request):
            raise PermissionDenied
        return check_page(request, self, None)

    def export_one(self, request: HttpRequest, object_id: str) -> HttpResponse:
        scenario = self._of(request, object_id, self.has_view_or_change_permission)
        try:
            return actions.export([scenario])
        except DocumentError as error:
            actions.tell(request, error, f"“{scenario}” cannot be exported")
            return redirect(self._page_of(scenario))

    def duplicate_one(self, request: HttpRequest, object_id: str) -> HttpResponse:
        scenario = self._of(request, object_id, self.has_view_permission)
        if request.method != "POST" or not self.has_add_permission(request):
            raise PermissionDenied
        try:
            (copy,) = actions.duplicate([scenario])
        except DocumentError as error:
            actions.tell(request, error, f"“{scenario}” cannot be duplicated")
            return redirect(self._page_of(scenario))
        self.log_addition(request, copy, f"Duplicated “{scenario}”.")
        messages.success(request, f"This is “{copy}”, switched off until you enable it.")
        return redirect(self._page_of(copy))

    def import_documents(self, request: HttpRequest) -> HttpResponse:
        if not (self.has_add_permission(request) and self.has_change_permission(request)):
            raise PermissionDenied
        return import_page(request, self)

    def try_request(self, request: HttpRequest) -> HttpResponse:
        if not self.has_view_permission(request):
            raise PermissionDenied
        return try_page(request, self)

    def _of(self, request: HttpRequest, object_id: str, allowed: Callable[..., bool]) -> Scenario:
        scenario: Scenario | None = self.get_object(request, unquote(object_id))
        if not allowed(request, scenario):
            raise PermissionDenied
        if scenario is None:
            raise Http404
        return scenario

    def _page_of(self, scenario: Scenario) -> str:
        return reverse("admin:scenarios_app_scenario_change", args=(scenario.pk,))


def _may_edit(steps: Any) -> bool:
    """Rows are added, moved and deleted in one: who may not do all of it does none of it."""
    return bool(
        steps
        and steps.has_add_permission
        and steps.has_change_permission
        and steps.has_delete_permission
    )
