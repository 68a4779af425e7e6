"""What is wrong with a scenario, on its page: from a place in a document to the field where one
puts it right, in the words of the page, and what a click can do about a finding of lint."""

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from scenarios_app.admin.editor.frequency import ONCE
from scenarios_app.admin.editor.layout import SCENARIO_CELLS, STEP_CELLS
from scenarios_app.engine.matching.lint import Suspicion
from scenarios_app.engine.producing.faults import fault_kinds
from scenarios_app.models import Step, StepColumns
from scenarios_app.models.fields import JsonField, NamesField
from scenarios_app.store.columns import EXTRAS, MESSAGE_COLUMNS, VALUES, Place, empty_value
from scenarios_app.store.translate import column_at

NO_ANSWER = "say what to answer with"
NEEDED = "required"

# Where to look for the mistake when a whole section is wrong and nothing in it is given.
_FIRST = {"match": "match_user", "produce": "answer_text", "failures": "failures_times"}
_INDEX = re.compile(r"\d+")
# What a step for a tool's result has in common with the step that calls the tool.
_ASKED: tuple[str, ...] = (
    "match_provider",
    "match_model",
    "match_model_mode",
    "match_user",
    "match_user_mode",
)
_ASKED += ("match_user_ignore_case",)
SHOW = "show"
ADD = "add"


def scenario_problem(place: str, message: str) -> tuple[str, str]:
    """The column of a scenario and what to say there of a problem at `place`."""
    column, *inner = _keys(place) or [""]
    if column not in SCENARIO_CELLS:
        return "extra", f"{place}: {message}" if place else message
    return column, f"{place_in(inner)}: {message}" if inner else message


def step_problem(place: str, message: str, row: StepColumns) -> tuple[str, str]:
    """The same for a step, where `place` is below its `steps[i].`"""
    keys = tuple(_keys(place))
    if keys == ("produce",) and message.startswith(("missing", "says nothing")):
        return "answer_text", NO_ANSWER
    column = _column(place, keys, row)
    if column in EXTRAS:
        inner = _inside_extra(column, keys[len(EXTRAS[column]) :], row)
    elif isinstance(Step._meta.get_field(column), JsonField | NamesField):
        inner = list(keys[len(VALUES[column]) :])
    else:
        inner = []
    # What stands in JSON is told as JSON is.
    return column, f"{place_in(inner)}: {message}" if inner else _in_words(column, message)


def is_missing(message: str) -> bool:
    """Whether a problem is that there is nothing, and not what is there."""
    return message in (NO_ANSWER, NEEDED)


def _in_words(column: str, message: str) -> str:
    """A document's message at a field, without a word that nobody typed."""
    if column in EXTRAS:
        return message
    if message == "missing":
        return NEEDED
    for pattern, words in _WORDS:
        if found := pattern.fullmatch(message):
            return words.format(*map(_called, found.groups()))
    return message


