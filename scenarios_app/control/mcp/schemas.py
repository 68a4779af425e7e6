"""JSON Schemas of shapes, for the arguments and results of tools."""

from typing import Any

from rest_framework import serializers
from rest_framework.fields import empty

from scenarios_app.control.kit import ScenarioField

Schema = dict[str, Any]

# By class of the field, subclasses first.
_TYPES: tuple[tuple[Any, Schema], ...] = (
    ((serializers.ListSerializer, serializers.ListField), {"type": "array", "items": {}}),
    ((serializers.BaseSerializer, serializers.DictField, ScenarioField), {"type": "object"}),
    (serializers.UUIDField, {"type": "string", "format": "uuid"}),
    (
        (serializers.CharField, serializers.ChoiceField, serializers.DateTimeField),
        {"type": "string"},
    ),
    (serializers.BooleanField, {"type": "boolean"}),
    (serializers.IntegerField, {"type": "integer"}),
    (serializers.FloatField, {"type": "number"}),
)


def input_schema(shape: serializers.BaseSerializer[Any]) -> Schema:
    """Return the schema of an object with the fields of a shape and no others, described."""
    schema = output_schema(shape)
    for name, field in shape.fields.items():  # type: ignore[attr-defined]
        one = schema["properties"][name]
        one["description"] = str(field.help_text)
        if field.default is not empty and not callable(field.default):
            one["default"] = field.default
        if isinstance(field, serializers.ChoiceField):
            one["enum"] = list(field.choices)
        for key, limit in (("minimum", "min_value"), ("maximum", "max_value")):
            if getattr(field, limit, None) is not None:
                one[key] = getattr(field, limit)
    return schema


def output_schema(shape: serializers.BaseSerializer[Any]) -> Schema:
    """Return a schema of no more than the fields' types, since it fills an agent's context."""
    fields = shape.fields  # type: ignore[attr-defined]
    return {
        "type": "object",
        "properties": {name: _field_schema(field) for name, field in fields.items()},
        "required": [name for name, field in fields.items() if field.required],
        "additionalProperties": False,
    }


def _field_schema(field: Any) -> Schema:
    schema = next((dict(schema) for kinds, schema in _TYPES if isinstance(field, kinds)), {})
    return {"anyOf": [schema, {"type": "null"}]} if field.allow_null and schema else schema
