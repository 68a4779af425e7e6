"""Model and form fields of all apps: JSON in a text column, lists of names, the mark of edits."""

import json
from typing import Any

from django import forms
from django.core.exceptions import EmptyResultSet
from django.db import models
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.models.lookups import IContains

# The characters of a stored list that belong to no name.
_SEPARATORS = "[], "


class JsonField(models.JSONField):
    """JSON in a text column. PostgreSQL's `jsonb` would sort keys and refuse `\\u0000`."""

    def get_internal_type(self) -> str:
        return "TextField"

    def from_db_value(self, value: Any, expression: Any, connection: BaseDatabaseWrapper) -> Any:
        """Return the parsed value; a parser is slower for empty values, which most are."""
        if value == "{}":
            return {}
        return [] if value == "[]" else super().from_db_value(value, expression, connection)

    def get_db_prep_value(
        self, value: Any, connection: BaseDatabaseWrapper, prepared: bool = False
    ) -> Any:
        """Return JSON text, None for None; raise ValueError for NaN and infinity."""
        return None if value is None else json.dumps(value, allow_nan=False)


class NamesField(JsonField):
    """A list of names, stored as JSON; forms show it as text, separated by commas."""

    def formfield(self, **kwargs: Any) -> Any:
        return models.Field.formfield(self, **{"form_class": NamesFormField, **kwargs})


@NamesField.register_lookup
class NameContains(IContains):
    """`icontains` of NamesField: matches parts of names in the stored JSON."""

    def get_prep_lookup(self) -> str:
        """Return the searched text as JSON writes it, without quotes."""
        return json.dumps(str(self.rhs))[1:-1]

    def as_sql(self, compiler: Any, connection: BaseDatabaseWrapper) -> Any:
        """Return the SQL; raise EmptyResultSet for only brackets, commas and spaces."""
        if not self.rhs.strip(_SEPARATORS):
            raise EmptyResultSet
        return super().as_sql(compiler, connection)


class NamesFormField(forms.CharField):
    """A form field for a list of names, which its text separates by `separator`."""

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


class EditedRow(models.Model):
    """Base of records that people may edit in the admin; `edited_at` is when one last did. Null in
    rows that only programs wrote."""

    edited_at = models.DateTimeField(null=True, blank=True, editable=False)

    class Meta:
        abstract = True
