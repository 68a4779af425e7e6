"""View data for the templates of the scenario page: groups of fields, and steps as rows."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from django import forms
from django.forms.boundfield import BoundField

from scenarios_app.admin.editor.forms import ScenarioForm, StepForm, StepRowForm
from scenarios_app.admin.editor.frequency import failures_summary, shown_when
from scenarios_app.admin.editor.inputs import HOW, JsonFormField, choice_label, recording_status
from scenarios_app.admin.editor.layout import STEP
from scenarios_app.admin.editor.places import Field, Group
from scenarios_app.admin.editor.problems import Fix
from scenarios_app.admin.editor.sentence import ANYTHING, NOTHING, Title, title_of
from scenarios_app.admin.editor.step_inline import MAX_STEPS_WITH_FIELDS, StepFormSet
from scenarios_app.engine.conditions.phrases import shorten_line
from scenarios_app.engine.matching.lint import UNWRITTEN_TEXTS
from scenarios_app.models import Step

_EMPTY_VALUES: tuple[object, ...] = ("", None, False, [], {})


@dataclass(frozen=True, slots=True)
class CellView:
    """A field in the layout with its input and errors; `how` chooses how its text is compared."""

    cell: Field
    field: BoundField
    how: BoundField | None
    errors: tuple[str, ...]

    @property
    def compared(self) -> str:
        """The field `how` as HTML, with a label for screen readers; "" without one."""
        label = f"{self.cell.label}: how it is compared"
        return self.how.as_widget(attrs={"aria-label": label}) if self.how else ""

    @property
    def kind(self) -> str:
        """`switch` or `text`: the kind of input, by which the template lays it out."""
        return "switch" if isinstance(self.field.field, forms.BooleanField) else "text"

    @property
    def shown_when(self) -> str:
        """The expression that shows the field; "" for always, as for a field with errors."""
        return "" if self.errors else shown_when(self.cell.place, _values_of(self.field.form))

    @property
    def unshown(self) -> str:
        """The value that the field cannot show, and where it is edited; "" for none."""
        form: Any = self.field.form
        return str(form.unshown.get(self.cell.place, ""))

    @property
    def filled(self) -> bool:
        """True if the field has a value; empty JSON and a switch that is off count as none."""
        value = self.field.value()
        return value not in _EMPTY_VALUES and value not in ("{}", "[]")

    @property
    def summary(self) -> str:
        """Label and value, or one of them, for the line of a folded group; "" if nothing is set."""
        if not self.filled:
            return ""
        field, label, value = self.field.field, self.cell.label, self.field.value()
        if isinstance(field, JsonFormField | forms.BooleanField):
            return label
        if isinstance(field, forms.ChoiceField):
            value = choice_label(field, value)
        text = shorten_line(str(value))
        if self.how:
            return f"{label} {choice_label(self.how.field, self.how.value())} {text}"
        return text if self.cell.clear else f"{label}: {text}"


@dataclass(frozen=True, slots=True)
class GroupView:
    """A group of fields with their values and errors. `id` is unique in the page."""

    id: str
    group: Group
    cells: tuple[CellView, ...]

    @property
    def wrong(self) -> bool:
        """True if a field of the group has an error."""
        return any(cell.errors for cell in self.cells)

    @property
    def summary(self) -> str:
        """The values that are set, in one line."""
        if self.group.chooser:
            return failures_summary(_values_of(self.cells[0].field.form))
        return " · ".join(cell.summary for cell in self.cells if cell.filled)


@dataclass(frozen=True, slots=True)
class StepRow:
    """A step of the page. `groups` are empty if the fields are loaded when the row is opened.
    `hits` is the number of answers, `errors` that of errors."""

    form: StepRowForm
    title: Title
    groups: tuple[GroupView, ...]
    hits: int = 0
    errors: int = 0
    deleted: bool = False

    @property
    def step(self) -> Step:
        """The form's model instance, which a new row has not stored yet."""
        return self.form.instance

    @property
    def sent(self) -> bool:
        """True if the row's fields were posted."""
        return self.form.is_bound and isinstance(self.form, StepForm)

    @property
    def changed(self) -> bool:
        """True if the row shows posted values that are not stored."""
        return self.sent and self.form.has_changed()

    @property
    def once(self) -> bool:
        """True if the stored step answers once per session."""
        return bool(self.step.pk) and self.form.once

    @property
    def recorded(self) -> str:
        """The `recording_status` of a stored step; "" for a new one."""
        return recording_status(self.form.document) if self.step.pk else ""

    @property
    def order(self) -> object:
        """The posted order, or the step's own."""
        return self.form["order"].value() if self.form.is_bound else self.step.order

    @property
    def open(self) -> bool:
        """True if the row starts open: it has errors, is new, or its answer is not written yet."""
        text = self.form.values.get("produce.text")
        unwritten = isinstance(text, str) and text.strip().casefold() in UNWRITTEN_TEXTS
        return bool(self.errors or not self.step.pk or unwritten)


