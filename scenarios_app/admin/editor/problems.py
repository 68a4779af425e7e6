"""Maps a problem at a place in a document to the field on the page, words it for the page, and
offers one-click fixes for warnings."""

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from scenarios_app.admin.editor.frequency import ONCE
from scenarios_app.admin.editor.layout import SCENARIO_CELLS, STEP_CELLS
from scenarios_app.engine.matching.lint import Suspicion
from scenarios_app.engine.producing.faults import FAULT_KINDS
from scenarios_app.models import Step, StepColumns
from scenarios_app.models.fields import JsonField, NamesField
from scenarios_app.store.columns import EXTRAS, MESSAGE_COLUMNS, VALUES, Place, empty_value
from scenarios_app.store.translate import column_at

NO_ANSWER = "enter an answer"
REQUIRED = "required"

# The column for a problem of a whole section in which nothing is set.
_DEFAULT_COLUMNS = {"match": "match_user", "produce": "answer_text", "failures": "failures_times"}
_INDEX = re.compile(r"\d+")
# Columns that a step for a tool's result shares with the step that calls the tool.
_REQUEST_COLUMNS = (
    "match_provider",
    "match_model",
    "match_model_mode",
    "match_user",
    "match_user_mode",
    "match_user_ignore_case",
)
_MOVES = ("Try it", "Move all")
SHOW = "show"
ADD = "add"


def scenario_problem(place: str, message: str) -> tuple[str, str]:
    """Return the column of a scenario and the message for a problem at `place`."""
    column, *inner = _split_place(place) or [""]
    if column not in SCENARIO_CELLS:
        return "extra", f"{place}: {message}" if place else message
    return column, f"{join_keys(inner)}: {message}" if inner else message


def step_problem(place: str, message: str, row: StepColumns) -> tuple[str, str]:
    """Return the column of a step and the message for a problem at `place` below `steps[i].`."""
    keys = tuple(_split_place(place))
    if keys == ("produce",) and message.startswith(("missing", "says nothing")):
        return "answer_text", NO_ANSWER
    column = _find_column(place, keys, row)
    if column in EXTRAS:
        inner = _place_in_extra(column, keys[len(EXTRAS[column]) :], row)
    elif isinstance(Step._meta.get_field(column), JsonField | NamesField):
        inner = list(keys[len(VALUES[column]) :])
    else:
        inner = []
    # Errors inside JSON are worded as for documents.
    return column, f"{join_keys(inner)}: {message}" if inner else _field_message(column, message)


def is_missing(message: str) -> bool:
    """Return whether the problem is a missing value rather than a wrong one."""
    return message in (NO_ANSWER, REQUIRED)


def _field_message(column: str, message: str) -> str:
    """Reword a document's message for a field, without document keys: the form has none."""
    if column in EXTRAS:
        return message
    if message == "missing":
        return REQUIRED
    for pattern, template in _FIELD_MESSAGES:
        if match := pattern.fullmatch(message):
            return template.format(*map(_label_of, match.groups()))
    return message


_FIELD_MESSAGES = (
    (re.compile(r"not an RE2 pattern: (?s:(.*))"), "this pattern cannot be used: {}"),
    (re.compile(r"cannot be combined with (\w+)"), "not together with {}: leave one of them empty"),
    (
        re.compile(r"a fault of kind (\w+) cannot be combined with an answer"),
        "with {} no reply is sent: leave this empty, or choose another failure",
    ),
    (re.compile(r"does not belong to a fault of kind (\w+)"), "it has no meaning with {}"),
    (
        re.compile("missing: select first_user_message chooses by turn"),
        "required: a scenario that is selected by its name selects steps by turn",
    ),
    (
        re.compile("has no place beside select first_user_message"),
        "leave this empty: the scenario is selected by its name, and its step by the turn",
    ),
    (re.compile(r"expected at most (\d+) milliseconds"), "at most {} ms"),
)


def _label_of(name: str) -> str:
    """Return the page's label, in quotes, of a document key or a failure type; anything else
    unchanged."""
    if kind := FAULT_KINDS.get(name):
        return f"“{kind.label}”"
    column_name = next((column for column, place in VALUES.items() if place[-1] == name), "")
    return f"“{STEP_CELLS[column_name].label}”" if column_name in STEP_CELLS else name


def join_keys(keys: list[str]) -> str:
    """Join keys to a place: `[0].name`, `headers.x-team`."""
    place = "".join(f"[{key}]" if _INDEX.fullmatch(key) else f".{key}" for key in keys)
    return place.removeprefix(".")