_WORDS = (
    (re.compile(r"not an RE2 pattern: (?s:(.*))"), "this pattern cannot be used: {}"),
    (re.compile(r"cannot stand beside (\w+)"), "not together with {}: leave one of them empty"),
    (
        re.compile(r"a fault of kind (\w+) stands alone, without answer"),
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


def _called(name: str) -> str:
    """What the page calls a key or a kind of fault; anything else is told as it is."""
    if kind := fault_kinds().get(name):
        return f"“{kind.label}”"
    found = next((column for column, place in VALUES.items() if place[-1] == name), "")
    return f"“{STEP_CELLS[found].label}”" if found in STEP_CELLS else name


def place_in(keys: list[str]) -> str:
    """Keys as people write them: `[0].name`, `headers.x-team`."""
    place = "".join(f"[{key}]" if _INDEX.fullmatch(key) else f".{key}" for key in keys)
    return place.removeprefix(".")


def _column(place: str, keys: Place, row: StepColumns) -> str:
    column = column_at(place, row)
    if column not in EXTRAS:
        return column
    inside = keys[len(EXTRAS[column]) :]
    extra = getattr(row, column)
    if inside and isinstance(extra, dict) and inside[0] in extra:
        return column
    # What is missing from a section belongs where one would write it.
    if exact := next((name for name, known in VALUES.items() if known == keys), None):
        return exact
    if keys and not extra:
        return next(_given(keys, row), _FIRST.get(keys[0], column))
    return column


def _given(section: Place, row: StepColumns) -> Iterator[str]:
    for name, known in VALUES.items():
        if known[: len(section)] == section and getattr(row, name) != empty_value(Step, name):
            yield name


def _inside_extra(column: str, inside: Place, row: StepColumns) -> list[str]:
    """Conditions that have columns open the lists of which the extra column holds the rest."""
    keys = list(inside)
    match column, keys:
        case "match_extra", ["messages", index, *_]:
            keys[1] = str(int(index) - sum(bool(getattr(row, name)) for name in MESSAGE_COLUMNS))
        case "match_extra", ["tool_results", index, *_]:
            keys[1] = str(int(index) - bool(row.match_tool_result_name))
    return keys


def _keys(place: str) -> list[str]:
    return re.findall(r"[^.\[\]]+", place)


@dataclass(frozen=True, slots=True)
class Mend:
    """A button: the field of a name gets a `value`, or has `was` replaced by it; or the row of an
    id goes `before` another. What it `does` else: `show` the field, or `add` a step, `before` a row
    and with the columns in `value`, a JSON object."""

    label: str
    target: str
    value: str = ""
    before: str = ""
    was: str = ""
    does: str = ""


def mends_of(
    one: Suspicion, rows: Sequence[str], steps: Sequence[StepColumns], above: int | None = None
) -> Iterator[Mend]:
    """For one finding; `rows` are the ids of a scenario's rows in the order of its `steps`, `above`
    is the priority of the scenario that is in its way. There is always one."""
    if one.kind == "empty":
        yield Mend("Add a step", "steps", does=ADD)
        return
    row, step = rows[one.row], steps[one.row]
    found = [*_by_kind(one, row, step), *_by_order(one, row, rows)]
    if one.kind == "shadowed" and above is not None:
        label = f"Before all of {one.by[0]}: priority {above + 1}" if one.by else ""
        found.append(Mend(label, "priority", str(above + 1)))
    column = column_at(one.place, step)
    if one.instead:
        was, value = one.instead
        yield Mend(f"{value} in place of {was}", f"{row}-{column}", value, was=was)
    yield from found
    if one.kind == "placeholder":
        yield Mend("Write the answer", f"{row}-answer_text", does=SHOW)
    elif not found and not one.instead:
        yield Mend("Show it", f"{row}-{column}", does=SHOW)


def _by_kind(one: Suspicion, row: str, step: StepColumns) -> Iterator[Mend]:
    if one.kind == "looping" and one.by:
        yield Mend("Use this step for the first answer only", f"{row}-turn", "1")
    elif one.kind == "looping" and not step.match_tool_result_name:
        # Without it the tool's result would have no step, wherever the loop is ended.
        columns = {name: getattr(step, name) for name in _ASKED if getattr(step, name)}
        value = json.dumps({**columns, "match_tool_result_name": one.tools[0]})
        label = f"Add a step for the result of {one.tools[0]}"
        yield Mend(label, "steps", value, before=row, does=ADD)
    if one.kind == "broad":
        yield Mend("Only once per session", f"{row}-consume", ONCE)
        yield Mend("After all other scenarios: priority -1", "priority", "-1")


def _by_order(one: Suspicion, row: str, rows: Sequence[str]) -> Iterator[Mend]:
    if one.by and one.by[0] == one.scenario:
        other = rows[one.by[1] - 1]
        if one.kind == "looping":
            yield Mend(f"Try step {one.by[1]} before it", other, before=row)
        elif one.kind == "shadowed":
            yield Mend(f"Try it before step {one.by[1]}", row, before=other)
