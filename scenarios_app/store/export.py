"""Scenarios written out: as the documents that files and the control API hold, or as the rows that
`loaddata` takes."""

from collections.abc import Iterable, Sequence
from typing import Any, TypeAlias

from django.db.models import Model

from scenarios_app.engine.canonical import Json
from scenarios_app.engine.document import ScenarioDocument, dump
from scenarios_app.models import Step
from scenarios_app.store.columns import SCENARIO_KEYS, empty_value
from scenarios_app.store.rows import rows_of

Object: TypeAlias = dict[str, Json]

_SCENARIO = (*SCENARIO_KEYS, "extra")
_STEP = tuple(
    column.name
    for column in Step._meta.concrete_fields
    if column.editable and column.name not in ("id", "scenario", "order")
)


def documents_json(documents: Sequence[ScenarioDocument]) -> Object:
    """One file of documents: the document itself where there is one, else a list."""
    written: list[Json] = [dump(document) for document in documents]
    if len(written) == 1 and isinstance(written[0], dict):
        return written[0]
    return {"scenarios": written}


def fixture_json(documents: Iterable[ScenarioDocument]) -> list[Object]:
    """The same scenarios as rows with natural keys, empty columns left out."""
    fixture: list[Object] = []
    for document in documents:
        scenario, steps = rows_of(document)
        fixture.append(_row(scenario, _SCENARIO, {}))
        fixture += (
            _row(step, _STEP, {"scenario": [scenario.name], "order": step.order}) for step in steps
        )
    return fixture


def _row(row: Model, columns: Iterable[str], first: dict[str, Any]) -> Object:
    model = type(row)
    fields = first | {
        column: value
        for column in columns
        if (value := getattr(row, column)) != empty_value(model, column)
    }
    return {"model": model._meta.label_lower, "fields": fields}
