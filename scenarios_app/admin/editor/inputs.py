"""Form fields and widgets of the editor: JSON read as documents are, areas that grow, switches; and
what a step's page says of what was recorded: the answer as text, and whether it replays."""

import json
from collections.abc import Iterable
from typing import Any, Final

from django import forms
from django.core.exceptions import ValidationError
from django.db import models
from django.utils.choices import flatten_choices

from scenarios_app.admin.editor.frequency import OFTEN, kind_choices
from scenarios_app.admin.editor.layout import Cell
from scenarios_app.engine.canonical import Json
from scenarios_app.engine.conditions.phrases import as_list, get_member
from scenarios_app.engine.document.answer import ProduceDocument
from scenarios_app.engine.document.json_text import decode, plain
from scenarios_app.engine.document.load import validate
from scenarios_app.engine.shapes import DocumentError
from scenarios_app.models import AnyStep
from scenarios_app.models.fields import JsonField, LinesField, NamesField, ScriptField, Select
from scenarios_app.store.translate import step_object

# What an empty choice means.
_BLANK = {
    "expect_reasoning": "any",
    "answer_finish_reason": "automatic",
}
# The names in the page's scripts of the choices that bring other fields into sight.
_KINDS = {"failures_kind": "failing", "fault_kind": "fault"}
_SELECTS = [(Select.MATCH.value, "request content")]
_SELECTS += [(Select.FIRST_USER_MESSAGE.value, "scenario name in the first user message")]
# Short enough to stand before its text.
_MODES = [("contains", "contains"), ("equals", "is exactly"), ("startswith", "starts with")]
_MODES += [("regex", "matches regex")]
_STREAMING = [("", "streamed or not"), ("true", "streamed"), ("false", "not streamed")]
_SELECT = {"class": "sc-input sc-select"}
_AREA = {"class": "sc-input sc-area", "rows": 1}
_CODE = {"class": "sc-input sc-area sc-code", "rows": 1, "spellcheck": "false"}
AS_RECORDED: Final = "replays as recorded"
EDITED: Final = "edited: answers from its parts"
_SHOWN: Final = 20_000


class JsonFormField(forms.JSONField):
    """A JSON object. Left empty it is an empty one, and its errors are those of documents."""

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
        return data

    def has_changed(self, initial: Any, data: Any) -> bool:
        if self.disabled:
            return False
        try:
            # As text: another order of keys is a change, and 1 is not true.
            return json.dumps(self.to_python(initial)) != json.dumps(self.to_python(data))
        except ValidationError:
            return True


class RecordedFormField(JsonFormField):
    """A recorded answer, to be looked at: its status, what it is, and its body as text."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**{**kwargs, "disabled": True})

    def prepare_value(self, value: Any) -> Any:
        return shown_answer(value) if isinstance(value, dict) else value


class JsonListFormField(JsonFormField):
    kind = list
    expected = "expected a JSON list: [...]"


class AnyOfField(forms.ChoiceField):
    """A choice that also keeps what it does not offer, when that is what is stored."""

    def offer(self, choices: Iterable[tuple[str, str]], stored: str) -> None:
        self.choices = list(choices)
        if stored and not self.valid_value(stored):
            self.choices = [*choices, (stored, stored)]


def choice_label(field: Any, value: object) -> Any:
    """The label of a value; the value itself where the field does not offer it."""
    return dict(flatten_choices(field.choices)).get(str(value), value)


class StreamingField(forms.TypedChoiceField):
    """Yes, no or either."""

    def prepare_value(self, value: Any) -> Any:
        return {True: "true", False: "false", None: ""}.get(value, value)

    def has_changed(self, initial: Any, data: Any) -> bool:
        return bool(self.prepare_value(initial) != (data or ""))


def form_field(db_field: "models.Field[Any, Any]", cell: Cell) -> forms.Field:
    """The field that edits a column."""
    shown: dict[str, Any] = {"label": cell.label, "help_text": cell.help}
    if db_field.name == cell.how:
        shown = {"label": f"{cell.label}: how", "help_text": ""}
    # What changed is seen by the stored value, not by one that the page sends along.
    shown["show_hidden_initial"] = False
    if db_field.name == "match_provider":
        return AnyOfField(required=False, widget=forms.Select(_SELECT), **shown)
    if db_field.name == "match_stream":
        return StreamingField(
            required=False,
            choices=_STREAMING,
            coerce=lambda value: value == "true",
            empty_value=None,
            widget=forms.Select(_SELECT),
            **shown,
        )
    if db_field.name == "consume":
        widget = forms.Select(_SELECT)
        return forms.ChoiceField(required=False, choices=OFTEN, widget=widget, **shown)
    if db_field.name in _KINDS:
        widget = forms.Select(_SELECT | {"x-model": _KINDS[db_field.name]})
        return AnyOfField(required=False, choices=kind_choices, widget=widget, **shown)
    if db_field.choices:
        blank = [("", _BLANK[db_field.name])] if db_field.blank else []
        choices = _MODES if db_field.name == cell.how else [*blank, *db_field.choices]
        if db_field.name == "select":
            choices = _SELECTS
        field = db_field.formfield(choices=choices, widget=forms.Select(_SELECT), **shown)
    elif db_field.name == "answer_recorded":
        area = forms.Textarea(_CODE)
        field = db_field.formfield(form_class=RecordedFormField, widget=area, **shown)
    elif isinstance(db_field, JsonField) and not isinstance(db_field, NamesField | LinesField):
        kind = JsonListFormField if db_field.get_default() == [] else JsonFormField
        field = db_field.formfield(form_class=kind, widget=forms.Textarea(_CODE), **shown)
    else:
        field = db_field.formfield(widget=_widget(db_field), **shown)
    assert field is not None
    if cell.example:
        field.widget.attrs["placeholder"] = cell.example
    return field


def _widget(db_field: "models.Field[Any, Any]") -> forms.Widget:
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


def told_of_recorded(row: AnyStep) -> str:
    """Whether a step replays what was recorded; empty for one that was not."""
    if not row.answer_recorded:
        return ""
    try:
        produce = validate(ProduceDocument, plain(step_object(row).get("produce")))
    except DocumentError:
        return ""
    return AS_RECORDED if produce.is_unedited_recording else EDITED


def shown_answer(recorded: Json) -> str:
    """A recorded answer as people read it: status, type and body, with pieces that are no text
    named by their size."""
    if not recorded:
        return ""
    media_type = get_member(get_member(recorded, "headers"), "content-type")
    head = [str(get_member(recorded, "status") or 200)]
    head += [media_type] if isinstance(media_type, str) else []
    head += ["cut off"] if get_member(recorded, "cut") else []
    body = "".join(map(_piece, as_list(get_member(recorded, "chunks"))))
    if len(body) > _SHOWN:
        body = f"{body[:_SHOWN]}… ({len(body) - _SHOWN} more characters)"
    return f"{' · '.join(head)}\n\n{body}"


def _piece(chunk: Json) -> str:
    if isinstance(chunk, str):
        return chunk
    text, data = get_member(chunk, "text"), get_member(chunk, "base64")
    if isinstance(text, str):
        return text
    return f"({len(data) * 3 // 4} bytes)" if isinstance(data, str) else ""
