"""The forms of a scenario and of a step. They refuse what a scenario document may not contain."""

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC
from typing import Any

from django import forms
from django.core.exceptions import NON_FIELD_ERRORS

from scenarios_app.admin.editor.document_form import DocumentForm, set_value
from scenarios_app.admin.editor.frequency import ALWAYS, DEFAULT_KIND, FIRST_KIND, ONCE, TIMES
from scenarios_app.admin.editor.inputs import HOW, IGNORE, form_fields
from scenarios_app.admin.editor.layout import SCENARIO, STEP
from scenarios_app.admin.editor.places import Object
from scenarios_app.admin.editor.problems import problem_at
from scenarios_app.engine.canonical import Json
from scenarios_app.engine.document import DocumentError, load_scenario
from scenarios_app.models import AnyScenario, Scenario, Select, Step
from scenarios_app.store import own_document, set_own_document
from scenarios_app.store.history import ConcurrentChanges, changed_since, parse_time

# Posted with the form: when the page was opened, and whether to overwrite changes since then.
OPENED_AT_FIELD, OVERWRITE_FIELD = "seen_at", "overwrite"
# A step that is appended gets the next number, which each database can store.
MAX_ORDER = 2**31 - 2
_BY_TURN = "A scenario that is selected by its name answers every time."
_NO_KIND = "required, or leave the number of failing requests empty"


class ScenarioForm(DocumentForm):
    layout = SCENARIO

    class Meta:
        model = Scenario
        fields: tuple[str, ...] = ()

    def add_inputs(self) -> None:
        super().add_inputs()
        self.fields["name"].required = True

    def read(self, row: Any) -> Json:
        """Return the scenario's own part of its document, without steps."""
        try:
            own = own_document(row)
        except DocumentError:
            return row.document
        return {
            key: value
            for key, value in own.items()
            if key != "steps" and (key, value) != ("name", "")
        }

    def write(self, row: Any, document: Json) -> None:
        """Set the scenario's own part of its document; an empty list keeps the place of steps."""
        if not isinstance(document, dict):
            return
        own = document
        if isinstance(row.document, dict) and "steps" in row.document:
            own = SCENARIO.order({**document, "steps": []}, row.document)
        set_own_document(row, own)

    def full_clean(self) -> None:
        """Keep changes that others saved since the page was opened, unless overwriting is set."""
        if self.is_bound:
            changes = changes_by_others(self.instance, self.data)
            self.before, self.changed_by = changes.scenario, changes.who
        super().full_clean()

    def _post_clean(self) -> None:
        """Add the errors that the scenario has as a document."""
        super()._post_clean()
        error_places = set(self.errors)
        try:
            load_scenario(self.document)
        except DocumentError as error:
            for problem in error.problems:
                field, message = problem_at(SCENARIO, problem.place, problem.message, self.document)
                if field.place not in self.fields:
                    # The page was posted without this field.
                    self.add_error(None, f"{field.label}: {message}")
                # A refused field leaves the stored value in the document, which was valid.
                elif field.place not in error_places:
                    self.add_error(field.place, message)


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


def select_of(scenario: AnyScenario) -> Json:
    """Return how a scenario is selected: by match, or by the first user message."""
    document = scenario.document
    return document.get("select", Select.MATCH) if isinstance(document, dict) else Select.MATCH


