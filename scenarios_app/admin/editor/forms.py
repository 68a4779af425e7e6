"""The forms of a scenario and of a step; what they refuse is what the document refuses."""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import Any

from django import forms
from django.core.exceptions import NON_FIELD_ERRORS

from scenarios_app.admin.editor.frequency import (
    ALWAYS,
    kind_choices,
    kind_of_failures,
    often_of,
    settle,
)
from scenarios_app.admin.editor.inputs import AnyOfField
from scenarios_app.admin.editor.layout import SCENARIO, STEP, fields_of
from scenarios_app.admin.editor.merge import MergingForm
from scenarios_app.admin.editor.problems import scenario_problem
from scenarios_app.engine.document import DocumentError, load_documents
from scenarios_app.models import AnyScenario, Scenario, Select, Step
from scenarios_app.store.history import Meanwhile, changed_since, moment_of
from scenarios_app.store.translate import scenario_object
from scenarios_app.wire.registry import providers


def provider_choices() -> list[tuple[str, str]]:
    return [("", "any provider"), *((name, name) for name in providers())]


_OFFERED = {
    "match_provider": provider_choices,
    "failures_kind": kind_choices,
    "fault_kind": kind_choices,
}

# When the page was opened, and whether what others did since then is to be written over.
SEEN, OVERWRITE = "seen_at", "overwrite"

_PLACES = {name: number for number, name in enumerate(fields_of(STEP))}


class ScenarioForm(MergingForm):
    class Meta:
        model = Scenario
        fields = fields_of(SCENARIO)

    def full_clean(self) -> None:
        """What somebody else has changed meanwhile is not written over unasked."""
        if self.is_bound:
            others = meanwhile(self.instance, self.data)
            self.before, self.who = others.scenario, others.who
        super().full_clean()

    def _post_clean(self) -> None:
        super()._post_clean()  # type: ignore[misc]
        wrong = set(self.errors)
        try:
            load_documents(scenario_object(self.instance, []))
        except DocumentError as error:
            for problem in error.problems:
                column, message = scenario_problem(problem.place, problem.message)
                # Where a field is refused, the row has what it had before.
                if column not in wrong:
                    self.add_error(column, message)


def meanwhile(scenario: AnyScenario, data: Mapping[str, Any]) -> Meanwhile:
    """What others have changed since the page was opened, unless that is to be written over."""
    if scenario.pk is None or data.get(OVERWRITE):
        return Meanwhile()
    try:
        seen = moment_of(data.get(SEEN, ""))
    except ValueError:
        return Meanwhile()
    return changed_since(scenario, seen)


class ClosedStepForm(MergingForm):
    """A step whose row was not opened: it has a place, and stays as it is otherwise."""

    order = forms.IntegerField(required=False, min_value=0, widget=forms.HiddenInput)
    apart = frozenset({"order", "id", "DELETE"})

    class Meta:
        model = Step
        fields: tuple[str, ...] = ("order",)

    def __init__(self, *args: Any, select: str = Select.MATCH, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        # How its scenario is chosen.
        self.select = select
        # Errors of fields that this form does not have.
        self.elsewhere: defaultdict[str, list[str]] = defaultdict(list)

    def clean_order(self) -> int | None:
        order: int | None = self.cleaned_data.get("order")
        return self.instance.order if order is None and self.instance.pk else order

    def as_of(self, row: Any) -> forms.ModelForm:
        return type(self)(instance=row, select=self.select)

    @property
    def wrong(self) -> set[str]:
        """The columns that something is wrong with, shown or not."""
        return {*self.errors, *self.elsewhere} - {NON_FIELD_ERRORS}

    def complain(self, column: str, message: str) -> None:
        """Put an error at its field, even where this form does not show it."""
        if column in self.fields:
            self.add_error(column, message)
        else:
            self.elsewhere[column].append(message)
            self.add_error(None, message)

    def told(self) -> Iterator[tuple[str, str]]:
        """Every error with the field that it is shown at, in the order of the page."""
        told: dict[str, list[str]] = {
            column: list(map(str, messages))
            for column, messages in self.errors.items()
            if column != NON_FIELD_ERRORS
        }
        told |= self.elsewhere
        for column in sorted(told, key=lambda name: _PLACES.get(name, -1)):
            yield from ((column if column in _PLACES else "", m) for m in told[column])
        shown = {message for messages in self.elsewhere.values() for message in messages}
        yield from (("", str(m)) for m in self.non_field_errors() if m not in shown)


class StepForm(ClosedStepForm):
    """One step, all of it."""

    class Meta:
        model = Step
        fields = ("order", *fields_of(STEP))

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        for name, offered in _OFFERED.items():
            if isinstance(field := self.fields.get(name), AnyOfField):
                field.offer(offered(), getattr(self.instance, name))
        # A step in a file answers once by default, and minds the case. A new one here does not.
        by_turn = self.select == Select.FIRST_USER_MESSAGE
        stored = self.instance.pk is not None
        self.initial["consume"] = often_of(self.instance, by_turn=by_turn) if stored else ALWAYS
        self.initial["failures_kind"] = kind_of_failures(self.instance)
        if not stored:
            self.initial["match_user_ignore_case"] = True

    def clean(self) -> dict[str, Any]:
        super().clean()
        settle(self, select=self.select)
        return self.cleaned_data
