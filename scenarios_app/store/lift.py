"""From a document to column values."""

from copy import deepcopy
from typing import Any, TypeAlias

from scenarios_app.engine.canonical import Json
from scenarios_app.models import Scenario, Step, TextMode
from scenarios_app.store.columns import (
    EXTRAS,
    MESSAGE_COLUMNS,
    MESSAGES,
    MODEL,
    SCENARIO_KEYS,
    TOOL_RESULTS,
    VALUES,
    Place,
    holds,
)

Object: TypeAlias = dict[str, Json]
Values: TypeAlias = dict[str, Any]


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
