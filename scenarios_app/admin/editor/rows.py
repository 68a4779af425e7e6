"""What the scenario page's templates are given: groups of fields, and the steps as rows."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from django import forms
from django.db.models import Model
from django.forms.boundfield import BoundField

from scenarios_app.admin.editor.forms import ClosedStepForm, ScenarioForm, StepForm
from scenarios_app.admin.editor.frequency import ONCE, failures_summary, often_of, shown_when
from scenarios_app.admin.editor.inputs import JsonFormField, choice_label, told_of_recorded
from scenarios_app.admin.editor.layout import (
    SCENARIO,
    SCENARIO_CELLS,
    STEP,
    STEP_CELLS,
    Cell,
    Group,
)
from scenarios_app.admin.editor.problems import Mend
from scenarios_app.admin.editor.sentence import ANYTHING, NOTHING, Title, title_of
from scenarios_app.admin.editor.step_inline import SENT_AT_ONCE, StepFormSet
from scenarios_app.engine.conditions.phrases import shorten_line
from scenarios_app.engine.document import DocumentError
from scenarios_app.engine.matching.lint import PLACEHOLDERS
from scenarios_app.models import Select, Step
from scenarios_app.models.columns import column_of
from scenarios_app.store.translate import step_object

_UNSET: tuple[object, ...] = ("", None, False, [], {})


@dataclass(frozen=True, slots=True)
class CellView:
    cell: Cell
    field: BoundField
    how: BoundField | None
    errors: tuple[str, ...]
    model: type[Model]

    @property
    def compared(self) -> str:
        """The choice of how its text is compared, named for those who hear the page."""
        label = f"{self.cell.label}: how it is compared"
        return self.how.as_widget(attrs={"aria-label": label}) if self.how else ""

    @property
    def kind(self) -> str:
        return "switch" if isinstance(self.field.field, forms.BooleanField) else "text"

    @property
    def shown_when(self) -> str:
        """What must hold for it to be in sight; a field that is wrong always is."""
        return "" if self.errors else shown_when(self.cell.field, self.field.form)

    @property
    def title(self) -> str:
        """What the document calls it."""
        return ".".join(column_of(self.model, self.cell.field).place or ())

    @property
    def filled(self) -> bool:
        """Whether it holds anything; JSON of nothing is nothing."""
        value = self.field.value()
        return value not in _UNSET and value not in ("{}", "[]")

    @property
    def summary(self) -> str:
        """Its value with its name, for the line of a folded group; empty where nothing is set."""
        if not self.filled:
            return ""
        field, label, value = self.field.field, self.cell.label, self.field.value()
        if isinstance(field, JsonFormField | forms.BooleanField):
            return label
        if isinstance(field, forms.ChoiceField):
            value = choice_label(field, value)
        shown = shorten_line(str(value))
        if self.how:
            return f"{label} {choice_label(self.how.field, self.how.value())} {shown}"
        return shown if self.cell.clear else f"{label}: {shown}"


@dataclass(frozen=True, slots=True)
class GroupView:
    group: Group
    cells: tuple[CellView, ...]

    @property
    def wrong(self) -> bool:
        return any(cell.errors for cell in self.cells)

    @property
    def summary(self) -> str:
        """What is set in it, in one line."""
        if self.group.chooser:
            return failures_summary(self.cells[0].field.form)
        return " · ".join(cell.summary for cell in self.cells if cell.filled)

    @property
    def summary_id(self) -> str:
        return f"{self.cells[0].field.auto_id}_summary"

    @property
    def chooser_id(self) -> str:
        return f"{self.cells[0].field.auto_id}_when"


@dataclass(frozen=True, slots=True)
class StepRow:
    """`groups` are empty where the row's fields come when it is opened."""

    form: ClosedStepForm
    title: Title
    groups: tuple[GroupView, ...]
    hits: int = 0
    errors: int = 0
    deleted: bool = False

    @property
    def step(self) -> Step:
        return self.form.instance

    @property
    def sent(self) -> bool:
        """Whether its fields are on the page that was posted."""
        return self.form.is_bound and isinstance(self.form, StepForm)

    @property
    def once(self) -> bool:
        """Whether it is stored as one that is used up."""
        by_turn = self.form.select == Select.FIRST_USER_MESSAGE
        return bool(self.step.pk) and often_of(self.step, by_turn=by_turn) == ONCE

    @property
    def recorded(self) -> str:
        """Of a recorded step, whether it still replays what was recorded."""
        return told_of_recorded(self.step) if self.step.pk else ""

    @property
    def order(self) -> object:
        """The place to send: the one that was sent, or the step's own."""
        return self.form["order"].value() if self.form.is_bound else self.step.order

    @property
    def open(self) -> bool:
        unwritten = self.step.answer_text.strip().casefold() in PLACEHOLDERS
        return bool(self.errors or not self.step.pk or unwritten)


