"""Form fields and widgets of the editor: JSON, text areas that grow, switches; and how the page
shows a recorded answer."""

import json
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, Final, TypeAlias

from django import forms
from django.core.exceptions import ValidationError
from django.utils.choices import flatten_choices

from mockllm_site.kit.fields import NamesFormField
from scenarios_app.admin.editor.frequency import FREQUENCIES, kind_choices
from scenarios_app.admin.editor.places import IGNORE_CASE, MODES, REST, Field, Layout, Object
from scenarios_app.engine.canonical import Json
from scenarios_app.engine.conditions.phrases import as_list, get_member
from scenarios_app.engine.document.answer import ProduceDocument
from scenarios_app.engine.document.json_text import decode, to_plain_json
from scenarios_app.engine.document.load import validate
from scenarios_app.engine.shapes import DocumentError
from scenarios_app.engine.shapes.fields import MAX_NAME_CHARS
from scenarios_app.models.fields import (
    FinishReason,
    LinesFormField,
    Reasoning,
    ScriptFormField,
    Select,
)
from scenarios_app.wire.registry import providers

# The choices that show or hide other fields, by their names in the page's scripts.
_SCRIPT_NAMES = {"failures.fault.kind": "failing", "produce.fault.kind": "fault"}
# Short labels, because the choice stands before its text.
_MODES = tuple(zip(MODES, ("contains", "is exactly", "starts with", "matches regex"), strict=True))
_STREAMING = (("", "streamed or not"), ("true", "streamed"), ("false", "not streamed"))
# Kinds of conditions on a text; how it is compared and whether the case counts are other inputs.
CONDITIONS = ("condition", "message", "model")
HOW, IGNORE = ".how", ".ignore_case"
AS_RECORDED: Final = "replays as recorded"
EDITED: Final = "edited: answers from its parts"
_MAX_SHOWN_CHARS: Final = 20_000
# Places of names in documents, which have a maximum length.
_NAMES = ("name", "side_effects.counter")


class JsonFormField(forms.JSONField):
    """A JSON object. An empty input is `{}`; errors are worded as for documents."""

    kind: type[list[Any] | dict[str, Any]] = dict
    expected = 'expected a JSON object: {"key": "value"}'

    def to_python(self, value: Any) -> Any:
        if isinstance(value, str):
            try:
                value = decode(value.encode()) if value.strip() else None
            except DocumentError as error:
                raise ValidationError(str(error), code="invalid") from None
            except UnicodeEncodeError:
                raise ValidationError("expected text", code="invalid") from None
        if value is None:
            return self.kind()
        if not isinstance(value, self.kind):
            raise ValidationError(self.expected, code="invalid")
        return value

    def prepare_value(self, value: Any) -> Any:
        """Return JSON as text that UTF-8 can carry; posted text as it is."""
        if isinstance(value, str):
            return value
        text = json.dumps(value, ensure_ascii=False, indent=2) if value else ""
        has_surrogates = any("\ud800" <= c <= "\udfff" for c in text)
        return json.dumps(value, indent=2) if has_surrogates else text

    def bound_data(self, data: Any, initial: Any) -> Any:
        """Return posted text unchanged, so that a wrong one is shown again."""
        return data

    def has_changed(self, initial: Any, data: Any) -> bool:
        if self.disabled:
            return False
        try:
            # Compared as text: another order of keys is a change, and 1 is not true.
            return json.dumps(self.to_python(initial)) != json.dumps(self.to_python(data))
        except ValidationError:
            return True


class JsonListFormField(JsonFormField):
    kind = list
    expected = "expected a JSON list: [...]"


class RecordedFormField(JsonFormField):
    """A recorded answer, read-only: status, type and body as text."""

    def prepare_value(self, value: Any) -> Any:
        return recorded_answer_text(value) if isinstance(value, dict) else value


