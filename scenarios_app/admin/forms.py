"""The forms of a scenario and of a step; what they refuse is what the document refuses."""

from collections import defaultdict
from collections.abc import Iterator
from typing import Any

from django import forms
from django.core.exceptions import NON_FIELD_ERRORS
from django.forms.formsets import DELETION_FIELD_NAME

from scenarios_app.admin.inputs import AnyOfField
from scenarios_app.admin.layout import SCENARIO, STEP, STEP_CELLS, fields_of
from scenarios_app.admin.problems import scenario_problem
from scenarios_app.columns import scenario_object
from scenarios_app.engine.document import DocumentError, load_documents
from scenarios_app.models import Scenario, Step
from scenarios_app.wire.registry import WIRES

# What a row sends even when its fields were never shown.
CARRIED = frozenset({"id", "scenario", "order", DELETION_FIELD_NAME})
PROVIDERS = [("", "any provider"), *((wire.provider, wire.provider) for wire in WIRES)]

_PLACES = {name: number for number, name in enumerate(fields_of(STEP))}


class ScenarioForm(forms.ModelForm):
    class Meta:
        model = Scenario
        fields = fields_of(SCENARIO)

    def _post_clean(self) -> None:
        super()._post_clean()  # type: ignore[misc]
        if self.errors:
            return
        try:
            load_documents(scenario_object(self.instance, []))
        except DocumentError as error:
            for problem in error.problems:
                self.add_error(*scenario_problem(problem.place, problem.message))


class StepForm(forms.ModelForm):
    """One step. A saved one whose fields were not sent, since its row was never opened, stays as
    it is but for its place."""

    order = forms.IntegerField(required=False, min_value=0, widget=forms.HiddenInput)

    class Meta:
        model = Step
        fields = ("order", *fields_of(STEP))

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.elsewhere: defaultdict[str, list[str]] = defaultdict(list)
        if isinstance(provider := self.fields.get("match_provider"), AnyOfField):
            provider.offer(PROVIDERS, self.instance.match_provider)
        if self.untouched:
            for name in set(self.fields) - CARRIED:
                del self.fields[name]

    def clean_order(self) -> int | None:
        order: int | None = self.cleaned_data.get("order")
        return self.instance.order if order is None and self.instance.pk else order

    @property
    def untouched(self) -> bool:
        """Whether it was posted without any field of its body."""
        if not self.is_bound or not self.instance.pk:
            return False
        return not any(self.add_prefix(name) in self.data for name in STEP_CELLS)

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
            yield from ((column, message) for message in told[column])
        shown = {message for messages in self.elsewhere.values() for message in messages}
        yield from (("", str(m)) for m in self.non_field_errors() if m not in shown)
