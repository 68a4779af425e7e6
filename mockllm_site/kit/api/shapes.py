"""Strict serializers and fields: unknown keys are errors, and values are not coerced."""

from collections.abc import Mapping
from functools import cache
from typing import Any, ClassVar

from django.utils.functional import cached_property
from rest_framework import serializers
from rest_framework.exceptions import ValidationError
from rest_framework.utils.serializer_helpers import BindingDict

_MISSING = {"required": "missing", "null": "cannot be null"}


class Shape(serializers.Serializer[Any]):
    """A serializer of an object that refuses unknown keys; `keywords` extend its JSON Schema."""

    # JSON Schema keywords for what `validate` checks.
    keywords: ClassVar[Mapping[str, Any]] = {}

    @cached_property
    def fields(self) -> BindingDict:
        """Return the fields, shared by all instances: a copy takes longer than the validation."""
        return _fields_of(type(self))

    def to_internal_value(self, data: Any) -> Any:
        """Return the validated fields; raise ValidationError, also for unknown keys."""
        if not isinstance(data, Mapping):
            raise ValidationError({"non_field_errors": ["expected an object"]})
        unknown = [key for key in data if key not in self.fields]
        if unknown:
            allowed = ", ".join(self.fields)
            raise ValidationError(dict.fromkeys(unknown, f"unknown; known are {allowed}"))
        return super().to_internal_value(data)


@cache
def _fields_of(shape: type[Shape]) -> BindingDict:
    """Return the fields of a shape, bound once for all requests."""
    fields = BindingDict(shape())
    fields.update(shape().get_fields())
    return fields


class Text(serializers.CharField):
    """A string, neither converted nor trimmed; `keywords` extend its JSON Schema."""

    default_error_messages = {  # noqa: RUF012  (as the library declares it)
        **_MISSING,
        "invalid": "expected a string",
        "blank": "expected a string of at least one character",
        "max_length": "expected at most {max_length} characters",
    }

    def __init__(self, *, keywords: Mapping[str, Any] | None = None, **options: Any) -> None:
        super().__init__(trim_whitespace=False, **options)
        self.keywords: Mapping[str, Any] = keywords or {}

    def to_internal_value(self, data: Any) -> str:
        """Return a text; raise ValidationError for any other type."""
        if not isinstance(data, str):
            self.fail("invalid")
        return super().to_internal_value(data)


class Flag(serializers.BooleanField):
    """A boolean; with `words`, for queries, also the texts "true" and "false"."""

    default_error_messages = {**_MISSING, "invalid": "expected true or false"}  # noqa: RUF012

    def __init__(self, *, words: bool = False, **options: Any) -> None:
        super().__init__(**options)
        self._words = {"true": True, "false": False} if words else {}

    def to_internal_value(self, data: Any) -> bool:
        """Return a boolean; raise ValidationError for anything but a boolean or an allowed word."""
        if isinstance(data, bool):
            return data
        if not isinstance(data, str) or data not in self._words:
            self.fail("invalid")
        return self._words[data]


class Whole(serializers.IntegerField):
    """An integer; with `digits`, for queries, also a text of ASCII digits."""

    default_error_messages = {  # noqa: RUF012
        **_MISSING,
        "invalid": "expected a whole number",
        "min_value": "expected a whole number from {min_value} up",
        "max_value": "expected a whole number up to {max_value}",
    }

    def __init__(self, *, digits: bool = False, **options: Any) -> None:
        super().__init__(**options)
        self._digits = digits

    def to_internal_value(self, data: Any) -> int:
        """Return an integer; raise ValidationError for any other type, booleans included."""
        if isinstance(data, str) and self._digits and data.isascii() and data.isdigit():
            return super().to_internal_value(data)
        if isinstance(data, bool) or not isinstance(data, int):
            self.fail("invalid")
        return data


class EditedField(serializers.DateTimeField):
    """When a person last changed the record in the admin; null if only programs wrote it."""

    def __init__(self) -> None:
        super().__init__(allow_null=True, help_text="When a person last changed it, or null.")


class JsonField(serializers.JSONField):
    """Any JSON; `form` is its JSON Schema in the OpenAPI document."""

    form: ClassVar[Mapping[str, Any]]


class ErrorBody(Shape):
    """The body of an error; `field` is the path of the wrong value, if there is one."""

    code = Text(help_text="The kind of error.")
    message = Text(help_text="The error as text.")
    field = Text(allow_null=True, help_text="The invalid field, or null.")
