"""The forms in which scenarios come: ours or requirement 003's turns, one or several."""

from collections.abc import Callable
from typing import Annotated, Any, TypeAlias

from pydantic import BeforeValidator, GetJsonSchemaHandler, TypeAdapter
from pydantic_core import CoreSchema

from scenarios_app.engine.document.from_turns import read_turns
from scenarios_app.engine.document.scenario import ScenarioDocument, VersionedDocument
from scenarios_app.engine.document.turns import TurnsDocument

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
