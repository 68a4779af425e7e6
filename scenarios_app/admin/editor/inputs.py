"""Form fields and widgets of the editor: JSON, text areas that grow, switches; and how the page
shows a recorded answer."""

import json
from collections.abc import Mapping
from typing import Any, Final

from django import forms
from django.core.exceptions import ValidationError
from django.db import models
from django.utils.choices import flatten_choices

from scenarios_app.admin.editor.frequency import FREQUENCIES, kind_choices
from scenarios_app.admin.editor.layout import Cell
from scenarios_app.engine.canonical import Json
from scenarios_app.engine.conditions.phrases import as_list, get_member
from scenarios_app.engine.document.answer import ProduceDocument
from scenarios_app.engine.document.json_text import decode, to_plain_json
from scenarios_app.engine.document.load import validate
from scenarios_app.engine.shapes import DocumentError
from scenarios_app.models import AnyStep
from scenarios_app.models.fields import JsonField, LinesField, NamesField, ScriptField
from scenarios_app.store.translate import step_object
from scenarios_app.wire.registry import providers

# Labels of the empty choice.
_BLANK = {"expect_reasoning": "any", "answer_finish_reason": "automatic"}
# The choices that show or hide other fields, by their names in the page's scripts.
_SCRIPT_NAMES = {"failures_kind": {"x-model": "failing"}, "fault_kind": {"x-model": "fault"}}
# Short labels, because the choice stands before its text.
_MODES = [("contains", "contains"), ("equals", "is exactly"), ("startswith", "starts with")]
_MODES += [("regex", "matches regex")]
_STREAMING = [("", "streamed or not"), ("true", "streamed"), ("false", "not streamed")]
_SELECT = {"class": "sc-input sc-select"}
_AREA = {"class": "sc-input sc-area", "rows": 1}
_CODE = {"class": "sc-input sc-area sc-code", "rows": 1, "spellcheck": "false"}
AS_RECORDED: Final = "replays as recorded"
EDITED: Final = "edited: answers from its parts"
_MAX_SHOWN_CHARS: Final = 20_000


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
        if isinstance(value, str):
            return value
        return json.dumps(value, ensure_ascii=False, indent=2) if value else ""

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


class RecordedFormField(JsonFormField):
    """A recorded answer, read-only: status, type and body as text."""

    def prepare_value(self, value: Any) -> Any:
        return recorded_answer_text(value) if isinstance(value, dict) else value


class JsonListFormField(JsonFormField):
    kind = list
    expected = "expected a JSON list: [...]"


class ChoiceOrStoredField(forms.ChoiceField):
    """A choice that also accepts the stored value if it is not among the choices."""

    def add_choice(self, stored: str) -> None:
        """Add the stored value to the choices if it is not one."""
        choices: Any = self.choices
        if stored and not self.valid_value(stored):
            self.choices = [*choices, (stored, stored)]


def provider_choices() -> list[tuple[str, str]]:
    return [("", "any provider"), *((name, name) for name in providers())]


def choice_label(field: Any, value: object) -> Any:
    """Return the label of a value, or the value itself if it is not a choice."""
    return dict(flatten_choices(field.choices)).get(str(value), value)


class StreamingField(forms.TypedChoiceField):
    """A choice of True, False or None, which stands for either."""

    def prepare_value(self, value: Any) -> Any:
        return {True: "true", False: "false", None: ""}.get(value, value)

    def has_changed(self, initial: Any, data: Any) -> bool:
        return bool(self.prepare_value(initial) != (data or ""))


_CHOICES: Mapping[str, tuple[type[forms.ChoiceField], Any]] = {
    "match_provider": (ChoiceOrStoredField, provider_choices),
    "consume": (forms.ChoiceField, FREQUENCIES),
    "failures_kind": (ChoiceOrStoredField, kind_choices),
    "fault_kind": (ChoiceOrStoredField, kind_choices),
}


def form_field(db_field: "models.Field[Any, Any]", cell: Cell) -> forms.Field:
    """Return the form field that edits a column, with the label, help and example of `cell`."""
    texts: dict[str, Any] = {"label": cell.label, "help_text": cell.help}
    if db_field.name == cell.how:
        texts = {"label": f"{cell.label}: how", "help_text": ""}
    # Changes are detected against the stored value, not against a posted initial value.
    texts["show_hidden_initial"] = False
    if db_field.name in _CHOICES:
        field_class, choices = _CHOICES[db_field.name]
        widget = forms.Select({**_SELECT, **_SCRIPT_NAMES.get(db_field.name, {})})
        return field_class(required=False, choices=choices, widget=widget, **texts)
    if db_field.name == "match_stream":
        return StreamingField(
            required=False,
            choices=_STREAMING,
            coerce=lambda value: value == "true",
            empty_value=None,
            widget=forms.Select(_SELECT),
            **texts,
        )
    if db_field.choices:
        blank = [("", _BLANK[db_field.name])] if db_field.blank else []
        choices = _MODES if db_field.name == cell.how else [*blank, *db_field.choices]
        field = db_field.formfield(choices=choices, widget=forms.Select(_SELECT), **texts)
    elif db_field.name == "answer_recorded":
        area = forms.Textarea(_CODE)
        field = db_field.formfield(
            form_class=RecordedFormField, widget=area, disabled=True, **texts
        )
    elif isinstance(db_field, JsonField) and not isinstance(db_field, NamesField | LinesField):
        kind = JsonListFormField if db_field.get_default() == [] else JsonFormField
        field = db_field.formfield(form_class=kind, widget=forms.Textarea(_CODE), **texts)
    else:
        field = db_field.formfield(widget=_widget_for(db_field), **texts)
    assert field is not None
    if cell.example:
        field.widget.attrs["placeholder"] = cell.example
    return field


def _widget_for(db_field: "models.Field[Any, Any]") -> forms.Widget:
    match db_field:
        case ScriptField() | LinesField():
            return forms.Textarea(_AREA)
        case models.BooleanField():
            return forms.CheckboxInput({"class": "sc-switch", "role": "switch"})
        case models.IntegerField():
            return forms.NumberInput({"class": "sc-input"})
        case models.FloatField():
            return forms.NumberInput({"class": "sc-input", "step": "any"})
        case _:
            return forms.TextInput({"class": "sc-input"})


def recording_status(row: AnyStep) -> str:
    """Return AS_RECORDED or EDITED for a recorded step; "" for one that was not recorded or is
    invalid."""
    if not row.answer_recorded:
        return ""
    try:
        produce = validate(ProduceDocument, to_plain_json(step_object(row).get("produce")))
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
