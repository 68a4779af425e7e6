"""The forms of a scenario and of a step. They refuse what a scenario document may not contain."""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from datetime import UTC
from typing import Any

from django import forms
from django.core.exceptions import NON_FIELD_ERRORS

from scenarios_app.admin.editor.frequency import (
    ALWAYS,
    frequency_of,
    kind_of_failures,
    store_choices,
)
from scenarios_app.admin.editor.inputs import ChoiceOrStoredField
from scenarios_app.admin.editor.layout import SCENARIO, STEP, fields_of
from scenarios_app.admin.editor.merge import MergingForm
from scenarios_app.admin.editor.problems import scenario_problem
from scenarios_app.engine.document import DocumentError, load_documents
from scenarios_app.models import AnyScenario, Scenario, Select, Step
from scenarios_app.store.history import ConcurrentChanges, changed_since, parse_time
from scenarios_app.store.translate import scenario_object

# Posted with the form: when the page was opened, and whether to overwrite changes since then.
OPENED_AT_FIELD, OVERWRITE_FIELD = "seen_at", "overwrite"
# A step that is appended gets the next number, which each database can store.
MAX_ORDER = 2**31 - 2

_FIELD_ORDER = {name: number for number, name in enumerate(fields_of(STEP))}


class ScenarioForm(MergingForm):
    class Meta:
        model = Scenario
        fields = fields_of(SCENARIO)

    def full_clean(self) -> None:
        """Keep changes that others saved since the page was opened, unless overwriting is set."""
        if self.is_bound:
            changes = changes_by_others(self.instance, self.data)
            self.before, self.changed_by = changes.scenario, changes.who
        super().full_clean()

    def _post_clean(self) -> None:
        """Add the errors that the scenario has as a document."""
        super()._post_clean()  # type: ignore[misc]
        error_columns = set(self.errors)
        try:
            load_documents(scenario_object(self.instance, []))
        except DocumentError as error:
            for problem in error.problems:
                column, message = scenario_problem(problem.place, problem.message)
                # A refused field leaves the stored value in the row, which was valid.
                if column not in error_columns:
                    self.add_error(column, message)


def changes_by_others(scenario: AnyScenario, data: Mapping[str, Any]) -> ConcurrentChanges:
    """Return what others changed since the page was opened. Without a valid posted time, and if
    the changes are to be overwritten, return no changes."""
    if scenario.pk is None or data.get(OVERWRITE_FIELD):
        return ConcurrentChanges()
    try:
        opened_at = parse_time(data.get(OPENED_AT_FIELD, "")).astimezone(UTC)
    except (ValueError, OverflowError):
        return ConcurrentChanges()
    return changed_since(scenario, opened_at)


class StepRowForm(MergingForm):
    """The row of a step that was not opened: only its order is posted, and its columns stay
    unchanged. Base of the opened row, `StepForm`."""

    order = forms.IntegerField(
        required=False, min_value=0, max_value=MAX_ORDER, widget=forms.HiddenInput
    )
    unmerged_fields = frozenset({"order", "id", "DELETE"})

    class Meta:
        model = Step
        fields: tuple[str, ...] = ("order",)

    def __init__(self, *args: Any, select: str = Select.MATCH, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        # How the scenario is selected: by match or by the first user message.
        self.select = select
        # Errors of columns that this form has no field for.
        self.hidden_errors: defaultdict[str, list[str]] = defaultdict(list)

    def clean_order(self) -> int | None:
        """Return the posted order, or the stored one if none was posted."""
        order: int | None = self.cleaned_data.get("order")
        return self.instance.order if order is None and self.instance.pk else order

    def unbound_form(self, row: Any) -> forms.ModelForm:
        return type(self)(instance=row, select=self.select)

    @property
    def error_columns(self) -> set[str]:
        """The columns with errors, including those without a field in this form."""
        return {*self.errors, *self.hidden_errors} - {NON_FIELD_ERRORS}

    def add_error_at(self, column: str, message: str) -> None:
        """Add an error to a column, even if this form has no field for it."""
        if column in self.fields:
            self.add_error(column, message)
        else:
            self.hidden_errors[column].append(message)
            self.add_error(None, message)

    def all_errors(self) -> Iterator[tuple[str, str]]:
        """Yield (column, message) of each error of a step, open or closed, in the order of the
        page; the column is "" if the page does not have it."""
        errors: dict[str, list[str]] = {
            column: list(map(str, messages))
            for column, messages in self.errors.items()
            if column != NON_FIELD_ERRORS
        }
        errors |= self.hidden_errors
        for column in sorted(errors, key=lambda name: _FIELD_ORDER.get(name, -1)):
            yield from ((column if column in _FIELD_ORDER else "", m) for m in errors[column])
        yielded = {message for messages in self.hidden_errors.values() for message in messages}
        yield from (("", str(m)) for m in self.non_field_errors() if m not in yielded)


class StepForm(StepRowForm):
    """An opened step with all of its fields."""

    class Meta:
        model = Step
        fields = ("order", *fields_of(STEP))

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        for name, field in self.fields.items():
            if isinstance(field, ChoiceOrStoredField):
                field.add_choice(getattr(self.instance, name))
        # In documents a step answers once and minds the case by default; a new one here does
        # neither.
        by_turn = self.select == Select.FIRST_USER_MESSAGE
        stored = self.instance.pk is not None
        self.initial["consume"] = frequency_of(self.instance, by_turn=by_turn) if stored else ALWAYS
        self.initial["failures_kind"] = kind_of_failures(self.instance)
        if not stored:
            self.initial["match_user_ignore_case"] = True

    def clean(self) -> dict[str, Any]:
        """Translate the page's choices into columns."""
        super().clean()
        store_choices(self, select=self.select)
        return self.cleaned_data
