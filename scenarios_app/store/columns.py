"""What a column can hold, by the kind of its field."""

import math
from functools import cache
from typing import Any, TypeAlias

from django.db import models

from scenarios_app.engine.canonical import Json
from scenarios_app.models import ScenarioColumns, StepColumns
from scenarios_app.models.columns import Place, places_of
from scenarios_app.models.fields import JsonField, LinesField, NamesField

SCENARIO_KEYS = tuple(places_of(ScenarioColumns))
# Columns that hold one value just as it stands.
VALUES = places_of(StepColumns)
# Columns that hold what is left of a section; an inner section comes before the one around it.
EXTRAS = places_of(StepColumns, rest=True)
MODEL: Place = ("match", "model")
MESSAGES: Place = ("match", "messages")
TOOL_RESULTS: Place = ("match", "tool_results")
# Message conditions with columns, by role, in the order in which they open `match.messages`.
MESSAGE_COLUMNS = {"match_system": "system", "match_user": "user", "match_tool_result": "tool"}


Model: TypeAlias = type[models.Model]

LARGEST = 2**31 - 1


@cache
def empty_value(model: Model, column: str) -> Any:
    """What the column holds when the document does not have its key."""
    return _field(model, column).get_default()


def holds(model: Model, column: str, value: Json) -> bool:
    """Whether the column can hold this value, which is not the one that says "no such key"."""
    field = _field(model, column)
    if value == empty_value(model, column):
        return False
    match field:
        case NamesField():
            return _items(value, apart=",")
        case LinesField():
            return _items(value, apart="\n")
        case JsonField():
            return isinstance(value, type(empty_value(model, column)))
        case models.BooleanField():
            return isinstance(value, bool)
        case models.IntegerField():
            return _whole(value)
        case models.FloatField():
            return isinstance(value, float) and math.isfinite(value)
        case models.CharField():
            return _line(value, field.max_length) and (
                not field.choices or value in dict(field.choices)
            )
        case _:
            return _text(value)


@cache
def _field(model: Model, column: str) -> Any:
    return model._meta.get_field(column)


def _whole(value: Json) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and abs(value) <= LARGEST


def _text(value: Json) -> bool:
    # No database column takes NUL or half a surrogate pair; no form field keeps a lone "\r".
    return isinstance(value, str) and not any(
        c in "\0\r" or "\ud800" <= c <= "\udfff" for c in value
    )


def _line(value: Json, longest: int | None) -> bool:
    """One line of text, of which a form would take nothing away."""
    return (
        isinstance(value, str)
        and _text(value)
        and (longest is None or len(value) <= longest)
        and value == value.strip()
        and "\n" not in value
    )


def _items(value: Json, *, apart: str) -> bool:
    """A list of texts that a form gives back as they are, with `apart` between them."""
    return isinstance(value, list) and all(
        _line(item, None) and item != "" and apart not in str(item) for item in value
    )
