"""Model fields that keep JSON as text, so that key order survives in every database."""

import json
from typing import Any

from django import forms
from django.db import models
from django.db.backends.base.base import BaseDatabaseWrapper


class JsonField(models.JSONField):
    """JSON in a text column. PostgreSQL's `jsonb` would sort keys and refuse `\\u0000`."""

    def get_internal_type(self) -> str:
        return "TextField"

    def get_db_prep_value(
        self, value: Any, connection: BaseDatabaseWrapper, prepared: bool = False
    ) -> Any:
        return None if value is None else json.dumps(value, allow_nan=False)


class NamesField(JsonField):
    """A list of names, typed in a form with commas between them."""

    def formfield(self, **kwargs: Any) -> Any:
        return models.Field.formfield(self, **{"form_class": NamesFormField, **kwargs})


class LinesField(JsonField):
    """A list of texts, typed in a form one on each line."""

    def formfield(self, **kwargs: Any) -> Any:
        defaults = {"form_class": LinesFormField, "widget": forms.Textarea}
        return models.Field.formfield(self, **{**defaults, **kwargs})


class NamesFormField(forms.CharField):
    separator = ","
    joined = ", "

    def prepare_value(self, value: Any) -> Any:
        return self.joined.join(map(str, value)) if isinstance(value, list) else value

    def to_python(self, value: Any) -> Any:
        if not isinstance(value, list):
            value = str(value or "").split(self.separator)
        return [name for item in value if (name := str(item).strip())]

    def has_changed(self, initial: Any, data: Any) -> bool:
        return bool(self.to_python(initial) != self.to_python(data))

    def run_validators(self, value: Any) -> None:
        for item in value:
            super().run_validators(item)


class LinesFormField(NamesFormField):
    separator = "\n"
    joined = "\n"


class ScriptField(models.TextField):
    """Text sent or compared as it stands: a form neither strips it nor keeps its CRLF ends."""

    def formfield(self, **kwargs: Any) -> Any:
        return super().formfield(**{"form_class": ScriptFormField, "strip": False, **kwargs})


class ScriptFormField(forms.CharField):
    def to_python(self, value: Any) -> Any:
        return str(super().to_python(value) or "").replace("\r\n", "\n")
