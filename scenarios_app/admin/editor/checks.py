"""What comes of a form that is posted and not saved: what a save of it would refuse, what is
suspicious in it, and what *Try it* and *Play it* make of it."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from django.http import HttpRequest, HttpResponse, HttpResponseNotAllowed
from django.template.response import TemplateResponse

from scenarios_app.admin.editor.forms import ScenarioForm
from scenarios_app.admin.editor.problems import mends_of
from scenarios_app.admin.editor.rows import Told, step_rows, told
from scenarios_app.admin.editor.step_inline import StepFormSet
from scenarios_app.admin.play_it import play_edits
from scenarios_app.admin.trial import fields_of_edits
from scenarios_app.admin.try_it import try_edits
from scenarios_app.catalog import catalog
from scenarios_app.catalog.lint import suspicions_in_place
from scenarios_app.engine.document import DocumentError, compile_scenario
from scenarios_app.engine.matching.lint import Suspicion
from scenarios_app.journal import journal
from scenarios_app.models import AnyScenario, StepColumns
from scenarios_app.store import document_of


def check_page(request: HttpRequest, owner: Any, scenario: AnyScenario | None) -> HttpResponse:
    """The posted form's notes, as a piece of the page: what a save would refuse, else what the
    page would warn of after it. Nothing is saved."""
    if request.method != "POST":
        return HttpResponseNotAllowed(["POST"])
    # What requests have offered is read from it, here as after a save.
    journal.flush()
    name = owner.served_name(scenario)
    form: ScenarioForm = owner.get_form(request, scenario)(request.POST, instance=scenario)
    formset = _steps_of(request, owner, form)
    right = [form.is_valid(), formset is None or formset.is_valid()]
    rows = step_rows(formset, {}) if formset else []
    wrong = told(form, formset, rows)
    doubts = list(_doubts(form.instance, formset, name)) if all(right) else []
    context = {"wrong": wrong, "doubts": doubts, "rows": rows, "may_edit_steps": bool(formset)}
    return TemplateResponse(request, "scenarios_app/admin/checked.html", context)


def edits_page(
    request: HttpRequest, owner: Any, scenario: AnyScenario | None, *, play: bool = False
) -> HttpResponse:
    """*Try it* or *Play it* with the posted form as it stands, or what a save of it would refuse.
    Nothing is saved."""
    if request.method != "POST":
        return HttpResponseNotAllowed(["POST"])
    journal.flush()
    of = owner.served_name(scenario)
    form: ScenarioForm = owner.get_form(request, scenario)(request.POST, instance=scenario)
    formset = _steps_of(request, owner, form)
    if not all([form.is_valid(), formset is None or formset.is_valid()]):
        wrong = told(form, formset, step_rows(formset, {}) if formset else [])
        title = "Play it" if play else "Try it"
        context = {**owner.admin_site.each_context(request), "title": title, "wrong": wrong}
        return TemplateResponse(request, "scenarios_app/admin/try.html", context)
    row = form.instance
    steps = [one.instance for one in formset.kept] if formset else list(row.steps.all())
    hidden = fields_of_edits(document_of(row, steps), [step.key for step in steps], of=of)
    return (play_edits if play else try_edits)(request, owner, hidden)


def _steps_of(request: HttpRequest, owner: Any, form: ScenarioForm) -> StepFormSet | None:
    for formset_class, inline in owner.get_formsets_with_inlines(request, form.instance):
        prefix = formset_class.get_default_prefix()
        given = owner.get_formset_kwargs(request, form.instance, inline, prefix)
        formset: StepFormSet = formset_class(**given)
        return formset
    return None


def _doubts(scenario: AnyScenario, formset: StepFormSet | None, name: str) -> Iterator[Told]:
    """Each at its row, which need not be the one of its number: rows move before they are saved."""
    if not scenario.enabled:
        return
    kept = formset.kept if formset else []
    try:
        compiled = compile_scenario(document_of(scenario, [form.instance for form in kept]))
    except DocumentError as error:
        yield from (Told(problem.place, problem.message, "") for problem in error.problems)
        return
    yield from doubts_at(
        suspicions_in_place(compiled, of=name),
        [form.prefix or "" for form in kept],
        [form.instance for form in kept],
    )


def doubts_at(
    found: Iterable[Suspicion], rows: Sequence[str], steps: Sequence[StepColumns]
) -> Iterator[Told]:
    """Findings as lines of the page, whose rows have these ids and hold these steps."""
    index = catalog.snapshot().index.by_name
    for one in found:
        other = index.get(one.by[0]) if one.by and one.by[0] != one.scenario else None
        mends = mends_of(one, rows, steps, above=other.priority if other else None)
        where = f"Step {one.step}" if one.step else ""
        yield Told(where, one.message, rows[one.row] if one.step else "steps", tuple(mends))
