"""Validates a posted scenario form without saving it: errors, warnings, and its previews."""

from typing import Any

from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.views.decorators.http import require_POST

from scenarios_app.admin.dry_run.inputs import fields_for_edits
from scenarios_app.admin.dry_run.page import show_dry_run
from scenarios_app.admin.editor.forms import ScenarioForm
from scenarios_app.admin.editor.rows import FormProblem, list_problems, step_rows
from scenarios_app.admin.editor.step_inline import StepFormSet
from scenarios_app.admin.editor.warnings import WarningGroup, warning_groups
from scenarios_app.admin.pages import published_name, render_page
from scenarios_app.catalog.lint import suspicions_in_place
from scenarios_app.engine.document import DocumentError, compile_scenario
from scenarios_app.journal import journal
from scenarios_app.models import AnyScenario
from scenarios_app.store import document_of


@require_POST
def check_page(request: HttpRequest, owner: Any, scenario: AnyScenario | None) -> HttpResponse:
    """Return the errors of the posted form as an HTML fragment, or its warnings if it has none.
    Nothing is saved."""
    name = published_name(scenario)
    form, formset, valid = _validate_posted(request, owner, scenario)
    rows = step_rows(formset, {}) if formset else []
    errors = list_problems(form, formset, rows)
    warnings = _scenario_warnings(form.instance, formset, name) if valid else []
    context = {"wrong": errors, "doubts": warnings, "rows": rows, "may_edit_steps": bool(formset)}
    return TemplateResponse(request, "scenarios_app/admin/checked.html", context)


@require_POST
def dry_run_edits_page(
    request: HttpRequest, owner: Any, scenario: AnyScenario | None
) -> HttpResponse:
    """Return the page *Test* for the posted form, or with its errors. Nothing is saved."""
    of = published_name(scenario)
    form, formset, valid = _validate_posted(request, owner, scenario)
    if not valid:
        errors = list_problems(form, formset, step_rows(formset, {}) if formset else [])
        return render_page(request, owner, "test.html", {"title": "Test", "wrong": errors})
    row = form.instance
    steps = [one.instance for one in formset.remaining_forms] if formset else list(row.steps.all())
    fields = fields_for_edits(document_of(row, steps), [step.key for step in steps], of=of)
    return show_dry_run(request, owner, fields)


def _validate_posted(
    request: HttpRequest, owner: Any, scenario: AnyScenario | None
) -> tuple[ScenarioForm, StepFormSet | None, bool]:
    """Return the posted form, the formset of its steps, and whether both are valid. The formset is
    None if the user may not view steps."""
    # Warnings depend on the tools that past requests offered, which are read from the journal.
    journal.flush()
    form: ScenarioForm = owner.get_form(request, scenario)(request.POST, instance=scenario)
    formset: StepFormSet | None = None
    for formset_class, inline in owner.get_formsets_with_inlines(request, form.instance):
        prefix = formset_class.get_default_prefix()
        options = owner.get_formset_kwargs(request, form.instance, inline, prefix)
        formset = formset_class(**options)
    return form, formset, all([form.is_valid(), formset is None or formset.is_valid()])


def _scenario_warnings(
    scenario: AnyScenario, formset: StepFormSet | None, name: str
) -> list[WarningGroup]:
    """Return the lint warnings of the posted scenario at its rows, as if it replaced the stored
    `name`; its errors if it does not compile; nothing if it is disabled."""
    step_forms = formset.remaining_forms if formset else []
    try:
        document = document_of(scenario, [form.instance for form in step_forms])
        if not document.enabled:
            return []
        suspicions = suspicions_in_place(compile_scenario(document), of=name)
    except DocumentError as error:
        lines = [FormProblem(problem.place, problem.message, "") for problem in error.problems]
        return [WarningGroup(line.message, (line,)) for line in lines]
    return warning_groups(suspicions, step_forms)
