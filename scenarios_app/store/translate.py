"""What of a scenario document lies in which column of its rows, both ways and without loss.

A value that its column can hold is lifted out of the document; whatever is left stays, in the
document's own form, in the extra column of its section. Lowering puts the two together again.
"""

import re
from collections.abc import Sequence
from copy import deepcopy
from typing import TypeAlias

from scenarios_app.engine.canonical import Json
from scenarios_app.engine.document.base import DocumentError
from scenarios_app.models import Scenario, ScenarioColumns, Step, StepColumns, TextMode
from scenarios_app.store.columns import (
    EXTRAS,
    MESSAGE_COLUMNS,
    MESSAGES,
    MODEL,
    SCENARIO_KEYS,
    TOOL_RESULTS,
    VALUES,
    Place,
    empty_value,
)
from scenarios_app.store.lift import scenario_values, step_values

Object: TypeAlias = dict[str, Json]


def scenario_object(scenario: ScenarioColumns, steps: Sequence[Object]) -> Object:
    """The document of a row, as plain data that nobody has checked yet."""
    document = _extra(scenario, "extra")
    for key in SCENARIO_KEYS:
        value = getattr(scenario, key)
        if key == "name" or value != empty_value(Scenario, key):
            document[key] = deepcopy(value)
    return document | ({"steps": list(steps)} if steps else {})


def step_object(row: StepColumns) -> Object:
    """The document of a step's row, as plain data that nobody has checked yet."""
    step: Object = {}
    for column, place in reversed(EXTRAS.items()):
        for key, value in _extra(row, column).items():
            _put(step, (*place, key), value)
    _lower_conditions(row, step)
    for column, place in VALUES.items():
        if (value := getattr(row, column)) != empty_value(Step, column):
            _put(step, place, deepcopy(value))
    return step


def column_at(place: str, row: StepColumns) -> str:
    """The column in which one edits what stands at `place` in the document of this row."""
    keys = tuple(re.findall(r"[^.\[\]]+", place))
    if keys[: len(MESSAGES)] == MESSAGES:
        used = [column for column in MESSAGE_COLUMNS if getattr(row, column)]
        index = int(keys[2]) if len(keys) > 2 else 0
        return used[index] if index < len(used) else "match_extra"
    columns = {
        "match_model": MODEL,
        "match_tool_result_name": (*TOOL_RESULTS, "0"),
        **VALUES,
    }
    for column, known in columns.items():
        if keys[: len(known)] == known and getattr(row, column) != empty_value(Step, column):
            return column
    return next(column for column, known in EXTRAS.items() if keys[: len(known)] == known)


def _lower_conditions(row: StepColumns, step: Object) -> None:
    if row.match_model:
        equals = row.match_model_mode == TextMode.EQUALS
        model: Json = row.match_model if equals else {row.match_model_mode: row.match_model}
        _put(step, MODEL, model)
    if row.match_tool_result_name:
        _put_first(step, TOOL_RESULTS, [{"name": row.match_tool_result_name}])
    messages: list[Json] = []
    for column, role in MESSAGE_COLUMNS.items():
        if text := getattr(row, column):
            condition: Object = {"role": role, getattr(row, f"{column}_mode"): text}
            if column == "match_user" and row.match_user_ignore_case:
                condition["ignore_case"] = True
            messages.append(condition)
    if messages:
        _put_first(step, MESSAGES, messages)


def _extra(row: ScenarioColumns | StepColumns, column: str) -> Object:
    value = getattr(row, column)
    if not isinstance(value, dict):
        raise DocumentError(column, "expected an object")
    return deepcopy(value)


def _put(step: Object, place: Place, value: Json) -> None:
    owner = step
    for key in place[:-1]:
        inner = owner.get(key)
        if not isinstance(inner, dict):
            inner = owner[key] = {}
        owner = inner
    owner[place[-1]] = value


def _put_first(step: Object, place: Place, items: list[Json]) -> None:
    match = step.get(place[0])
    more = match.get(place[1], []) if isinstance(match, dict) else []
    if not isinstance(more, list):
        raise DocumentError(f"{place[0]}_extra", f"expected a list as {place[1]!r}")
    _put(step, place, [*items, *more])


__all__ = ["column_at", "scenario_object", "scenario_values", "step_object", "step_values"]
