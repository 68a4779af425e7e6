"""The steps of a scenario as one formset: kept in order, new ones last, checked as a document."""

from collections.abc import Sequence
from typing import Any

from django.core.exceptions import ValidationError
from django.db import models
from django.forms import BaseInlineFormSet, Field
from django.http import HttpRequest
from unfold.admin import StackedInline

from scenarios_app.admin.forms import StepForm
from scenarios_app.admin.inputs import form_field
from scenarios_app.admin.layout import STEP, STEP_CELLS
from scenarios_app.admin.problems import step_problem
from scenarios_app.columns import scenario_object, step_object
from scenarios_app.engine.canonical import Json
from scenarios_app.engine.document import DocumentError, compile_scenario, load_documents
from scenarios_app.models import Step
from scenarios_app.rows import limits
from scenarios_app.snapshot import problems_of


class StepFormSet(BaseInlineFormSet):
    """Nothing is saved while any step is wrong; `forms` stays in the order of the request."""

    forms: list[StepForm]

    @property
    def in_order(self) -> list[StepForm]:
        """The forms as their steps follow one another; one that has no place yet comes last."""
        return sorted(self.forms, key=lambda form: _place(form, len(self.forms)))

    @property
    def kept(self) -> list[StepForm]:
        """Those of a valid request that become or stay steps, in order."""
        new = set(map(id, self.extra_forms))
        return [
            form
            for form in self.in_order
            if not self._is_deleted(form) and (id(form) not in new or form.has_changed())
        ]

    def clean(self) -> None:
        super().clean()
        steps: list[Json] = []
        forms: list[StepForm] = []
        for form in self.kept:
            if form.errors:
                continue
            try:
                steps.append(step_object(form.instance))
            except DocumentError as error:
                form.complain(error.place, error.message)
            else:
                forms.append(form)
        self._check(steps, forms)

    def save_new(self, form: StepForm, commit: bool = True) -> Any:
        if form.cleaned_data.get("order") is None:
            self._last = max(self._last, *self._orders(), 0) + 1
            form.instance.order = self._last
        return super().save_new(form, commit=commit)

    _last = 0

    def _orders(self) -> Sequence[int]:
        return [form.instance.order for form in self.forms if form.instance.pk] or [0]

    def _check(self, steps: list[Json], forms: list[StepForm]) -> None:
        """Look at the scenario as a whole; what is wrong with it outside of its steps its own form
        says."""
        try:
            data = scenario_object(self.instance, steps)
            for document in load_documents(data, limits=limits()):
                compile_scenario(document)
        except DocumentError as error:
            for problem in problems_of(error, self.instance.name):
                if problem.step is not None:
                    form = forms[problem.step - 1]
                    form.complain(*step_problem(problem.place, problem.message, form.instance))
                elif problem.place.startswith("steps"):
                    raise ValidationError(problem.message) from None

    def _is_deleted(self, form: StepForm) -> bool:
        return bool(self.can_delete and self._should_delete_form(form))


def _place(form: StepForm, count: int) -> tuple[int, int]:
    """By the posted order; the row's own where none was posted, and last where it is new."""
    index = int(form.prefix.rpartition("-")[2])
    if not form.is_bound:
        return 0, index
    cleaned = getattr(form, "cleaned_data", {})
    order = cleaned.get("order")
    if order is None:
        order = form.instance.order if form.instance.pk else 2**31
    return order, index


class StepInline(StackedInline):
    model = Step
    form = StepForm
    formset = StepFormSet
    extra = 0
    max_num = 10_000
    ordering = ("order", "pk")
    template = "scenarios_app/admin/steps.html"
    fieldsets = [(group.title or None, {"fields": group.fields}) for group in STEP] + [
        (None, {"fields": ("order",)})
    ]

    def formfield_for_dbfield(
        self, db_field: "models.Field[Any, Any]", request: HttpRequest | None, **kwargs: Any
    ) -> Field | None:
        if cell := STEP_CELLS.get(db_field.name):
            return form_field(db_field, cell)
        return super().formfield_for_dbfield(db_field, request, **kwargs)
