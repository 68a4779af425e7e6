"""Scenario documents: loading, merging, writing, compiling. Everything about them is had here."""

from collections.abc import Sequence
from typing import Any

from pydantic.json_schema import GenerateJsonSchema, models_json_schema

from scenarios_app.engine.canonical import Json
from scenarios_app.engine.conditions.match import Match, match_model
from scenarios_app.engine.document.checks import LIMITS, DocumentLimits
from scenarios_app.engine.document.compile import compile_scenario
from scenarios_app.engine.document.json_text import decode, plain
from scenarios_app.engine.document.load import (
    Read,
    ScenariosDocument,
    merged,
    read_documents,
    validated,
)
from scenarios_app.engine.document.scenario import ScenarioDocument, StepDocument
from scenarios_app.engine.shapes import DocumentError, Problem

__all__ = [
    "DocumentError",
    "DocumentLimits",
    "Problem",
    "ScenarioDocument",
    "StepDocument",
    "compile_scenario",
    "dump",
    "json_schema",
    "load_documents",
    "load_match",
    "load_text",
    "merge_documents",
]

_DIALECT = "https://json-schema.org/draft/2020-12/schema"


def load_documents(data: object, *, limits: DocumentLimits = LIMITS) -> list[ScenarioDocument]:
    """The scenarios of a document: one, or all of a list or of `{"scenarios": [...]}`, merged by
    name. Each is in our form or in requirement 003's turns.

    Raises `DocumentError` with every problem that was found; nothing is loaded then.
    """
    return merged(read_documents(plain(data)), limits)


def load_text(
    text: bytes, *, source: str = "", limits: DocumentLimits = LIMITS
) -> list[ScenarioDocument]:
    """The same from the bytes of a JSON file, which `source` names in errors."""
    return merged(read_documents(decode(text, source=source), source=source), limits)


def load_match(data: object, *, place: str = "match") -> Match:
    """Conditions on a request outside of any step, compiled; `place` begins errors' places."""
    return validated(match_model(), plain(data, loc=(place,)), loc=(place,)).compiled()


def merge_documents(
    documents: Sequence[ScenarioDocument], *, limits: DocumentLimits = LIMITS
) -> list[ScenarioDocument]:
    """One document for each name: steps and lists follow one another, variables come together.

    What two of them say differently, and what is wrong with the whole, is a `DocumentError`.
    """
    reads = (Read(document, loc=("scenarios", i)) for i, document in enumerate(documents))
    return merged(reads, limits)


def dump(document: ScenarioDocument) -> dict[str, Json]:
    """The shortest JSON that loads to this document; equal documents give the same JSON."""
    return document.model_dump(by_alias=True, exclude_defaults=True)


def json_schema() -> dict[str, Any]:
    """The JSON Schema (draft 2020-12) of a document, for editors. What it refuses the loader
    refuses too; the loader also looks at what keys mean together."""
    _, schema = models_json_schema(
        [(ScenariosDocument, "validation")],
        schema_generator=_Untitled,
    )
    one = schema["$defs"]["ScenariosDocument"]["properties"]["scenarios"]["items"]
    return {
        "$schema": _DIALECT,
        "title": "mockllm scenarios",
        "description": 'A scenario, or several as a list or {"scenarios": [...]}.',
        "if": {"type": "array"},
        "then": {"items": one, "minItems": 1},
        "else": {
            "if": {"type": "object", "required": ["scenarios"]},
            "then": {"$ref": "#/$defs/ScenariosDocument"},
            "else": one,
        },
        **schema,
    }


class _Untitled(GenerateJsonSchema):
    """Fields without titles, which would only repeat their keys."""

    def field_title_should_be_set(self, schema: Any) -> bool:
        return False
