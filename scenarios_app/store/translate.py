"""Translates scenario documents to database columns and back, without loss.

A value that its column can hold is moved to the column. The rest stays, in document form, in the
extra column of its section.
"""

import re
from collections.abc import Sequence
from copy import deepcopy
from operator import attrgetter
from typing import Any, TypeAlias

from scenarios_app.engine.canonical import Json
from scenarios_app.engine.shapes import DocumentError
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
    can_hold,
    empty_value,
)

Object: TypeAlias = dict[str, Json]
Values: TypeAlias = dict[str, Any]

# Read in one call, because a step has many columns and a scenario many steps.
_values_of = attrgetter(*VALUES)
_PLACES = tuple((place, empty_value(Step, column)) for column, place in VALUES.items())


def scenario_object(scenario: ScenarioColumns, steps: Sequence[Object]) -> Object:
    """Return the document of a scenario row as unvalidated data; raises DocumentError if its extra
    column is no object."""
    document = _copy_extra(scenario, "extra")
    for key in SCENARIO_KEYS:
        value = getattr(scenario, key)
        if key == "name" or value != empty_value(Scenario, key):
            document[key] = deepcopy(value)
    return document | ({"steps": list(steps)} if steps else {})


def step_object(row: StepColumns) -> Object:
    """Return the document of a step row as unvalidated data; raises DocumentError if an extra
    column does not fit."""
    step: Object = {}
    for column, place in reversed(EXTRAS.items()):
        if rest := _copy_extra(row, column):
            for key, value in rest.items():
                _put_at(step, (*place, key), value)
    _add_column_conditions(row, step)
    for (place, empty), value in zip(_PLACES, _values_of(row), strict=True):
        if value != empty:
            _put_at(step, place, deepcopy(value))
    return step


def column_at(place: str, row: StepColumns) -> str:
    """Return the column that edits the value at `place` in the document of this row."""
    keys = tuple(re.findall(r"[^.\[\]]+", place))
    if keys[: len(MESSAGES)] == MESSAGES:
        used = [column for column in MESSAGE_COLUMNS if getattr(row, column)]
        index = int(keys[2]) if len(keys) > 2 else 0
        return used[index] if index < len(used) else "match_extra"
    columns = {"match_model": MODEL, "match_tool_result_name": (*TOOL_RESULTS, "0"), **VALUES}
    for column, column_place in columns.items():
        if keys[: len(column_place)] == column_place and getattr(row, column) != empty_value(
            Step, column
        ):
            return column
    return next(
        column
        for column, column_place in EXTRAS.items()
        if keys[: len(column_place)] == column_place
    )


def _add_column_conditions(row: StepColumns, step: Object) -> None:
    """Add the row's conditions on model, messages and tool result; raises DocumentError."""
    if row.match_model:
        equals = row.match_model_mode == TextMode.EQUALS
        model: Json = row.match_model if equals else {row.match_model_mode: row.match_model}
        _put_at(step, MODEL, model)
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


def _copy_extra(row: ScenarioColumns | StepColumns, column: str) -> Object:
    """Return a copy of an extra column; raises DocumentError if it is no object."""
    value = getattr(row, column)
    if not isinstance(value, dict):
        raise DocumentError(column, "expected an object")
    return deepcopy(value) if value else {}


def _put_at(step: Object, place: Place, value: Json) -> None:
    """Set a value at a path of keys; missing objects are added."""
    owner = step
    for key in place[:-1]:
        inner = owner.get(key)
        if not isinstance(inner, dict):
            inner = owner[key] = {}
        owner = inner
    owner[place[-1]] = value


def _put_first(step: Object, place: Place, items: list[Json]) -> None:
    """Add items at the beginning of the list at a path; raise DocumentError if it is no list."""
    match = step.get(place[0])
    more = match.get(place[1], []) if isinstance(match, dict) else []
    if not isinstance(more, list):
        raise DocumentError(f"{place[0]}_extra", f"expected a list as {place[1]!r}")
    _put_at(step, place, [*items, *more])


def scenario_values(document: Object) -> Values:
    """Return the column values of a document's scenario, without its steps."""
    rest = deepcopy({key: value for key, value in document.items() if key != "steps"})
    lifted = [key for key in SCENARIO_KEYS if key in rest and can_hold(Scenario, key, rest[key])]
    return {key: rest.pop(key) for key in lifted} | {"extra": rest}


