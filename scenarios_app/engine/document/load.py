"""Parses plain JSON, in our form or requirement 003's turns, to validated scenario documents, which
are merged by name and then checked as a whole."""

import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import Annotated, Any, TypeAlias, TypeVar

from pydantic import BeforeValidator, GetJsonSchemaHandler, TypeAdapter, ValidationError
from pydantic_core import CoreSchema

from scenarios_app.engine.canonical import Json
from scenarios_app.engine.document.checks import DocumentLimits, check_scenario
from scenarios_app.engine.document.from_turns import read_turns, to_turns_location
from scenarios_app.engine.document.scenario import ScenarioDocument, VersionedDocument
from scenarios_app.engine.document.turns import TurnsDocument
from scenarios_app.engine.shapes import (
    Document,
    DocumentError,
    KeyProblem,
    Loc,
    Problem,
    format_location,
    key_problems_of,
    quote_json,
)

D = TypeVar("D", bound=Document)
T = TypeVar("T")

_SCALARS = ("description", "priority", "enabled", "select", "user")
_LISTS = ("tags", "system_prompt_must_include")


# Keys of our form that a scenario in turns lacks.
_OWN_KEYS = ("name", "steps")


def is_in_turns(data: object) -> bool:
    """Return True if this is a scenario in turns or looks like an attempt at one."""
    if not isinstance(data, dict):
        return False
    return "turns" in data or ("id" in data and data.keys().isdisjoint(_OWN_KEYS))


def has_scenario_keys(value: object) -> bool:
    """Return True if a decoded file has the keys of a scenario or of several."""
    match value:
        case {"scenarios": _} | {"name": _, "steps": _} | {"id": _, "turns": _}:
            return True
        case [first, *_]:
            return has_scenario_keys(first)
    return False


def _convert_turns(data: Any) -> Any:
    """Return the scenario of data in turns, and other data unchanged. Raises ValidationError."""
    return read_turns(data) if is_in_turns(data) else data


