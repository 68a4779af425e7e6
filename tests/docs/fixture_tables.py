"""Tables of the columns that rows of fixtures have, from the models that keep them."""

from collections.abc import Mapping
from typing import Any

from django.apps import apps
from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import models

from mockllm_site.kit.fields import JsonField, NamesField
from scenarios_app.models.columns import column_of
from scenarios_app.models.fields import LinesField
from tests.docs.document_tables import table, with_default

# Columns that form one key of the document, and those that form none.
TOGETHER: Mapping[str, str] = {
    "match_model": "`match.model`",
    "match_model_mode": "how `match_model` compares",
    "match_user": "`match.messages`, the last user message",
    "match_user_mode": "how `match_user` compares",
    "match_user_ignore_case": "`ignore_case` of `match_user`",
    "match_system": "`match.messages`, the system prompt",
    "match_system_mode": "how `match_system` compares",
    "match_tool_result": "`match.tool_results`, the last one",
    "match_tool_result_mode": "how `match_tool_result` compares",
    "match_tool_result_name": "`match.tool_results`, by the name of its tool",
    "name": "`name`",
    "order": "the step's place among `steps`",
    "scenario": "the scenario that has the step",
}


def columns_table(model: str) -> str:
    """Return the table of a model's columns that a fixture may set."""
    model_class = apps.get_model(model)
    columns = [
        column
        for column in model_class._meta.local_fields
        if column.editable and not column.primary_key
    ]
    # The columns that identify a row come first.
    columns.sort(key=lambda column: column.name not in ("name", "order", "scenario"))
    rows: list[tuple[str, ...]] = [
        (
            f"`{column.name}`",
            with_default(describe_column(column), _default(column)),
            _key(model_class, column.name),
        )
        for column in columns
    ]
    return table(("column", "holds", "in the document"), rows)


def describe_column(field: Any) -> str:
    """Return the values that a column accepts, in words."""
    minimum = _limit(field, MinValueValidator)
    maximum = _limit(field, MaxValueValidator)
    upper = f" to {maximum:g}" if maximum else ""
    match field:
        case models.ForeignKey():
            return "list of its name alone"
        case _ if field.choices:
            *others, last = (f"`{value}`" for value, _ in field.choices)
            return f"{', '.join(others)} or {last}"
        case models.BooleanField():
            return "true, false or null" if field.null else "true or false"
        case models.PositiveIntegerField() | models.PositiveSmallIntegerField():
            return f"whole number from {max(minimum or 0, 0):g}{upper}"
        case models.IntegerField():
            return "whole number"
        case models.FloatField():
            return f"number from {minimum or 0:g}{upper}"
        case NamesField() | LinesField():
            return "list of texts"
        case JsonField():
            return "list" if field.default is list else "object"
    return "text"


def _limit(field: Any, kind: type[Any]) -> float | None:
    # Limits of the database's type are too long to show.
    limits = [
        validator.limit_value for validator in field._validators if isinstance(validator, kind)
    ]
    return float(limits[0]) if limits else None


def _default(field: Any) -> str:
    if not field.has_default():
        return "" if field.null else "required"
    match field.get_default():
        case bool(value):
            return str(value).lower()
        case int(value):
            return str(value)
        case str(value) if value:
            return f"`{value}`"
    return ""


def _key(model: type[models.Model], name: str) -> str:
    column = column_of(model, name)
    if column.place is None:
        return TOGETHER[name]
    path = ".".join(column.place)
    if column.rest:
        return f"other keys of `{path}`" if path else "other keys"
    return f"`{path}`"
