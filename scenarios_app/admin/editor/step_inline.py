"""The formset of a scenario's steps: keeps their order, appends new ones, validates them."""

from typing import TYPE_CHECKING, Any

from django.core.exceptions import ValidationError
from django.forms import BaseInlineFormSet, HiddenInput, IntegerField
from django.http import HttpRequest
from django.utils.functional import cached_property
from unfold.admin import StackedInline

from scenarios_app.admin.editor.forms import (
    MAX_ORDER,
    StepForm,
    StepRowForm,
    changes_by_others,
    select_of,
)
from scenarios_app.admin.editor.inputs import form_fields
from scenarios_app.admin.editor.layout import STEP
from scenarios_app.admin.editor.problems import is_missing, problem_at
from scenarios_app.engine.canonical import Json
from scenarios_app.engine.document import DocumentError, compile_scenario, load_scenario
from scenarios_app.models import AnyStep, DraftStep, Scenario, Step
from scenarios_app.store import RowProblem, limits, own_document, problems_of, save_steps
from scenarios_app.store.history import ConcurrentChanges

# In a scenario with more steps, a row's fields are loaded when the row is opened.
MAX_STEPS_WITH_FIELDS = 10


class StepIdField(IntegerField):
    """A field that accepts only the id of its form's step, and returns the step without a query."""

    def __init__(self, step: Step) -> None:
        super().__init__(required=False, widget=HiddenInput, initial=step.pk)
        self._step = step

    def clean(self, value: Any) -> Any:
        """Return the row's step; raise ValidationError if it was deleted meanwhile."""
        pk = super().clean(value)
        if pk != self._step.pk:
            raise ValidationError("somebody has deleted this step in the meantime")
        return self._step if pk else None


if TYPE_CHECKING:
    InlineFormSet = BaseInlineFormSet[Step, Scenario, StepRowForm]
else:
    InlineFormSet = BaseInlineFormSet


class StepFormSet(InlineFormSet):
    """The forms of all steps of a scenario, open or closed. `forms` stays in the order of the
    post."""

    @property
    def ordered_forms(self) -> list[StepRowForm]:
        """The forms in the order of their steps; those without an order come last."""
        if not self.is_bound:
            return self.forms
        return sorted(self.forms, key=_sort_key)

    @property
    def remaining_forms(self) -> list[StepRowForm]:
        """The forms of steps that are neither deleted nor left empty, in order."""
        if not self.is_bound:
            return self.forms
        return [form for form in self.ordered_forms if not self._is_left_out(form)]

    def clean(self) -> None:
        """Refuse to delete changed steps, and add the document's errors to the steps' fields."""
        super().clean()
        self._refuse_to_delete_changed()
        # An error in one column can hide errors in others until the column is emptied.
        while self._add_document_errors(self.remaining_forms):
            pass

    def add_fields(self, form: StepRowForm, index: int | None) -> None:
        """Add Django's fields; that of the id accepts this row's step alone."""
        super().add_fields(form, index)
        form.fields["id"] = StepIdField(form.instance)

    def save_new(self, form: StepRowForm, commit: bool = True) -> Any:
        """Save a new step; one without an order comes last."""
        if form.cleaned_data.get("order") is None:
            # The default order is 0, which the first step may have.
            self._last_order += 1
            form.instance.order = self._last_order
        return super().save_new(form, commit=commit)

    def save(self, commit: bool = True) -> Any:
        """Save all steps with a constant number of queries; return the saved ones."""
        saved = super().save(commit=False)
        if commit:
            save_steps(
                new=self.new_objects,
                changed=[step for step, _ in self.changed_objects],
                gone=self.deleted_objects,
            )
        return saved

    @cached_property
    def _last_order(self) -> int:
        """The highest order of the steps; `save_new` increases it for each step that it appends."""
        return max(
            (form.cleaned_data.get("order") or 0 for form in self.remaining_forms), default=0
        )

    def get_form_kwargs(self, index: int | None) -> dict[str, Any]:
        return {**super().get_form_kwargs(index), "select": select_of(self.instance)}

    def _construct_form(self, i: int, **kwargs: Any) -> Any:
        """Return a StepRowForm for a stored step whose row is not open, else a StepForm."""
        whole = self.form
        if i < self.initial_form_count() and not self._is_open(i):
            self.form = StepRowForm
        try:
            form = super()._construct_form(i, **kwargs)  # type: ignore[misc]
            if self.is_bound:
                form.before = self._concurrent_changes.steps.get(form.instance.pk)
                form.changed_by = self._concurrent_changes.who
            return form
        finally:
            self.form = whole

    def _is_open(self, i: int) -> bool:
        """Return True if the form of this index has fields, not only a title."""
        if self.is_bound:
            return self.add_prefix(i) in self._posted_rows
        return self.initial_form_count() <= MAX_STEPS_WITH_FIELDS

    @cached_property
    def _concurrent_changes(self) -> ConcurrentChanges:
        return changes_by_others(self.instance, self.data)

    @cached_property
    def _posted_rows(self) -> set[str]:
        """The prefixes of the rows of which a field was posted."""
        names = (key.rpartition("-") for key in self.data)
        return {prefix for prefix, _, name in names if name in form_fields(STEP)}

    def _refuse_to_delete_changed(self) -> None:
        """Raise ValidationError if a step to delete was changed by another user since the page was
        opened. The forms merge other changes."""
        others = self._concurrent_changes
        for form in self.forms if others.steps else ():
            deleted = self._should_delete_form(form)  # type: ignore[attr-defined]
            if form.instance.pk in others.steps and deleted:
                raise ValidationError(f"{others.who} changed a step that you delete.")

    def _add_document_errors(self, forms: list[StepRowForm]) -> bool:
        """Add the document's errors to the steps' fields, and return whether any was new.

        Values with errors are left out. Errors of the scenario itself belong to its own form.
        Raises ValidationError for an error of the list of steps as a whole.
        """
        steps = [form.document_without_errors() for form in forms]
        try:
            own = own_document(self.instance)
            # A missing name would hide the other errors.
            data = {**own, "name": own["name"] or "unnamed", "steps": steps}
            compile_scenario(load_scenario(data, limits=limits()))
        except DocumentError as error:
            problems = problems_of(error, self.instance.name)
            for problem in problems:
                if problem.step is None and problem.place.startswith("steps"):
                    raise ValidationError(problem.message) from None
            added = [
                _add_problem(forms[one.step - 1], steps[one.step - 1], one)
                for one in problems
                if one.step
            ]
            return any(added)
        return False

    def _is_left_out(self, form: StepRowForm) -> bool:
        """Return True for a deleted step and for a new one that was left empty."""
        if self._should_delete_form(form):  # type: ignore[attr-defined]
            return True
        return form.empty_permitted and not form.has_changed()