class ChoiceField(forms.ChoiceField):
    """A choice that also accepts the stored value if it is not among the choices."""

    def add_choice(self, stored: object) -> None:
        """Add the stored value to the choices if it is not one."""
        choices: Any = self.choices
        if stored and not self.valid_value(stored):
            self.choices = [*choices, (stored, stored)]


class StreamingField(forms.TypedChoiceField):
    """A choice of True, False or None, which stands for either."""

    def prepare_value(self, value: Any) -> Any:
        return {True: "true", False: "false", None: ""}.get(value, value)

    def has_changed(self, initial: Any, data: Any) -> bool:
        return bool(self.prepare_value(initial) != (data or ""))


class NumberField(forms.FloatField):
    """A number; one without a fraction is whole."""

    def to_python(self, value: Any) -> Any:
        number = super().to_python(value)
        return int(number) if number is not None and number.is_integer() else number


def provider_choices() -> list[tuple[str, str]]:
    return [("", "any provider"), *((name, name) for name in providers())]


def choice_label(field: Any, value: object) -> Any:
    """Return the label of a value, or the value itself if it is not a choice."""
    return dict(flatten_choices(field.choices)).get(str(value), value)


_INPUT = {"class": "sc-input"}
_AREA = {"class": "sc-input sc-area", "rows": 1}
_CODE = {"class": "sc-input sc-area sc-code", "rows": 1, "spellcheck": "false"}
_SELECT = {"class": "sc-input sc-select"}
_SWITCH = {"class": "sc-switch", "role": "switch"}
_Kind: TypeAlias = tuple[type[forms.Field], type[forms.Widget], Mapping[str, Any]]


def _choice(choices: Any) -> tuple[_Kind, Mapping[str, Any]]:
    return (ChoiceField, forms.Select, _SELECT), {"choices": choices}


_TEXT: _Kind = (ScriptFormField, forms.Textarea, _AREA)
_LINE: _Kind = (forms.CharField, forms.TextInput, _INPUT)
_OBJECT: _Kind = (JsonFormField, forms.Textarea, _CODE)
_SWITCHED: _Kind = (forms.BooleanField, forms.CheckboxInput, _SWITCH)
# The form field of each kind, its widget with attributes, and more options.
_KINDS: Mapping[str, tuple[_Kind, Mapping[str, Any]]] = {
    **dict.fromkeys(("text", "condition", "message"), (_TEXT, {"strip": False})),
    **dict.fromkeys(("line", "model"), (_LINE, {})),
    "names": ((NamesFormField, forms.TextInput, _INPUT), {}),
    "lines": ((LinesFormField, forms.Textarea, _AREA), {}),
    "whole": ((forms.IntegerField, forms.NumberInput, _INPUT), {}),
    "number": ((NumberField, forms.NumberInput, {**_INPUT, "step": "any"}), {}),
    **dict.fromkeys(("switch", IGNORE_CASE), (_SWITCHED, {})),
    **dict.fromkeys(("object", REST), (_OBJECT, {})),
    "list": ((JsonListFormField, forms.Textarea, _CODE), {}),
    "recorded": ((RecordedFormField, forms.Textarea, _CODE), {"disabled": True}),
    "stream": (
        (StreamingField, forms.Select, _SELECT),
        {"choices": _STREAMING, "coerce": "true".__eq__, "empty_value": None},
    ),
    "select": _choice(Select.choices),
    "provider": _choice(provider_choices),
    "fault": _choice(kind_choices),
    "frequency": _choice(FREQUENCIES),
    "reasoning": _choice([("", "any"), *Reasoning.choices]),
    "finish": _choice([("", "automatic"), *FinishReason.choices]),
}


@cache
def form_fields(layout: Layout) -> Mapping[str, forms.Field]:
    """Return the form fields of a page by the names of their inputs, to be copied. The name is the
    place; a condition has another input before it, for how its text is compared."""
    fields: dict[str, forms.Field] = {}
    for field in layout.fields.values():
        if field.kind in CONDITIONS:
            fields[field.place + HOW] = ChoiceField(
                label=f"{field.label}: how",
                choices=_MODES,
                required=False,
                widget=forms.Select(_SELECT),
            )
        (form_field, widget, attributes), options = _KINDS[field.kind]
        attributes = {**attributes, **_attributes(field)}
        fields[field.place] = form_field(
            label=field.label,
            help_text=field.help,
            required=False,
            widget=widget(attributes),
            # Changes are detected against the stored value, not against a posted initial value.
            show_hidden_initial=False,
            **options,
        )
    return fields