def _find_column(place: str, keys: Place, row: StepColumns) -> str:
    """Return the column for a problem at `place`; for a missing value the column in which to enter
    it."""
    column = column_at(place, row)
    if column not in EXTRAS:
        return column
    inside = keys[len(EXTRAS[column]) :]
    extra = getattr(row, column)
    if inside and isinstance(extra, dict) and inside[0] in extra:
        return column
    # A missing key belongs to the field in which one would type it.
    if exact := next((name for name, column_keys in VALUES.items() if column_keys == keys), None):
        return exact
    if not keys or extra:
        return column
    for name, column_keys in VALUES.items():
        is_set = getattr(row, name) != empty_value(Step, name)
        if is_set and column_keys[: len(keys)] == keys:
            return name
    return _DEFAULT_COLUMNS.get(keys[0], column)


def _place_in_extra(column: str, inside: Place, row: StepColumns) -> list[str]:
    """Return the place inside an extra column. List indexes are reduced by the number of conditions
    that other columns hold."""
    keys = list(inside)
    match column, keys:
        case "match_extra", ["messages", index, *_]:
            keys[1] = str(int(index) - sum(bool(getattr(row, name)) for name in MESSAGE_COLUMNS))
        case "match_extra", ["tool_results", index, *_]:
            keys[1] = str(int(index) - bool(row.match_tool_result_name))
    return keys


def _split_place(place: str) -> list[str]:
    """Return the keys and indexes of a place: `a[0].b` is `a`, `0`, `b`."""
    return re.findall(r"[^.\[\]]+", place)


@dataclass(frozen=True, slots=True)
class Fix:
    """A button that fixes a warning.

    It sets the field `target` to `value`, or replaces `was` in it by `value`, or moves the row
    `target` before the row `before`. `does` names other actions: `show` the field, or `add` a step
    before the row `before` with the columns in `value`, a JSON object. A fix for several warnings
    has all of their targets, separated by spaces, and the label `for_all`.
    """

    label: str
    target: str
    value: str = ""
    before: str = ""
    was: str = ""
    does: str = ""
    for_all: str = ""


def fixes_for(
    suspicion: Suspicion,
    rows: Sequence[str],
    steps: Sequence[StepColumns],
    above: int | None = None,
) -> Iterator[Fix]:
    """Yield the fixes for one suspicion, at least one.

    `rows` are the ids of the scenario's rows in the order of `steps`; `above` is the priority of
    another scenario that is tried first.
    """
    if suspicion.kind == "empty":
        yield Fix("Add a step", "steps", does=ADD)
        return
    row, step = rows[suspicion.row], steps[suspicion.row]
    fixes = [*_fixes_by_kind(suspicion, row, step), *_fixes_by_order(suspicion, row, rows)]
    if suspicion.kind == "shadowed" and above is not None:
        label = f"Before all of {suspicion.by[0]}: priority {above + 1}" if suspicion.by else ""
        fixes.append(Fix(label, "priority", str(above + 1)))
    column = column_at(suspicion.place, step)
    if suspicion.instead:
        old_value, value = suspicion.instead
        yield Fix(f"{value} in place of {old_value}", f"{row}-{column}", value, was=old_value)
    yield from fixes
    if suspicion.kind == "placeholder":
        yield Fix("Write the answer", f"{row}-answer_text", does=SHOW)
    elif not fixes and not suspicion.instead:
        yield Fix("Show it", f"{row}-{column}", does=SHOW)


def _fixes_by_kind(suspicion: Suspicion, row: str, step: StepColumns) -> Iterator[Fix]:
    """Yield changes of values that mend a loop or a step that matches too much."""
    if suspicion.kind == "looping" and suspicion.by:
        yield Fix("Use this step for the first answer only", f"{row}-turn", "1")
    elif suspicion.kind == "looping" and not step.match_tool_result_name:
        # Without such a step nothing answers the tool's result once the loop is ended.
        columns = {name: getattr(step, name) for name in _REQUEST_COLUMNS if getattr(step, name)}
        value = json.dumps({**columns, "match_tool_result_name": suspicion.tools[0]})
        label = f"Add a step for the result of {suspicion.tools[0]}"
        yield Fix(label, "steps", value, before=row, does=ADD)
    if suspicion.kind == "broad":
        yield Fix("Only once per session", f"{row}-consume", ONCE)
        yield Fix("After all other scenarios: priority -1", "priority", "-1")


def _fixes_by_order(suspicion: Suspicion, row: str, rows: Sequence[str]) -> Iterator[Fix]:
    """Yield changes of the order of steps that mend a loop or a hidden step."""
    if suspicion.by and suspicion.by[0] == suspicion.scenario:
        other = rows[suspicion.by[1] - 1]
        if suspicion.kind == "looping":
            yield Fix(f"Try step {suspicion.by[1]} before it", other, before=row)
        elif suspicion.kind == "shadowed":
            label, for_all = (f"{move} before step {suspicion.by[1]}" for move in _MOVES)
            yield Fix(label, row, before=other, for_all=for_all)
