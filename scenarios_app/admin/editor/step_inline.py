"""The steps of a scenario as one formset: kept in order, new ones last, checked as a document."""

from copy import copy
from functools import cached_property
from typing import TYPE_CHECKING, Any

from django.core.exceptions import ValidationError
from django.db import models
from django.forms import BaseInlineFormSet, Field, HiddenInput, IntegerField
from django.http import HttpRequest
from unfold.admin import StackedInline

from scenarios_app.admin.editor.forms import ClosedStepForm, StepForm, meanwhile
from scenarios_app.admin.editor.inputs import form_field
from scenarios_app.admin.editor.layout import STEP, STEP_CELLS
from scenarios_app.admin.editor.problems import is_missing, step_problem
from scenarios_app.engine.canonical import Json
from scenarios_app.engine.document import DocumentError, compile_scenario, load_documents
from scenarios_app.models import AnyStep, DraftStep, Scenario, Step
from scenarios_app.store import RowProblem, limits, problems_of, save_steps
from scenarios_app.store.columns import EXTRAS, VALUES, empty_value
from scenarios_app.store.history import Meanwhile
from scenarios_app.store.translate import scenario_object, step_object

# A scenario with more steps than this sends a row's fields when the row is opened.
SENT_AT_ONCE = 10

_LAST = 2**31


class StepIdField(IntegerField):
    """Says which step a form is for, and asks the database nothing: the formset has them all."""

    def __init__(self, step: Step) -> None:
        super().__init__(required=False, widget=HiddenInput, initial=step.pk)
        self._step = step

    def clean(self, value: Any) -> Any:
        pk = super().clean(value)
        if pk != self._step.pk:
            raise ValidationError("somebody has deleted this step in the meantime")
        return self._step if pk else None


if TYPE_CHECKING:
    InlineFormSet = BaseInlineFormSet[Step, Scenario, ClosedStepForm]
else:
    InlineFormSet = BaseInlineFormSet


class StepFormSet(InlineFormSet):
    """Nothing is saved while any step is wrong; `forms` stays in the order of the request."""

    @property
    def in_order(self) -> list[ClosedStepForm]:
        """The forms as their steps follow one another; one that has no place yet comes last."""
        if not self.is_bound:
            return self.forms
        return sorted(self.forms, key=_place)

    @property
    def kept(self) -> list[ClosedStepForm]:
        """Those that become or stay steps, in order."""
        if not self.is_bound:
            return self.forms
        return [form for form in self.in_order if not self._is_left_out(form)]

    def clean(self) -> None:
        super().clean()
        self._keep_what_others_did()
        # What is wrong in a field hides what is wrong in others, until it is taken out.
        while self._complain(self.kept):
            pass

    def add_fields(self, form: ClosedStepForm, index: int | None) -> None:
        super().add_fields(form, index)
        form.fields["id"] = StepIdField(form.instance)

    def save_new(self, form: ClosedStepForm, commit: bool = True) -> Any:
        if form.cleaned_data.get("order") is None:
            # The form's own place is 0, where the first step may be.
            self._last += 1
            form.instance.order = self._last
        return super().save_new(form, commit=commit)

    def save(self, commit: bool = True) -> Any:
        """All at once, however many there are."""
        saved = super().save(commit=False)
        if commit:
            save_steps(
                new=self.new_objects,
                changed=[step for step, _ in self.changed_objects],
                columns={name for _, columns in self.changed_objects for name in columns},
                gone=self.deleted_objects,
            )
        return saved

    @cached_property
    def _last(self) -> int:
        return max((form.cleaned_data.get("order") or 0 for form in self.kept), default=0)

    def get_form_kwargs(self, index: int | None) -> dict[str, Any]:
        return {**super().get_form_kwargs(index), "select": self.instance.select}

    def _construct_form(self, i: int, **kwargs: Any) -> Any:
        whole = self.form
        if i < self.initial_form_count() and not self._is_open(i):
            self.form = ClosedStepForm
        try:
            form = super()._construct_form(i, **kwargs)  # type: ignore[misc]
            if self.is_bound:
                form.before = self._others.steps.get(form.instance.pk)
                form.who = self._others.who
            return form
        finally:
            self.form = whole

    def _is_open(self, i: int) -> bool:
        if self.is_bound:
            return i in self._sent
        return self.initial_form_count() <= SENT_AT_ONCE

    @cached_property
    def _others(self) -> Meanwhile:
        return meanwhile(self.instance, self.data)

    @cached_property
    def _sent(self) -> set[int]:
        """The rows of which any field was sent."""
        sent: set[int] = set()
        for key in self.data:
            prefix, _, name = key.rpartition("-")
            index = prefix.removeprefix(f"{self.prefix}-")
            if name in STEP_CELLS and index.isdecimal():
                sent.add(int(index))
        return sent

    def _keep_what_others_did(self) -> None:
        """Changes of other fields were merged, by the forms."""
        others = self._others
        for form in self.forms if others.steps else ():
            deleted = self._should_delete_form(form)  # type: ignore[attr-defined]
            if form.instance.pk in others.steps and deleted:
                raise ValidationError(f"{others.who} changed a step that you delete.")

    def _complain(self, forms: list[ClosedStepForm]) -> bool:
        """Put what is wrong with these steps at its fields, apart from what is wrong there already;
        whether there was any. What is wrong with the scenario outside of them its own form says."""
        rows = [_without(form) for form in forms]
        steps: list[dict[str, Json]] = []
        for form, row in zip(forms, rows, strict=True):
            try:
                steps.append(step_object(row))
            except DocumentError as error:
                form.complain(error.place, error.message)
                return True
        try:
            # A name that is missing hides nothing else.
            data = scenario_object(self.instance, steps)
            data["name"] = data["name"] or "unnamed"
            for document in load_documents(data, limits=limits()):
                compile_scenario(document)
        except DocumentError as error:
            found = problems_of(error, self.instance.name)
            for problem in found:
                if problem.step is None and problem.place.startswith("steps"):
                    raise ValidationError(problem.message) from None
            told = [
                _tell(forms[one.step - 1], rows[one.step - 1], one) for one in found if one.step
            ]
            return any(told)
        return False

    def _is_left_out(self, form: ClosedStepForm) -> bool:
        if self._should_delete_form(form):  # type: ignore[attr-defined]
            return True
        return form.empty_permitted and not form.has_changed()


