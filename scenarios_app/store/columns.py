"""Says which document values a database column can hold."""

import math
from collections.abc import Iterable
from functools import cache
from typing import Any, TypeAlias

from django.db import models

from scenarios_app.engine.canonical import Json
from scenarios_app.models import ScenarioColumns, StepColumns
from scenarios_app.models.columns import Place, places_of
from scenarios_app.models.fields import JsonField, LinesField, NamesField

SCENARIO_KEYS = tuple(places_of(ScenarioColumns))
SCENARIO_COLUMNS = (*SCENARIO_KEYS, "extra")
STEP_COLUMNS = tuple(column.name for column in StepColumns._meta.local_concrete_fields)
# Columns that hold one value of the document.
VALUES = places_of(StepColumns)
# Columns that hold the rest of a section, inner sections first.
EXTRAS = places_of(StepColumns, rest=True)
MODEL: Place = ("match", "model")
MESSAGES: Place = ("match", "messages")
TOOL_RESULTS: Place = ("match", "tool_results")
# Columns of message conditions by role, in the order in which they begin `match.messages`.
MESSAGE_COLUMNS = {"match_system": "system", "match_user": "user", "match_tool_result": "tool"}
MAX_INTEGER = 2**31 - 1

Model: TypeAlias = type[models.Model]


@cache
def empty_value(model: Model, column: str) -> Any:
    """Return the value that the column has if the document does not have its key."""
    return _model_field(model, column).get_default()


def column_values(row: models.Model, columns: Iterable[str]) -> dict[str, Any]:
    """Return a row's values by column; lists and objects are not copied."""
    return {column: getattr(row, column) for column in columns}


def copy_columns(row: models.Model, other: models.Model, columns: Iterable[str]) -> None:
    """Set columns of a row to the values that another row has."""
    for column in columns:
        setattr(row, column, getattr(other, column))


def can_hold(model: Model, column: str, value: Json) -> bool:
    """Return whether the column can hold this value; false for its empty value, which stands for a
    missing key."""
    field = _model_field(model, column)
    if value == empty_value(model, column):
        return False
    match field:
        case NamesField():
            return _is_list_of_lines(value, separator=",")
        case LinesField():
            return _is_list_of_lines(value, separator="\n")
        case JsonField():
            return isinstance(value, type(empty_value(model, column)))
        case models.BooleanField():
            return isinstance(value, bool)
        case models.IntegerField():
            return type(value) is int and abs(value) <= MAX_INTEGER
        case models.FloatField():
            return isinstance(value, float) and math.isfinite(value)
        case models.CharField():
            return _is_line(value, field.max_length) and (
                not field.choices or value in dict(field.choices)
            )
        case _:
            return _is_text(value)


@cache
def _model_field(model: Model, column: str) -> Any:
    return model._meta.get_field(column)


def _is_text(value: Json) -> bool:
    """Return whether the value is a text that databases and form fields keep unchanged."""
    # Databases reject NUL and half of a surrogate pair.
    return isinstance(value, str) and not any(c == "\0" or "\ud800" <= c <= "\udfff" for c in value)


def _is_line(value: Json, max_chars: int | None) -> bool:
    """Return whether a form field would return this line of text unchanged."""
    return (
        isinstance(value, str)
        and _is_text(value)
        and (max_chars is None or len(value) <= max_chars)
        and value == value.strip()
        and not {"\n", "\r"} & set(value)
    )


def _is_list_of_lines(value: Json, *, separator: str) -> bool:
    """Return whether a form field with this separator would return the list unchanged."""
    return isinstance(value, list) and all(
        _is_line(item, None) and item != "" and separator not in str(item) for item in value
    )