def _attributes(field: Field) -> dict[str, Any]:
    """Return the attributes of the input of this field alone."""
    attributes: dict[str, Any] = {"placeholder": field.example} if field.example else {}
    if field.place in _NAMES:
        attributes["maxlength"] = MAX_NAME_CHARS
    if field.place in _SCRIPT_NAMES:
        attributes["x-model"] = _SCRIPT_NAMES[field.place]
    return attributes


def input_values(layout: Layout, values: Object, rest: Object) -> dict[str, Any]:
    """Return the values of inputs, by name, for the values and the rest of a document."""
    inputs: dict[str, Any] = {}
    for field in layout.fields.values():
        if field.kind == REST:
            inputs[field.place] = rest.get(field.place, {})
            continue
        value = values.get(field.place)
        if field.kind in CONDITIONS:
            how = "equals" if field.kind == "model" else "contains"
            if field.kind == "message":
                inputs[field.place + IGNORE] = get_member(value, "ignore_case") is True
            if isinstance(value, dict):
                how, value = next((how, value[how]) for how in MODES if how in value)
            inputs[field.place + HOW] = how
        if field.kind != IGNORE_CASE:
            inputs[field.place] = field.default if value is None else value
    return inputs


def value_of_inputs(field: Field, get: Callable[[str], Any], before: Json) -> Json:
    """Return the value that a field's inputs have in the document, None for none. `get` returns the
    value of an input by its name; `before` is the value that the inputs had."""
    value = get(field.place)
    if field.kind in CONDITIONS and value:
        how = get(field.place + HOW)
        if field.kind == "model" and how == "equals":
            return str(value)
        which = {"which": before["which"]} if isinstance(before, dict) and "which" in before else {}
        ignores = field.kind == "message" and get(field.place + IGNORE)
        value = {**which, how: value} | ({"ignore_case": True} if ignores else {})
    return None if value in ("", [], {}) or value == field.default else value


def recording_status(step: Json) -> str:
    """Return AS_RECORDED or EDITED for a recorded step in document form; "" for one that was not
    recorded or is invalid."""
    if not get_member(get_member(step, "produce"), "recorded"):
        return ""
    try:
        produce = validate(ProduceDocument, to_plain_json(get_member(step, "produce")))
    except DocumentError:
        return ""
    return AS_RECORDED if produce.is_unedited_recording else EDITED


def recorded_answer_text(recorded: Json) -> str:
    """Return a recorded answer as text: status, type and body, shortened; "" for an empty one. A
    binary chunk shows its size."""
    if not recorded:
        return ""
    media_type = get_member(get_member(recorded, "headers"), "content-type")
    head = [str(get_member(recorded, "status") or 200)]
    head += [media_type] if isinstance(media_type, str) else []
    head += ["cut off"] if get_member(recorded, "cut") else []
    body = "".join(map(_chunk_text, as_list(get_member(recorded, "chunks"))))
    if len(body) > _MAX_SHOWN_CHARS:
        body = f"{body[:_MAX_SHOWN_CHARS]}… ({len(body) - _MAX_SHOWN_CHARS} more characters)"
    return f"{' · '.join(head)}\n\n{body}"


def _chunk_text(chunk: Json) -> str:
    """Return a recorded chunk as text, its size if it is binary, or ""."""
    if isinstance(chunk, str):
        return chunk
    text, data = get_member(chunk, "text"), get_member(chunk, "base64")
    if isinstance(text, str):
        return text
    return f"({len(data) * 3 // 4} bytes)" if isinstance(data, str) else ""
