"""The form of a document: shows it in the fields of a layout, changes in it only what the user
changed, and merges that with what others saved meanwhile."""

import json
from collections.abc import Callable
from copy import deepcopy
from typing import Any, ClassVar

from django import forms
from django.utils.functional import cached_property

from scenarios_app.admin.editor.frequency import is_failure
from scenarios_app.admin.editor.inputs import (
    HOW,
    IGNORE,
    ChoiceField,
    choice_label,
    form_fields,
    input_values,
    value_of_inputs,
)
from scenarios_app.admin.editor.places import IGNORE_CASE, REST, Layout, Object
from scenarios_app.engine.canonical import Json
from scenarios_app.engine.conditions.phrases import shorten_line
from scenarios_app.engine.document import DocumentError
from scenarios_app.store.history import NO_USER

_MAX_VALUE_CHARS = 120


class DocumentForm(forms.ModelForm):
    """A form for the document of a row: the stored document with what the user changed in it.

    Changes that others saved since the page was opened stay: `before` is the row at that time, None
    if it is unchanged, and `changed_by` names who changed it. A field that both changed is an error
    that names both values.
    """

    layout: ClassVar[Layout]
    before: Any = None
    changed_by: str = NO_USER

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.stored = self.read(self.instance)
        # The document as it is stored; after cleaning, as the user wants it. Its values and rest.
        self.document = self.stored
        self.values, self.rest = self.layout.split(self.stored)
        # Places of values that their fields cannot show, with a text that says where they are.
        self.unshown: dict[str, str] = {}
        self.add_inputs()

    def add_inputs(self) -> None:
        """Add the inputs of the page's fields, with the values of the stored document."""
        self.fields |= deepcopy(form_fields(self.layout))
        self.initial = {**self.inputs_of(self.values, self.rest), **self.initial}
        for name, form_field in self.fields.items():
            if isinstance(form_field, ChoiceField):
                form_field.add_choice(self.initial.get(name))
        for field, section, value in self.layout.unshown(self.values, self.rest):
            text = shorten_line(json.dumps(value))
            self.unshown[field.place] = f"{text} (see {section.label})"
            empty_field: Any = self.fields[field.place]
            empty_field.widget.attrs["placeholder"] = text
            choices: Any = getattr(empty_field, "choices", ())
            if choices and empty_field.valid_value(""):
                empty_field.choices = [("", text), *list(choices)[1:]]

    def read(self, row: Any) -> Json:
        """Return the document of a row, which may be malformed."""
        return row.document

    def write(self, row: Any, document: Json) -> None:
        """Set the document of a row, which is not saved."""
        row.document = document

    def inputs_of(self, values: Object, rest: Object) -> dict[str, Any]:
        """Return the values of the inputs, by name, for the values and the rest of a document."""
        return input_values(self.layout, values, rest)

    @property
    def is_sent(self) -> bool:
        """True if all fields of the form were posted, except for hidden ones."""
        return self.is_bound

    @cached_property
    def changed_data(self) -> list[str]:
        """The inputs that the user changed, without those that keep their stored values."""
        unsent, _ = self._unsent_inputs
        return [name for name in super().changed_data if name not in unsent]

    def full_clean(self) -> None:
        """Validate only what the user changed; changes of others to the same field become
        errors."""
        unsent, conflicts = self._unsent_inputs if self.is_bound else (set(), {})
        all_fields = self.fields
        self.fields = {name: field for name, field in all_fields.items() if name not in unsent}
        try:
            super().full_clean()
            for name, message in conflicts.items():
                if name not in self.errors:
                    self.add_error(name, message)
        finally:
            self.fields = all_fields

    @cached_property
    def _unsent_inputs(self) -> tuple[set[str], dict[str, str]]:
        """The inputs that keep their stored values, since they were not posted or others changed
        them, and an error for each conflict. Failures that are hidden are not posted; they are
        emptied."""
        unsent: set[str] = set()
        conflicts: dict[str, str] = {}
        old_values = None if self.before is None else self._old_inputs()
        for name in self.fields.keys() & form_fields(self.layout).keys():
            field, prefixed = self.fields[name], self.add_prefix(name)
            is_omitted = field.widget.value_omitted_from_data(self.data, self.files, prefixed)
            is_hidden_failure = self.is_sent and is_failure(name)
            is_switch = isinstance(field, forms.BooleanField)
            if (is_omitted and not is_hidden_failure) or (is_switch and not self.is_sent):
                unsent.add(name)
            elif old_values is not None and (old := old_values[name]) != self.initial[name]:
                stored = self.initial[name]
                sent = field.widget.value_from_datadict(self.data, self.files, prefixed)
                if not field.has_changed(old, sent):
                    unsent.add(name)
                elif field.has_changed(stored, sent):
                    conflicts[name] = (
                        f"{self.changed_by} changed this since you opened the page, "
                        f"to {display_value(field, stored)}. You have {display_value(field, sent)}."
                    )
        return unsent, conflicts

    def _old_inputs(self) -> dict[str, Any]:
        """Return the values of the inputs when the page was opened."""
        return self.inputs_of(*self.layout.split(self.read(self.before)))

    def _post_clean(self) -> None:
        """Set the row's document, and add the errors of the row."""
        changed = set(self.changed_data) - self.errors.keys()
        stored_values = self.initial
        sent_values = self.cleaned_data

        def get(name: str) -> Any:
            """Return the value of an input; line ends and defaults stay where nothing changed."""
            return sent_values[name] if name in changed else stored_values.get(name)

        values, rest = dict(self.values), dict(self.rest)
        for field in self.layout.fields.values():
            if changed.isdisjoint((field.place, field.place + HOW, field.place + IGNORE)):
                continue
            if field.kind == REST:
                set_value(rest, field.place, get(field.place) or None)
            elif field.kind not in (IGNORE_CASE, "frequency"):
                before = values.get(field.place)
                set_value(values, field.place, value_of_inputs(field, get, before))
        self.complete(values, rest, get)
        self.values, self.rest = values, rest
        try:
            self.document = self.layout.join(values, rest, like=self.stored)
        except DocumentError as error:
            field, _ = self.layout.find(error.place, self.stored)
            self.add_error(field.place, f"{error.place}: {error.message}")
        if not self.changed_data and json.dumps(self.document) != json.dumps(self.stored):
            # Only what follows from other forms, such as how the scenario is selected.
            self.changed_data.append("document")
        self.write(self.instance, self.document)
        super()._post_clean()  # type: ignore[misc]

    def complete(self, values: Object, rest: Object, get: Callable[[str], Any]) -> None:
        """Set values that follow from several inputs; `get` returns the value of an input."""


def set_value(values: Object, place: str, value: Json) -> None:
    """Set the value at a place; None removes it."""
    if value is None:
        values.pop(place, None)
    else:
        values[place] = value


def display_value(field: forms.Field, value: Any) -> str:
    """Return a value as the page shows it: in quotes, shortened if it is long, or `nothing`."""
    if isinstance(field, forms.ChoiceField):
        value = choice_label(field, value)
    if value in (None, "", [], {}):
        return "nothing"
    text = str(field.prepare_value(value))
    return f"“{text}”" if len(text) <= _MAX_VALUE_CHARS else f"“{text[: _MAX_VALUE_CHARS - 1]}…”"