def step_values(step: Object) -> Values:
    """Return the column values of one step of a document."""
    rest = deepcopy(step)
    values: Values = {}
    for column, place in VALUES.items():
        if place[0] in rest and can_hold(Step, column, value := _get_at(rest, place)):
            values[column] = value
            _remove_with_parents(rest, place)
    _move_conditions_to_columns(rest, values)
    for column, place in EXTRAS.items():
        if place and can_hold(Step, column, value := _get_at(rest, place)):
            values[column] = value
            _remove_with_parents(rest, place)
    return values | {"extra": rest}


def _move_conditions_to_columns(rest: Object, values: Values) -> None:
    """Take conditions that columns can hold out of `rest` and add them to `values`."""
    if lifted := _model_values(_get_at(rest, MODEL)):
        values |= lifted
        _remove_with_parents(rest, MODEL)
    match _get_at(rest, TOOL_RESULTS):
        case [{"name": name, **others}, *_] if not others:
            if can_hold(Step, "match_tool_result_name", name):
                values["match_tool_result_name"] = name
                _remove_first(rest, TOOL_RESULTS)
    for column, role in MESSAGE_COLUMNS.items():
        match _get_at(rest, MESSAGES):
            case [first, *_] if lifted := _message_values(column, role, first):
                values |= lifted
                _remove_first(rest, MESSAGES)


def move_to_columns(row: ScenarioColumns | StepColumns) -> list[str]:
    """Move what columns can hold out of the row's extra columns, such as those of a fixture, and
    return the columns that changed. The row is not saved; an invalid one stays as it is."""
    extras = tuple(EXTRAS) if isinstance(row, StepColumns) else ("extra",)
    if not any(getattr(row, name) for name in extras):
        return []
    try:
        if isinstance(row, StepColumns):
            values = step_values(step_object(row))
        else:
            values = scenario_values(scenario_object(row, []))
    except DocumentError:
        return []
    if all(values.get(name, {}) == getattr(row, name) for name in extras):
        return []
    names = [name for name in (*values, *extras) if values.get(name, {}) != getattr(row, name)]
    for name in names:
        setattr(row, name, values.get(name, {}))
    return list(dict.fromkeys(names))


def _model_values(condition: Json) -> Values:
    """Return the columns for a condition on the model; empty if they cannot hold it."""
    if isinstance(condition, str):
        condition = {TextMode.EQUALS.value: condition}
    return _text_columns("match_model", condition)


def _message_values(column: str, role: str, condition: Json) -> Values:
    """Return the columns for a condition on messages of a role; empty if they cannot hold it."""
    if not isinstance(condition, dict) or condition.get("role") != role:
        return {}
    ignores = column == "match_user" and condition.get("ignore_case") is True
    others = {"role", "ignore_case"} if ignores else {"role"}
    lifted = _text_columns(column, {k: v for k, v in condition.items() if k not in others})
    return lifted | ({"match_user_ignore_case": True} if lifted and ignores else {})


def _text_columns(column: str, condition: Json) -> Values:
    """Return the columns of a text condition that has one mode and nothing else, or {}."""
    if not isinstance(condition, dict) or len(condition) != 1:
        return {}
    ((mode, text),) = condition.items()
    if mode not in TextMode.values or not can_hold(Step, column, text):
        return {}
    return {column: text, f"{column}_mode": mode}


def _get_at(rest: Object, place: Place) -> Json:
    """Return the value at a path of keys, or None."""
    value: Json = rest
    for key in place:
        value = value.get(key) if isinstance(value, dict) else None
    return value


def _remove_with_parents(rest: Object, place: Place) -> None:
    """Remove a value, and the objects around it that become empty."""
    around = [rest]
    for key in place[:-1]:
        inner = around[-1][key]
        assert isinstance(inner, dict)
        around.append(inner)
    for owner, key in zip(reversed(around), reversed(place), strict=True):
        del owner[key]
        if owner:
            return


def _remove_first(rest: Object, place: Place) -> None:
    """Remove the first item of the list at a path, and the list if it is empty then."""
    items = _get_at(rest, place)
    assert isinstance(items, list)
    del items[0]
    if not items:
        _remove_with_parents(rest, place)