@dataclass(frozen=True, slots=True)
class FormProblem:
    """An error or a warning, and the id of the field or row that its link opens."""

    where: str
    message: str
    target: str
    mends: tuple[Fix, ...] = ()


def step_rows(formset: StepFormSet, hits: Mapping[str, int]) -> list[StepRow]:
    """Return the steps in order; those to delete, and new ones left empty, are included without a
    number."""
    remaining = set(map(id, formset.remaining_forms))
    rows: list[StepRow] = []
    number = 0
    for form in formset.ordered_forms:
        deleted = id(form) not in remaining
        number += not deleted
        errors = [] if deleted else list(form.all_errors())
        rows.append(
            StepRow(
                form=form,
                title=_title_unless_blank(0 if deleted else number, form),
                groups=_groups_to_send(form, formset, has_errors=bool(errors)),
                hits=hits.get(form.instance.key, 0) if form.instance.pk else 0,
                errors=len(errors),
                deleted=deleted,
            )
        )
    return rows


def empty_row(formset: StepFormSet) -> StepRow:
    """Return the row that new steps are copied from."""
    form = formset.empty_form
    return StepRow(form=form, title=Title(0, "", "", ""), groups=group_views(form))


def list_problems(
    form: ScenarioForm, formset: StepFormSet | None, rows: list[StepRow]
) -> list[FormProblem]:
    """Return all errors of the posted form, those of the scenario first."""
    formset_errors = formset.non_form_errors() if formset else ()
    return [
        *_scenario_problems(form),
        *(FormProblem("Steps", str(message), "steps") for message in formset_errors),
        *(line for row in rows if not row.deleted for line in _row_problems(row)),
    ]


def _scenario_problems(form: ScenarioForm) -> Iterator[FormProblem]:
    """Yield the errors of the scenario's form with links to the fields."""
    for name, messages in form.errors.items():
        where = str(form[name].label) if name in form.fields else ""
        target = form[name].id_for_label if name in form.fields else ""
        yield from (FormProblem(where, str(message), target) for message in messages)


def _row_problems(row: StepRow) -> Iterator[FormProblem]:
    """Yield the errors of a step with links to the fields, or to the step if they have none."""
    for name, message in row.form.all_errors():
        where = f"Step {row.title.number}"
        target = row.form.prefix or ""
        if name:
            where += f", {STEP.fields[name.removesuffix(HOW)].label}"
            target = f"id_{row.form.add_prefix(name)}"
        yield FormProblem(where, message, target)


def group_views(form: ScenarioForm | StepRowForm) -> tuple[GroupView, ...]:
    """Return the groups of a form's fields with their errors."""
    hidden_errors: Mapping[str, list[str]] = getattr(form, "hidden_errors", {})

    def cell_view(cell: Field) -> CellView:
        names = [name for name in (cell.place, cell.place + HOW) if name in form.fields]
        errors = [str(message) for name in names for message in form.errors.get(name, ())]
        how = form[names[1]] if len(names) > 1 else None
        messages = (*errors, *hidden_errors.get(cell.place, ()))
        return CellView(cell, form[cell.place], how, messages)

    row = form.prefix or "scenario"
    return tuple(
        GroupView(f"{row}-group-{number}", group, tuple(map(cell_view, group.fields)))
        for number, group in enumerate(form.layout.groups)
    )


def _values_of(form: forms.BaseForm) -> Callable[[str], Any]:
    """Return a function that returns the value of an input by its name."""
    return lambda name: form[name].value()


def _groups_to_send(
    form: StepRowForm, formset: StepFormSet, *, has_errors: bool
) -> tuple[GroupView, ...]:
    """Return the fields to send with a row; none if it is closed without errors, in a long list."""
    if isinstance(form, StepForm):
        return group_views(form)
    if not has_errors and len(formset.forms) > MAX_STEPS_WITH_FIELDS:
        return ()
    step_form = formset.form(
        instance=form.instance, prefix=form.prefix, use_required_attribute=False, select=form.select
    )
    step_form.hidden_errors = form.hidden_errors
    return group_views(step_form)


def _title_unless_blank(number: int, form: StepRowForm) -> Title:
    """Return a step's title; of a new step without conditions and answer only the name."""
    title = title_of(number, form.document)
    is_blank = not form.instance.pk and (title.when, title.then) == (ANYTHING, NOTHING)
    return Title(number, title.name, "", "") if is_blank else title