def _add_problem(form: StepRowForm, step: Json, problem: RowProblem) -> bool:
    """Add a problem to the row's form; return False if its field has an error anyway."""
    field, message = problem_at(STEP, problem.place, problem.message, step)
    wrong = form.error_places
    # The value that was left out may be the reason why something is missing.
    sections = {STEP.fields[place].keys[:1] for place in wrong if place in STEP.fields}
    caused = field.keys[:1] in sections or () in sections
    if field.place in wrong or (is_missing(message) and caused):
        return False
    form.add_error_at(field.place, message)
    return True


def _sort_key(form: StepRowForm) -> tuple[int, int]:
    """Return a row's order, then its place on the page; new rows without order come last."""
    order = form.cleaned_data.get("order")
    if order is None:
        order = form.instance.order if form.instance.pk else MAX_ORDER + 1
    return order, int((form.prefix or "").rpartition("-")[2])


class StepInline(StackedInline):
    model: type[AnyStep] = Step
    form = StepForm
    formset = StepFormSet
    extra = 0
    max_num = 10_000
    ordering = ("order", "pk")
    template = "scenarios_app/admin/steps.html"
    fieldsets = ((None, {"fields": ("order",)}),)

    # Rows are added, moved and deleted in one post, so all three permissions are needed.

    def has_add_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return _has_permissions(request, "add", "change", "delete")

    has_change_permission = has_delete_permission = has_add_permission

    def has_view_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return _has_permissions(request, "view") or _has_permissions(request, "change")


class DraftStepInline(StepInline):
    """The steps of a draft: shown to all who see it, changed with the draft's permission."""

    model = DraftStep

    def has_add_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        # A new draft has no row yet.
        verb = "add" if obj is None else "change"
        return request.user.has_perm(f"scenarios_app.{verb}_draft")

    has_change_permission = has_delete_permission = has_add_permission

    def has_view_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return True


def _has_permissions(request: HttpRequest, *verbs: str) -> bool:
    """Return True if the user has the permissions of all these verbs on published steps."""
    return request.user.has_perms([f"scenarios_app.{verb}_step" for verb in verbs])