class _FormSchema:
    """Makes the JSON Schema choose between the two forms as `is_in_turns` does."""

    def __get_pydantic_json_schema__(
        self, core_schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> dict[str, Any]:
        own_form, turns = handler(core_schema)["anyOf"]
        mixed = {"anyOf": [{"required": [key]} for key in _OWN_KEYS]}
        started = {"required": ["id"], "not": mixed}
        return {
            "if": {"type": "object", "anyOf": [{"required": ["turns"]}, started]},
            "then": turns,
            "else": own_form,
        }


AnyScenario: TypeAlias = Annotated[
    ScenarioDocument,
    BeforeValidator(_convert_turns, json_schema_input_type=ScenarioDocument | TurnsDocument),
    _FormSchema(),
]


class ScenariosDocument(VersionedDocument):
    """Several scenarios in one document."""

    scenarios: list[AnyScenario]
    """Scenarios of the same name become one: their steps follow one another."""


@cache
def _validator_of(form: Any) -> Callable[[Any], Any]:
    """Return the function that validates a value as this type."""
    # Made with the first document, as the models are.
    return TypeAdapter(form).validate_python


@dataclass(frozen=True, slots=True)
class LoadedDocument:
    """A parsed document and its origin: `loc` in the JSON of `source`, possibly in turns."""

    document: ScenarioDocument
    source: str = ""
    loc: Loc = ()
    turns: bool = False

    def problem(self, loc: Loc, message: str) -> Problem:
        """Return a problem at a place in the file, in the form in which its author wrote the
        document."""
        inside = to_turns_location(loc) if self.turns else loc
        return Problem(format_location((*self.loc, *inside)), message, self.source)

    def __str__(self) -> str:
        return " ".join(part for part in (self.source, format_location(self.loc)) if part)


def read_documents(value: Json, *, source: str = "") -> list[LoadedDocument]:
    """Return the scenarios of one JSON document, each validated by itself; raises DocumentError."""
    match value:
        case {"scenarios": items}:
            documents = validate(ScenariosDocument, value, source=source).scenarios
            loc: Loc = ("scenarios",)
        case [_, *_] as items:
            documents = _run_validation(_validator_of(list[AnyScenario]), value, source=source)
            loc = ()
        case _:
            document = _run_validation(_validator_of(AnyScenario), value, source=source)
            return [_loaded(document, value, source)]
    assert isinstance(items, list)
    return [
        _loaded(document, items[number], source, (*loc, number))
        for number, document in enumerate(documents)
    ]


def read_scenario(value: Json) -> LoadedDocument:
    """Return the scenario of one document in our form; raises DocumentError."""
    return _loaded(validate(ScenarioDocument, value), value)


def _loaded(
    document: ScenarioDocument, value: Json, source: str = "", loc: Loc = ()
) -> LoadedDocument:
    """Return a validated document with its origin; in our form it keeps the JSON as written."""
    turns = is_in_turns(value)
    if isinstance(value, dict) and not turns:
        document.keep_written(value)
    return LoadedDocument(document, source, loc, turns)


def validate(model: type[D], value: Json, *, source: str = "", loc: Loc = ()) -> D:
    """Return the value as a document model; raises DocumentError with every problem."""
    return _run_validation(model.model_validate, value, source=source, loc=loc)


def _run_validation(read: Callable[[Any], T], value: Json, *, source: str, loc: Loc = ()) -> T:
    """Return what `read` makes of a value; raise its problems as DocumentError, with locations
    below `loc`."""
    try:
        return read(value)
    except ValidationError as error:
        problems = (
            Problem(format_location((*loc, *inner)), text, source)
            for inner, text in key_problems_of(error)
        )
        raise DocumentError.of(problems) from None


def merge_by_name(
    reads: Iterable[LoadedDocument], limits: DocumentLimits
) -> list[ScenarioDocument]:
    """Return a joined document for each name; DocumentError if some clash or break a limit."""
    merged = list(merge_groups(reads, limits))
    if problems := [problem for _, clashes in merged for problem in clashes]:
        raise DocumentError.of(problems)
    return [document for document, _ in merged]


def merge_groups(
    reads: Iterable[LoadedDocument], limits: DocumentLimits
) -> Iterator[tuple[ScenarioDocument, list[Problem]]]:
    """Yield one document for each name with its problems, in order of first occurrence."""
    groups: dict[str, list[LoadedDocument]] = {}
    for read in reads:
        groups.setdefault(read.document.name, []).append(read)
    for group in groups.values():
        document, problems = _merge(group)
        problems += (_locate_problem(group, one) for one in check_scenario(document, limits))
        yield document, problems


def _merge(group: list[LoadedDocument]) -> tuple[ScenarioDocument, list[Problem]]:
    """Join steps and lists of documents with one name; other values must agree."""
    first = group[0].document
    if len(group) == 1:
        return first, []
    values: dict[Loc, tuple[Any, LoadedDocument]] = {}
    problems = []
    for read in group:
        for loc, value in _values_that_must_agree(read.document):
            other, owner = values.setdefault(loc, (value, read))
            mine, theirs = _as_json(value), _as_json(other)
            if _differ(mine, theirs):
                text = f"{quote_json(mine)} differs from {quote_json(theirs)} in {owner}"
                problems.append(read.problem(loc, text))
    update: dict[str, Any] = {
        "steps": [step for read in group for step in read.document.steps],
        "variables": {loc[1]: value for loc, (value, _) in values.items() if len(loc) == 2},
        **{str(loc[0]): value for loc, (value, _) in values.items() if len(loc) == 1},
        **{
            key: list(dict.fromkeys(i for read in group for i in getattr(read.document, key)))
            for key in _LISTS
        },
    }
    return first.model_copy(update=update), problems


def _values_that_must_agree(document: ScenarioDocument) -> Iterator[tuple[Loc, Any]]:
    """Yield the values of a document that must be the same in all documents with its name."""
    for key in _SCALARS:
        if key in document.model_fields_set:
            yield (key,), getattr(document, key)
    for name, value in document.variables.items():
        yield ("variables", name), value


def _as_json(value: Any) -> Any:
    """Return a value of a document as JSON; a section of it becomes an object."""
    is_section = isinstance(value, Document)
    return value.model_dump(by_alias=True, exclude_defaults=True) if is_section else value


def _differ(value: Json, other: Json) -> bool:
    """Return True if two values differ as JSON, where 1 and true differ."""
    return json.dumps(value, sort_keys=True) != json.dumps(other, sort_keys=True)


def _locate_problem(group: list[LoadedDocument], problem: KeyProblem) -> Problem:
    """Return the problem of a merged scenario at its location in the original document."""
    (section, item, *inner), text = problem
    if section == "steps":
        owners = [(read, i) for read in group for i in range(len(read.document.steps))]
        read, number = owners[int(item)]
        return read.problem(("steps", number, *inner), text)
    read = next(read for read in group if item in getattr(read.document, str(section)))
    return read.problem((section, item, *inner), text)
