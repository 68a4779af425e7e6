"""What of a scenario document lies in which column of its rows, both ways and without loss.

A value that its column can hold is lifted out of the document; what is left stays, in the
document's own form, in the extra column of its section. Lowering puts the two together again.
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
    empty_value,
    holds,
)

Object: TypeAlias = dict[str, Json]
Values: TypeAlias = dict[str, Any]

# All at once: a step has many columns, and a scenario may have many steps.
_values_of = attrgetter(*VALUES)
_PLACES = tuple((place, empty_value(Step, column)) for column, place in VALUES.items())


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
        if rest := _extra(row, column):
            for key, value in rest.items():
                _put(step, (*place, key), value)
    _lower_conditions(row, step)
    for (place, empty), value in zip(_PLACES, _values_of(row), strict=True):
        if value != empty:
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
    return deepcopy(value) if value else {}


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


def scenario_values(document: Object) -> Values:
    """Column values of a document's scenario; its steps are not looked at."""
    rest = deepcopy({key: value for key, value in document.items() if key != "steps"})
    lifted = [key for key in SCENARIO_KEYS if key in rest and holds(Scenario, key, rest[key])]
    return {key: rest.pop(key) for key in lifted} | {"extra": rest}


def step_values(step: Object) -> Values:
    """Column values of one step of a document."""
    rest = deepcopy(step)
    values: Values = {}
    for column, place in VALUES.items():
        if place[0] in rest and holds(Step, column, found := _look(rest, place)):
            values[column] = found
            _take(rest, place)
    _lift_conditions(rest, values)
    for column, place in EXTRAS.items():
        if place and holds(Step, column, found := _look(rest, place)):
            values[column] = found
            _take(rest, place)
    return values | {"extra": rest}


def _lift_conditions(rest: Object, values: Values) -> None:
    if lifted := _model(_look(rest, MODEL)):
        values |= lifted
        _take(rest, MODEL)
    match _look(rest, TOOL_RESULTS):
        case [{"name": name, **others}, *_] if not others:
            if holds(Step, "match_tool_result_name", name):
                values["match_tool_result_name"] = name
                _take_first(rest, TOOL_RESULTS)
    for column, role in MESSAGE_COLUMNS.items():
        match _look(rest, MESSAGES):
            case [first, *_] if lifted := _message(column, role, first):
                values |= lifted
                _take_first(rest, MESSAGES)


def _model(condition: Json) -> Values:
    if isinstance(condition, str):
        condition = {TextMode.EQUALS.value: condition}
    return _text("match_model", condition)


def _message(column: str, role: str, condition: Json) -> Values:
    if not isinstance(condition, dict) or condition.get("role") != role:
        return {}
    text = {key: value for key, value in condition.items() if key != "role"}
    ignores = column == "match_user" and text.get("ignore_case") is True
    if ignores:
        del text["ignore_case"]
    lifted = _text(column, text)
    if lifted and ignores:
        lifted["match_user_ignore_case"] = True
    return lifted


def _text(column: str, condition: Json) -> Values:
    """A condition of one mode and nothing else."""
    if not isinstance(condition, dict) or len(condition) != 1:
        return {}
    ((mode, text),) = condition.items()
    if mode not in TextMode.values or not holds(Step, column, text):
        return {}
    return {column: text, f"{column}_mode": mode}


def _look(rest: Object, place: Place) -> Json:
    found: Json = rest
    for key in place:
        found = found.get(key) if isinstance(found, dict) else None
    return found


def _take(rest: Object, place: Place) -> None:
    """Take a value out, and the objects around it that it leaves empty."""
    around = [rest]
    for key in place[:-1]:
        inner = around[-1][key]
        assert isinstance(inner, dict)
        around.append(inner)
    for owner, key in zip(reversed(around), reversed(place), strict=True):
        del owner[key]
        if owner:
            return


def _take_first(rest: Object, place: Place) -> None:
    items = _look(rest, place)
    assert isinstance(items, list)
    del items[0]
    if not items:
        _take(rest, place)
