"""From a place in a document to the field of the page where one puts it right, in the words of the
page."""

import re
from collections.abc import Iterator

from scenarios_app.admin.editor.layout import SCENARIO_CELLS, STEP_CELLS
from scenarios_app.engine.producing.faults import fault_kinds
from scenarios_app.models import Step, StepColumns
from scenarios_app.models.fields import JsonField, NamesField
from scenarios_app.store.columns import EXTRAS, MESSAGE_COLUMNS, VALUES, Place, empty_value
from scenarios_app.store.translate import column_at

NO_ANSWER = "say what to answer with"
NEEDED = "this is needed"

# Where to look for the mistake when a whole section is wrong and nothing in it is given.
_FIRST = {"match": "match_user", "produce": "answer_text", "failures": "failures_times"}
_INDEX = re.compile(r"\d+")


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
        "with {} nothing is answered: leave this empty, or choose another under What goes wrong",
    ),
    (re.compile(r"does not belong to a fault of kind (\w+)"), "it has no meaning with {}"),
    (
        re.compile("missing: select first_user_message chooses by turn"),
        "this is needed: by it a step is chosen where a scenario is chosen by its name",
    ),
    (
        re.compile("has no place beside select first_user_message"),
        "leave this empty: the scenario is chosen by its name, and its step by the turn",
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
