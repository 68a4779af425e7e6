"""Maps a problem at a place in a document to the field on the page, words it for the page, and
offers one-click fixes for warnings."""

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from scenarios_app.admin.editor.frequency import ONCE
from scenarios_app.admin.editor.inputs import input_values
from scenarios_app.admin.editor.layout import STEP
from scenarios_app.admin.editor.places import REST, Field, Layout
from scenarios_app.engine.canonical import Json
from scenarios_app.engine.matching.lint import Suspicion
from scenarios_app.engine.producing.faults import FAULT_KINDS

NO_ANSWER = "enter an answer"
REQUIRED = "required"

# Kinds of fields that show more than one value of the document.
_WITH_INNER_PLACES = (REST, "object", "list", "names", "lines", "recorded")
_INDEX = re.compile(r"\d+")
# Places that a step for a tool's result shares with the step that calls the tool.
_REQUEST_PLACES = ("match.provider", "match.model", "match.messages(user)")
_TOOL_RESULT = "match.tool_results(name)"
_MOVES = ("Try it", "Move all")
SHOW = "show"
ADD = "add"


def problem_at(layout: Layout, place: str, message: str, document: Json) -> tuple[Field, str]:
    """Return the field of a page for a problem at a place in its document, and the message."""
    if place == "produce" and message.startswith(("missing", "says nothing")):
        return layout.fields["produce.text"], NO_ANSWER
    field, inner = layout.find(place, document)
    # Errors inside JSON are worded as for documents.
    if field.kind in _WITH_INNER_PLACES:
        return field, f"{join_keys(inner)}: {message}" if inner else message
    return field, _field_message(message)


def is_missing(message: str) -> bool:
    """Return whether the problem is a missing value rather than a wrong one."""
    return message in (NO_ANSWER, REQUIRED)


def _field_message(message: str) -> str:
    """Reword a document's message for a field, without document keys: the form has none."""
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
    fields = (one for one in STEP.fields.values() if one.place.rpartition(".")[2] == name)
    return next((f"“{field.label}”" for field in fields), name)


def join_keys(keys: list[str]) -> str:
    """Join keys to a place: `[0].name`, `headers.x-team`."""
    place = "".join(f"[{key}]" if _INDEX.fullmatch(key) else f".{key}" for key in keys)
    return place.removeprefix(".")


@dataclass(frozen=True, slots=True)
class Fix:
    """A button that fixes a warning.

    It sets the field `target` to `value`, or replaces `was` in it by `value`, or moves the row
    `target` before the row `before`. `does` names other actions: `show` the field, or `add` a step
    before the row `before` with the inputs in `value`, a JSON object. A fix for several warnings
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
    steps: Sequence[Json],
    above: int | None = None,
) -> Iterator[Fix]:
    """Yield the fixes for one suspicion, at least one.

    `rows` are the ids of the scenario's rows in the order of `steps`, their documents; `above` is
    the priority of another scenario that is tried first.
    """
    if suspicion.kind == "empty":
        yield Fix("Add a step", "steps", does=ADD)
        return
    row, step = rows[suspicion.row], steps[suspicion.row]
    fixes = [*_fixes_by_kind(suspicion, row, step), *_fixes_by_order(suspicion, row, rows)]
    if suspicion.kind == "shadowed" and above is not None:
        label = f"Before all of {suspicion.by[0]}: priority {above + 1}" if suspicion.by else ""
        fixes.append(Fix(label, "priority", str(above + 1)))
    field, _ = STEP.find(suspicion.place, step)
    if suspicion.instead:
        old_value, value = suspicion.instead
        yield Fix(f"{value} in place of {old_value}", f"{row}-{field.place}", value, was=old_value)
    yield from fixes
    if suspicion.kind == "placeholder":
        yield Fix("Write the answer", f"{row}-produce.text", does=SHOW)
    elif not fixes and not suspicion.instead:
        yield Fix("Show it", f"{row}-{field.place}", does=SHOW)


def _fixes_by_kind(suspicion: Suspicion, row: str, step: Json) -> Iterator[Fix]:
    """Yield changes of values that mend a loop or a step that matches too much."""
    if suspicion.kind == "looping" and suspicion.by:
        yield Fix("Use this step for the first answer only", f"{row}-turn", "1")
    elif suspicion.kind == "looping" and _TOOL_RESULT not in (values := STEP.split(step)[0]):
        # Without such a step nothing answers the tool's result once the loop is ended.
        shared = {place: values[place] for place in _REQUEST_PLACES if values.get(place)}
        shared[_TOOL_RESULT] = suspicion.tools[0]
        inputs = input_values(STEP, shared, {}).items()
        value = json.dumps({name: item for name, item in inputs if name.startswith(tuple(shared))})
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