def _without(form: ClosedStepForm) -> AnyStep:
    """Its step without what is wrong in it already."""
    row = copy(form.instance)
    for column in form.wrong:
        setattr(row, column, empty_value(Step, column))
    return row


def _section(column: str) -> str:
    return ({**VALUES, **EXTRAS}.get(column) or ("",))[0]


def _tell(form: ClosedStepForm, row: AnyStep, problem: RowProblem) -> bool:
    column, message = step_problem(problem.place, problem.message, row)
    # What was taken out may be all that there was.
    missed = is_missing(message) and _section(column) in map(_section, form.wrong)
    if column in form.wrong or missed:
        return False
    form.complain(column, message)
    return True


def _place(form: ClosedStepForm) -> tuple[int, int]:
    order = form.cleaned_data.get("order")
    if order is None:
        order = form.instance.order if form.instance.pk else _LAST
    return order, int((form.prefix or "").rpartition("-")[2])


class StepInline(StackedInline):
    model: type[AnyStep] = Step
    form = StepForm
    formset = StepFormSet
    extra = 0
    max_num = 10_000
    ordering = ("order", "pk")
    template = "scenarios_app/admin/steps.html"
    fieldsets = [  # noqa: RUF012
        *((group.title or None, {"fields": group.fields}) for group in STEP),
        (None, {"fields": ("order",)}),
    ]

    def formfield_for_dbfield(
        self, db_field: "models.Field[Any, Any]", request: HttpRequest | None, **kwargs: Any
    ) -> Field | None:
        if cell := STEP_CELLS.get(db_field.name):
            return form_field(db_field, cell)
        return super().formfield_for_dbfield(db_field, request, **kwargs)

    # Rows are added, moved and deleted in one: who may not do all of it does none of it.

    def has_add_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return _may(request, "add", "change", "delete")

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return self.has_add_permission(request, obj)

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return self.has_add_permission(request, obj)

    def has_view_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return _may(request, "view") or _may(request, "change")


class DraftStepInline(StepInline):
    """Who may change a draft may change its steps."""

    model = DraftStep

    def has_add_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        # A draft that is being made has no row yet.
        verb = "add" if obj is None else "change"
        return request.user.has_perm(f"scenarios_app.{verb}_draft")

    def has_view_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return True


def _may(request: HttpRequest, *verbs: str) -> bool:
    return request.user.has_perms([f"scenarios_app.{verb}_step" for verb in verbs])