@dataclass(frozen=True, slots=True)
class Told:
    """One line of what is wrong, and the field or row that a click on it leads to."""

    where: str
    message: str
    target: str
    mends: tuple[Mend, ...] = ()


def scenario_groups(form: ScenarioForm) -> tuple[GroupView, ...]:
    return _groups(form, SCENARIO, {})


def step_groups(form: ClosedStepForm) -> tuple[GroupView, ...]:
    return _groups(form, STEP, form.elsewhere)


def step_rows(formset: StepFormSet, hits: Mapping[str, int]) -> list[StepRow]:
    """The steps in order, those to be deleted too, which have no number."""
    kept = set(map(id, formset.kept))
    rows: list[StepRow] = []
    number = 0
    for form in formset.in_order:
        deleted = id(form) not in kept
        number += not deleted
        told = [] if deleted else list(form.told())
        rows.append(
            StepRow(
                form=form,
                title=_title(0 if deleted else number, form.instance),
                groups=_shown(form, formset, wrong=bool(told)),
                hits=hits.get(form.instance.key, 0) if form.instance.pk else 0,
                errors=len(told),
                deleted=deleted,
            )
        )
    return rows


def empty_row(formset: StepFormSet) -> StepRow:
    """What a new step is made from."""
    form = formset.empty_form
    return StepRow(form=form, title=Title(0, "", "", ""), groups=step_groups(form))


def told(form: ScenarioForm, formset: StepFormSet | None, rows: list[StepRow]) -> list[Told]:
    """Everything that is wrong with the page, the scenario's own first."""
    of_all = formset.non_form_errors() if formset else ()
    return [
        *_of_scenario(form),
        *(Told("Steps", str(message), "steps") for message in of_all),
        *(line for row in rows if not row.deleted for line in _of_row(row)),
    ]


def _of_scenario(form: ScenarioForm) -> Iterator[Told]:
    for column, messages in form.errors.items():
        where = SCENARIO_CELLS[column].label if column in form.fields else ""
        target = form[column].id_for_label if column in form.fields else ""
        yield from (Told(where, str(message), target) for message in messages)


def _of_row(row: StepRow) -> Iterator[Told]:
    for column, message in row.form.told():
        where = f"Step {row.title.number}"
        target = row.form.prefix or ""
        if column:
            where += f", {STEP_CELLS[column].label}"
        if column in row.form.fields:
            target = row.form[column].id_for_label
        yield Told(where, message, target)


def _groups(
    form: forms.ModelForm, groups: tuple[Group, ...], elsewhere: Mapping[str, list[str]]
) -> tuple[GroupView, ...]:
    def errors(*names: str) -> tuple[str, ...]:
        own = [str(m) for name in names if name for m in form.errors.get(name, ())]
        return (*own, *(m for name in names for m in elsewhere.get(name, ())))

    return tuple(
        GroupView(
            group,
            tuple(
                CellView(
                    cell,
                    form[cell.field],
                    form[cell.how] if cell.how else None,
                    errors(cell.field, cell.how),
                    type(form.instance),
                )
                for cell in group.cells
            ),
        )
        for group in groups
    )


def _shown(form: ClosedStepForm, formset: StepFormSet, *, wrong: bool) -> tuple[GroupView, ...]:
    """The fields that a row is sent with: none where it is closed and nothing is wrong in it."""
    if not isinstance(form, StepForm):
        if not wrong and len(formset.forms) > SENT_AT_ONCE:
            return ()
        whole = formset.form(
            instance=form.instance,
            prefix=form.prefix,
            use_required_attribute=False,
            select=form.select,
        )
        whole.elsewhere = form.elsewhere
        return step_groups(whole)
    return step_groups(form)


def _title(number: int, step: Step) -> Title:
    try:
        title = title_of(number, step_object(step))
    except DocumentError:
        return Title(number, step.name, "", "")
    is_blank = not step.pk and (title.when, title.then) == (ANYTHING, NOTHING)
    return Title(number, title.name, "", "") if is_blank else title
