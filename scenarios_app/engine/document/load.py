"""From plain JSON, in our form or requirement 003's turns, to checked scenario documents: read,
merged by name, then looked at whole."""

import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Annotated, Any, TypeAlias, TypeVar

from pydantic import BeforeValidator, GetJsonSchemaHandler, TypeAdapter, ValidationError
from pydantic_core import CoreSchema

from scenarios_app.engine.canonical import Json
from scenarios_app.engine.document.checks import DocumentLimits, check_scenario
from scenarios_app.engine.document.from_turns import place_in_turns, read_turns
from scenarios_app.engine.document.scenario import ScenarioDocument, VersionedDocument
from scenarios_app.engine.document.turns import TurnsDocument
from scenarios_app.engine.shapes import (
    Document,
    DocumentError,
    Finding,
    Loc,
    Problem,
    findings_of,
    place_of,
    quoted,
)

D = TypeVar("D", bound=Document)
T = TypeVar("T")

_SCALARS = ("description", "priority", "enabled", "select")
_LISTS = ("tags", "system_prompt_must_include")


# Keys of our own form that a scenario in turns has not.
_OURS = ("name", "steps")


def in_turns(data: object) -> bool:
    """Whether this is a scenario in turns, or means to be one."""
    if not isinstance(data, dict):
        return False
    return "turns" in data or ("id" in data and data.keys().isdisjoint(_OURS))


def _read(data: Any) -> Any:
    return read_turns(data) if in_turns(data) else data


class _ByForm:
    """Says in the JSON Schema which form a document is held to, as `in_turns` decides it."""

    def __get_pydantic_json_schema__(
        self, core_schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> dict[str, Any]:
        ours, turns = handler(core_schema)["anyOf"]
        mixed = {"anyOf": [{"required": [key]} for key in _OURS]}
        started = {"required": ["id"], "not": mixed}
        return {
            "if": {"type": "object", "anyOf": [{"required": ["turns"]}, started]},
            "then": turns,
            "else": ours,
        }


AnyScenario: TypeAlias = Annotated[
    ScenarioDocument,
    BeforeValidator(_read, json_schema_input_type=ScenarioDocument | TurnsDocument),
    _ByForm(),
]


class ScenariosDocument(VersionedDocument):
    """Several scenarios in one document."""

    scenarios: list[AnyScenario]
    """Scenarios of the same name become one: their steps follow one another."""


read_one: Callable[[Any], ScenarioDocument] = TypeAdapter(AnyScenario).validate_python
read_list: Callable[[Any], list[ScenarioDocument]] = TypeAdapter(list[AnyScenario]).validate_python


@dataclass(frozen=True, slots=True)
class Read:
    """A document as it was read, and where: at `loc` in the JSON of `source`, maybe in turns."""

    document: ScenarioDocument
    source: str = ""
    loc: Loc = ()
    turns: bool = False

    def problem(self, loc: Loc, message: str) -> Problem:
        inside = place_in_turns(loc) if self.turns else loc
        return Problem(place_of((*self.loc, *inside)), message, self.source)

    def __str__(self) -> str:
        return " ".join(part for part in (self.source, place_of(self.loc)) if part)


def read_documents(value: Json, *, source: str = "") -> list[Read]:
    """The scenarios of one JSON document, each checked by itself; raises DocumentError."""
    match value:
        case {"scenarios": given}:
            documents = validated(ScenariosDocument, value, source=source).scenarios
            loc: Loc = ("scenarios",)
        case [_, *_] as given:
            documents, loc = _checked(read_list, value, source=source), ()
        case _:
            document = _checked(read_one, value, source=source)
            return [Read(document, source, turns=in_turns(value))]
    assert isinstance(given, list)
    return [
        Read(document, source, (*loc, number), in_turns(given[number]))
        for number, document in enumerate(documents)
    ]


def validated(model: type[D], value: Json, *, source: str = "", loc: Loc = ()) -> D:
    """The value as a document model; raises DocumentError with every problem there is."""
    return _checked(model.model_validate, value, source=source, loc=loc)


def _checked(read: Callable[[Any], T], value: Json, *, source: str, loc: Loc = ()) -> T:
    try:
        return read(value)
    except ValidationError as error:
        problems = (
            Problem(place_of((*loc, *inner)), text, source) for inner, text in findings_of(error)
        )
        raise DocumentError.of(problems) from None


def merged(reads: Iterable[Read], limits: DocumentLimits) -> list[ScenarioDocument]:
    """One document for each name, in the order of the names; raises DocumentError."""
    groups: dict[str, list[Read]] = {}
    for read in reads:
        groups.setdefault(read.document.name, []).append(read)
    documents, problems = [], []
    for group in groups.values():
        document, clashes = _merge(group)
        documents.append(document)
        problems += clashes
        problems += (_located(group, found) for found in check_scenario(document, limits))
    if problems:
        raise DocumentError.of(problems)
    return documents


def _merge(group: list[Read]) -> tuple[ScenarioDocument, list[Problem]]:
    """Steps and lists follow one another; anything else that is given twice must be the same."""
    first = group[0].document
    if len(group) == 1:
        return first, []
    values: dict[Loc, tuple[Json, Read]] = {}
    problems = []
    for read in group:
        for loc, value in _given(read.document):
            other, owner = values.setdefault(loc, (value, read))
            if _differ(value, other):
                text = f"{quoted(value)} differs from {quoted(other)} in {owner}"
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


def _given(document: ScenarioDocument) -> Iterator[tuple[Loc, Json]]:
    """What a document says of its scenario that another one could contradict."""
    for key in _SCALARS:
        if key in document.model_fields_set:
            yield (key,), getattr(document, key)
    for name, value in document.variables.items():
        yield ("variables", name), value


def _differ(value: Json, other: Json) -> bool:
    """As JSON, where 1 and true are two things."""
    return json.dumps(value, sort_keys=True) != json.dumps(other, sort_keys=True)


def _located(group: list[Read], finding: Finding) -> Problem:
    """A finding of a merged scenario, in the document that it comes from."""
    (section, item, *inner), text = finding
    if section == "steps":
        owners = [(read, i) for read in group for i in range(len(read.document.steps))]
        read, number = owners[int(item)]
        return read.problem(("steps", number, *inner), text)
    read = next(read for read in group if item in getattr(read.document, str(section)))
    return read.problem((section, item, *inner), text)