class StepRowForm(DocumentForm):
    """The row of a step that was not opened: only its order is posted, and its document stays
    unchanged. Base of the opened row, `StepForm`."""

    layout = STEP
    order = forms.IntegerField(
        required=False, min_value=0, max_value=MAX_ORDER, widget=forms.HiddenInput
    )

    class Meta:
        model = Step
        fields: tuple[str, ...] = ("order",)

    def __init__(self, *args: Any, select: Json = Select.MATCH, **kwargs: Any) -> None:
        self.select = select
        # Errors at places that this form has no field for.
        self.hidden_errors: defaultdict[str, list[str]] = defaultdict(list)
        super().__init__(*args, **kwargs)

    def add_inputs(self) -> None:
        """Add nothing: the fields are loaded when the row is opened."""

    def clean_order(self) -> int | None:
        """Return the posted order, or the stored one if none was posted."""
        order: int | None = self.cleaned_data.get("order")
        return self.instance.order if order is None and self.instance.pk else order

    @property
    def once(self) -> bool:
        """True if the step is used up after one answer; those selected by turn never are."""
        return self.select != Select.FIRST_USER_MESSAGE and self.values.get("consume") is not False

    @property
    def error_places(self) -> set[str]:
        """The places with errors, including those without a field in this form."""
        names = {*self.errors, *self.hidden_errors} - {NON_FIELD_ERRORS}
        return {name.removesuffix(HOW).removesuffix(IGNORE) for name in names}

    def document_without_errors(self) -> Json:
        """Return the document without the values that have errors."""
        wrong = self.error_places
        values = {place: value for place, value in self.values.items() if place not in wrong}
        rest = {place: value for place, value in self.rest.items() if place not in wrong}
        return self.layout.join(values, rest, like=self.document)

    def add_error_at(self, place: str, message: str) -> None:
        """Add an error to a place, even if this form has no field for it."""
        if place in self.fields:
            self.add_error(place, message)
        else:
            self.hidden_errors[place].append(message)
            self.add_error(None, message)

    def all_errors(self) -> Iterator[tuple[str, str]]:
        """Yield (place, message) of each error of a step, open or closed, in the order of the
        page; the place is "" if the page does not have it."""
        order = list(form_fields(STEP))
        errors: dict[str, list[str]] = {
            name: list(map(str, messages))
            for name, messages in self.errors.items()
            if name != NON_FIELD_ERRORS
        }
        errors |= self.hidden_errors
        for name in sorted(errors, key=lambda name: order.index(name) if name in order else -1):
            yield from ((name if name in order else "", message) for message in errors[name])
        yielded = {message for messages in self.hidden_errors.values() for message in messages}
        yield from (("", str(m)) for m in self.non_field_errors() if m not in yielded)


class StepForm(StepRowForm):
    """An opened step with all of its fields."""

    def add_inputs(self) -> None:
        DocumentForm.add_inputs(self)

    @property
    def is_sent(self) -> bool:
        return self.is_bound and (not self.instance.pk or self.add_prefix("consume") in self.data)

    def inputs_of(self, values: Object, rest: Object) -> dict[str, Any]:
        """Return the values of the inputs. In documents a step answers once and minds the case by
        default; a new one here does neither."""
        inputs = super().inputs_of(values, rest)
        by_turn = self.select == Select.FIRST_USER_MESSAGE
        is_new = self.instance.pk is None
        inputs["consume"] = ALWAYS if is_new or by_turn or not inputs["consume"] else ONCE
        if is_new:
            inputs["match.messages(user)" + IGNORE] = True
        if inputs[TIMES] is not None and not inputs[FIRST_KIND]:
            inputs[FIRST_KIND] = DEFAULT_KIND
        return inputs

    def complete(self, values: Object, rest: Object, get: Callable[[str], Any]) -> None:
        """Set how often the step answers, and complete the failures of the first requests."""
        if not self.is_sent:
            return
        often = get("consume") or ALWAYS
        if self.select == Select.FIRST_USER_MESSAGE:
            # Steps of such a scenario have no frequency.
            values.pop("consume", None)
            if often == ONCE:
                self.add_error("consume", _BY_TURN)
        elif (often == ONCE) != (values.get("consume", True) is not False):
            set_value(values, "consume", None if often == ONCE else False)
        kind, times = get(FIRST_KIND), get(TIMES)
        if kind and times is None and TIMES not in self.errors:
            values[TIMES] = 1
        elif times is not None and not kind and FIRST_KIND not in self.errors:
            self.add_error(FIRST_KIND, _NO_KIND)
        elif kind and any(place.startswith("failures.fault") for place in (*values, *rest)):
            # The default type stays implicit as stored, unless other keys need it.
            values[FIRST_KIND] = kind
