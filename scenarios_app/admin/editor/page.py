"""The page that edits a scenario or a draft: fields, steps, history, errors and warnings."""

import json
import re
from collections.abc import Callable, Iterable, Mapping
from contextlib import nullcontext
from copy import deepcopy
from datetime import UTC
from typing import Any

from django.contrib import messages
from django.contrib.admin.utils import unquote
from django.db import models
from django.forms import Field, ModelForm, Script
from django.http import Http404, HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import get_object_or_404, redirect
from django.template.response import TemplateResponse
from django.urls import URLPattern, path, reverse
from django.utils import timezone

from mockllm_site.kit.admin.kept_forms import KeptFormAdmin
from mockllm_site.kit.admin.records import admin_url
from mockllm_site.kit.permissions import MissingPermission
from scenarios_app.admin.editor.checks import check_page, dry_run_edits_page
from scenarios_app.admin.editor.forms import (
    OPENED_AT_FIELD,
    ScenarioForm,
    changes_by_others,
    select_of,
)
from scenarios_app.admin.editor.inputs import form_fields
from scenarios_app.admin.editor.layout import SCENARIO, STEP
from scenarios_app.admin.editor.presence import HEARTBEAT, presence_page
from scenarios_app.admin.editor.rows import (
    StepRow,
    empty_row,
    group_views,
    list_problems,
    step_rows,
)
from scenarios_app.admin.editor.warnings import warning_groups
from scenarios_app.admin.effects import reports_effects
from scenarios_app.admin.pages import render_page
from scenarios_app.engine.document import DocumentError
from scenarios_app.journal import journal
from scenarios_app.models import AnyScenario, one_save
from scenarios_app.store.documents import move_conversation
from scenarios_app.store.drafts import restore
from scenarios_app.store.history import (
    compare_states,
    current_state,
    parse_time,
    state_at,
    versions_of,
)
from scenarios_app.templatetags.scenarios_admin import LABELS

for _layout in (SCENARIO, STEP):
    LABELS.update((field.place, field.label) for field in _layout.fields.values())
_PREFIX = re.compile(r"steps-\d{1,6}")


def submit_button(
    name: str, label: str, *, to: str = "", icon: str = "", tab: str = ""
) -> dict[str, Any]:
    """Return a submit button of the form, as the theme expects it. `to` is the address that the
    form is posted to, "" for the page's own; `tab` names the browser tab that opens."""
    values = {"formaction": to, "formtarget": tab}
    attrs = {key: value for key, value in values.items() if value}
    return {"action_name": name, "description": label, "icon": icon, "attrs": attrs}


