"""JSON Schemas of shapes, for the inputs and outputs of tools."""

from typing import Any

from rest_framework import serializers
from rest_framework.fields import empty

from scenarios_app.control.kit import MatchField, ScenarioField

Schema = dict[str, Any]

# By class of the field, the most special first.
_TYPES: tuple[tuple[type[serializers.Field[Any, Any, Any, Any]], Schema], ...] = (
    (ScenarioField, {"type": "object"}),
    (MatchField, {"type": "object"}),
    (serializers.UUIDField, {"type": "string", "format": "uuid"}),
    (serializers.DateTimeField, {"type": "string", "format": "date-time"}),
    (serializers.CharField, {"type": "string"}),
    (serializers.BooleanField, {"type": "boolean"}),
    (serializers.IntegerField, {"type": "integer"}),
    (serializers.FloatField, {"type": "number"}),
    (serializers.JSONField, {}),
)


def input_schema(shape: serializers.BaseSerializer[Any]) -> Schema:
    """Return the schema of an object with the fields of a shape and no others, described."""
    schema = output_schema(shape)
    for name, field in shape.fields.items():  # type: ignore[attr-defined]
        one = schema["properties"][name]
        one["description"] = str(field.help_text)
        if field.default is not empty and not callable(field.default):
            one["default"] = field.default
    return schema


def output_schema(shape: serializers.BaseSerializer[Any]) -> Schema:
    """Return the schema without descriptions, which would fill an agent's context."""
    fields = shape.fields  # type: ignore[attr-defined]
    return {
        "type": "object",
        "properties": {name: _nullable(field) for name, field in fields.items()},
        "required": [name for name, field in fields.items() if field.required],
        "additionalProperties": False,
    }


def _nullable(field: Any) -> Schema:
    schema = _schema(field)
    return {"anyOf": [schema, {"type": "null"}]} if field.allow_null and schema else schema


def _schema(field: Any) -> Schema:
    match field:
        case serializers.ListSerializer() | serializers.ListField():
            return {"type": "array", "items": _schema(field.child)}
        case serializers.DictField():
            return {"type": "object", "additionalProperties": _schema(field.child)}
        case serializers.BaseSerializer():
            return output_schema(field)
        case serializers.ChoiceField():
            return {"type": "string", "enum": list(field.choices)}
    schema = next(dict(schema) for kind, schema in _TYPES if isinstance(field, kind))
    limits = {
        "minimum": field.__dict__.get("min_value"),
        "maximum": field.__dict__.get("max_value"),
    }
    return schema | {key: limit for key, limit in limits.items() if limit is not None}