class ScenarioPage(KeptFormAdmin):
    """The base of the pages that edit a published scenario or a draft."""

    form = ScenarioForm
    # The form has fields of its own, no columns.
    fieldsets = ((None, {"fields": ()}),)

    class Media:
        js = (
            Script("scenarios_app/tool_calls.js", type="module"),
            Script("scenarios_app/editor.js", defer=True),
            Script("scenarios_app/checking.js", defer=True),
        )

    def page_context(self, request: HttpRequest, obj: Any) -> dict[str, Any]:
        """Return more context for the page, such as `answered_by_step` and `suspicions`; subclasses
        implement it."""
        raise NotImplementedError

    def get_urls(self) -> list[URLPattern]:
        return [
            self.route("add/check/", self.check_edits, "check_new"),
            self.route("add/test/", self.test_edits, "test_new"),
            self.route("<path:object_id>/test/", self.test_edits, "test_one"),
            self.route("<path:object_id>/here/", self.report_presence, "here"),
            self.route("<path:object_id>/check/", self.check_edits, "check"),
            self.route("<path:object_id>/steps/<int:step_id>/", self.step_fields, "step"),
            *super().get_urls(),
        ]

    def route(self, pattern: str, view: Callable[..., HttpResponseBase], name: str) -> URLPattern:
        """Return a URL pattern for staff, named `scenarios_app_MODEL_NAME`."""
        return path(
            pattern, self.admin_site.admin_view(reports_effects(view)), name=self._route_name(name)
        )

    def formfield_for_dbfield(
        self, db_field: "models.Field[Any, Any]", request: HttpRequest | None, **kwargs: Any
    ) -> Field | None:
        """Return the editor's switch for the column in the list of scenarios that can be edited."""
        if db_field.name != "enabled":
            return super().formfield_for_dbfield(db_field, request, **kwargs)
        field = deepcopy(form_fields(SCENARIO)["enabled"])
        # There the switch has no label.
        field.widget.attrs["aria-label"] = str(field.label)
        return field

    def get_form(
        self, request: HttpRequest, obj: Any = None, change: bool = False, **kwargs: Any
    ) -> "type[ModelForm[Any]]":
        # With `change`, fields that the user may not edit would be missing instead of disabled.
        return super().get_form(request, obj, change=False, **kwargs)

    @reports_effects
    def changeform_view(
        self,
        request: HttpRequest,
        object_id: str | None = None,
        form_url: str = "",
        extra_context: dict[str, Any] | None = None,
    ) -> HttpResponse:
        """Save the scenario and its steps as one revision. Flush the journal first: its writer
        would wait for the page's transaction, which only a save has."""
        journal.flush()
        with one_save() if request.method == "POST" else nullcontext():
            return super().changeform_view(request, object_id, form_url, extra_context)

    def save_model(
        self, request: HttpRequest, obj: Any, form: "ModelForm[Any]", change: bool
    ) -> None:
        """Save a changed scenario; after a rename, move its stored conversation."""
        # If only steps changed, its columns need no write.
        if not change or form.has_changed():
            super().save_model(request, obj, form, change)
        before = form.initial.get("name", "")
        if change and before != obj.name:
            move_conversation(before, obj.name)

    def render_change_form(
        self,
        request: HttpRequest,
        context: dict[str, Any],
        add: bool = False,
        change: bool = False,
        form_url: str = "",
        obj: Any = None,
    ) -> TemplateResponse:
        """Add to the context the form in groups, the steps as rows, errors, warnings and what the
        user may edit."""
        form = context["adminform"].form
        if add and not form.is_bound:
            form.fields["name"].widget.attrs["autofocus"] = True
        (inline,) = context["inline_admin_formsets"] or (None,)
        formset = inline.formset if inline else None
        context |= self.page_context(request, obj)
        hits: Mapping[str, int] = context.get("answered_by_step", {})
        rows = step_rows(formset, hits) if formset else []
        # Suspicions are about the stored steps, not about those of a refused post.
        suspicions = () if form.is_bound else context.get("suspicions", ())
        may_edit = (
            self.has_change_permission(request, obj) if obj else self.has_add_permission(request)
        )
        context |= {
            "groups": group_views(form),
            "rows": rows,
            # Not named `blank`: then the theme would open the links above in a new tab.
            "new_row": empty_row(formset) if formset else None,
            "doubts": warning_groups(suspicions, formset.forms if formset else ()),
            "covered": _step_coverage(rows, hits) if "answered_by_step" in context else None,
            "others": bool(obj and form.is_bound and changes_by_others(obj, form.data)),
            "told": list_problems(form, formset, rows) if form.is_bound else (),
            # A refused post keeps the time at which the page was opened.
            "seen_at": request.POST.get(OPENED_AT_FIELD) or timezone.now().isoformat(),
            "may_edit": may_edit,
            "every": int(HEARTBEAT.total_seconds()),
            "may_edit_steps": may_edit and bool(inline and inline.has_change_permission),
            "show_save_and_add_another": False,
        }
        if may_edit:
            more = context.get("actions_submit_line", ())
            context["actions_submit_line"] = [*more, self._test_button(obj)]
        return super().render_change_form(request, context, add, change, form_url, obj)

    @reports_effects
    def history_view(
        self, request: HttpRequest, object_id: str, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        """List the versions with author, time and changes; a post restores one."""
        scenario = self.get_row(request, object_id, "view")
        if request.method == "POST":
            return self._restore_version(request, scenario)
        context = {
            "title": f"History of {scenario}",
            "original": scenario,
            "page": admin_url(scenario),
            "versions": versions_of(scenario),
            **_version_comparison(scenario, request.GET.get("at", "")),
            "may_edit": self.has_change_permission(request, scenario),
        }
        return render_page(request, self, "history.html", context)

    def _restore_version(self, request: HttpRequest, scenario: AnyScenario) -> HttpResponse:
        """Restore the posted version and redirect to the page, or report the error in the history.
        Raises MissingPermission."""
        self.require(request, "change")
        try:
            time = parse_time(request.POST.get("at", "")).astimezone(UTC)
            restore(scenario, time)
        except (ValueError, OverflowError, DocumentError) as error:
            messages.error(request, f"“{scenario}” cannot be restored to that version: {error}")
            return redirect(f"admin:{self._route_name('history')}", scenario.pk)
        self.log_change(request, scenario, f"Restored the version of {time:%Y-%m-%d %H:%M:%S}.")
        messages.success(
            request, f"“{scenario}” has the version of {time:%Y-%m-%d %H:%M:%S} UTC again."
        )
        return redirect(admin_url(scenario))

    def step_fields(self, request: HttpRequest, object_id: str, step_id: int) -> HttpResponse:
        """Return the fields of a row that is being opened as an HTML fragment. Raises Http404 for
        an unknown step or an invalid `prefix`."""
        scenario = self.get_row(request, object_id, "view")
        step = get_object_or_404(scenario.steps, pk=step_id)
        prefix = request.GET.get("prefix", "")
        if not _PREFIX.fullmatch(prefix):
            raise Http404
        (inline,) = self.get_inline_instances(request, scenario)
        form_class = inline.get_formset(request, scenario).form
        form = form_class(
            instance=step, prefix=prefix, use_required_attribute=False, select=select_of(scenario)
        )
        context = {
            "groups": group_views(form),
            "may_edit_steps": inline.has_change_permission(request, scenario)
            and self.has_change_permission(request, scenario),
        }
        return TemplateResponse(request, "scenarios_app/admin/step_fields.html", context)

    def check_edits(self, request: HttpRequest, object_id: str | None = None) -> HttpResponse:
        """Return the errors or warnings of posted edits as an HTML fragment. Nothing is saved."""
        return check_page(request, self, self._edited_row(request, object_id))

    def test_edits(self, request: HttpRequest, object_id: str | None = None) -> HttpResponse:
        """Return the page *Test* for posted edits, or their errors. Nothing is saved."""
        return dry_run_edits_page(request, self, self._edited_row(request, object_id))

    def _edited_row(self, request: HttpRequest, object_id: str | None) -> Any:
        """Return the row that the user is editing, or None for a new one. Raises MissingPermission
        and Http404."""
        if object_id is not None:
            return self.get_row(request, object_id, "change")
        self.require(request, "add")
        return None

    def report_presence(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """Return `presence_page` for the scenario. Raises MissingPermission."""
        self.require(request, "change")
        return presence_page(request, self.get_object(request, unquote(object_id)))

    def _test_button(self, obj: AnyScenario | None) -> dict[str, Any]:
        """Return the button that tests the page's content. It opens a new tab, so unsaved edits
        stay open."""
        name, row = ("test_one", (obj.pk,)) if obj else ("test_new", ())
        to = reverse(f"admin:{self._route_name(name)}", args=row)
        return submit_button("_test", "Test", to=to, icon="science", tab="test")

    def require(self, request: HttpRequest, verb: str) -> None:
        """Raise MissingPermission unless the user may view, add, change or delete (the `verb`) rows
        of this model."""
        if not getattr(self, f"has_{verb}_permission")(request):
            raise MissingPermission(f"scenarios_app.{verb}_{self.opts.model_name}")

    def get_row(self, request: HttpRequest, object_id: str, verb: str) -> Any:
        """Return the row with this id. Raises Http404, and MissingPermission as `require` does."""
        self.require(request, verb)
        scenario = self.get_object(request, unquote(object_id))
        if scenario is None:
            raise Http404
        return scenario

    def _route_name(self, name: str) -> str:
        return f"scenarios_app_{self.opts.model_name}_{name}"


def _version_comparison(scenario: AnyScenario, at: str) -> dict[str, Any]:
    """Return the context that compares the version at a time with the current one; {} for an
    invalid time or version."""
    try:
        time = parse_time(at).astimezone(UTC)
        then, now = state_at(scenario, time), current_state(scenario)
    except (ValueError, OverflowError, DocumentError):
        return {}
    return {
        "compared": time,
        "differences": list(compare_states(then, now)),
        "version": json.dumps(then.document(scenario.name), indent=2, ensure_ascii=False),
    }


def _step_coverage(rows: Iterable[StepRow], hits: Mapping[str, int]) -> dict[str, int] | None:
    """Return the number of stored steps (`of`), of those that have answered (`served`), and the
    answers of the most used one (`most`, at least 1); None without stored steps."""
    counts = [hits.get(row.step.key, 0) for row in rows if row.step.pk]
    if not counts:
        return None
    return {"of": len(counts), "served": sum(map(bool, counts)), "most": max(*counts, 1)}
