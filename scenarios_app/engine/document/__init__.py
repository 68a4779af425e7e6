"""Scenario documents: loading, merging, dumping and compiling. Other packages import only this
module."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from scenarios_app.engine.canonical import Json
from scenarios_app.engine.conditions.match import Match, match_model
from scenarios_app.engine.document.checks import LIMITS, DocumentLimits
from scenarios_app.engine.document.fault import FaultDocument
from scenarios_app.engine.document.json_text import to_plain_json
from scenarios_app.engine.document.load import (
    LoadedDocument,
    merge_by_name,
    read_documents,
    read_scenario,
    validate,
)
from scenarios_app.engine.document.scenario import ScenarioDocument, StepDocument, compile_scenario
from scenarios_app.engine.document.source_text import decode_text, located
from scenarios_app.engine.document.user import UserDocument
from scenarios_app.engine.scenario import Fault
from scenarios_app.engine.shapes import DocumentError, Loc, Problem

__all__ = [
    "SCHEMAS",
    "DocumentError",
    "DocumentLimits",
    "Problem",
    "ScenarioDocument",
    "StepDocument",
    "UserDocument",
    "compile_scenario",
    "dump",
    "load_documents",
    "load_fault",
    "load_match",
    "load_scenario",
    "load_text",
    "merge_documents",
    "read_schema",
]

SCHEMAS = Path(__file__).parents[2] / "schemas"
"""The folder of the JSON Schemas, which `make docs` writes."""


def load_documents(data: object, *, limits: DocumentLimits = LIMITS) -> list[ScenarioDocument]:
    """Return the scenarios of a document, merged by name: one, or all of a list or of
    `{"scenarios": [...]}`, each in our form or in requirement 003's turns.

    Raises `DocumentError` with every problem; then nothing is loaded.
    """
    return merge_by_name(read_documents(to_plain_json(data)), limits)


def load_scenario(data: object, *, limits: DocumentLimits = LIMITS) -> ScenarioDocument:
    """Return the scenario of one document in our form. Raises `DocumentError`, as
    `load_documents` does."""
    (document,) = merge_by_name([read_scenario(to_plain_json(data))], limits)
    return document


def load_text(
    text: bytes, *, source: str = "", limits: DocumentLimits = LIMITS
) -> list[ScenarioDocument]:
    """Return the scenarios of a file's bytes; the suffix of `source` tells YAML from JSON. Raises
    DocumentError with every problem and its line."""
    with located(text, source=source):
        return merge_by_name(
            read_documents(decode_text(text, source=source), source=source), limits
        )


def load_match(data: object, *, place: str = "match") -> Match:
    """Return compiled conditions that belong to no step. Raises DocumentError; `place` begins its
    locations."""
    return validate(match_model(), to_plain_json(data, loc=(place,)), loc=(place,)).compile()


def load_fault(data: object, *, loc: Loc = ("fault",)) -> Fault:
    """Return a compiled fault that belongs to no step. Raises DocumentError; `loc` begins its
    locations."""
    return validate(FaultDocument, to_plain_json(data, loc=loc), loc=loc).compile()


def merge_documents(
    documents: Sequence[ScenarioDocument], *, limits: DocumentLimits = LIMITS
) -> list[ScenarioDocument]:
    """Return one document for each name: steps and lists are joined, variables combined. Raises
    `DocumentError` if two documents contradict each other or the whole is invalid."""
    reads = (LoadedDocument(document, loc=("scenarios", i)) for i, document in enumerate(documents))
    return merge_by_name(reads, limits)


def dump(document: ScenarioDocument) -> dict[str, Json]:
    """Return the JSON that the document was read from, key for key; of one that was converted or
    merged, the shortest. Only the outer object is a copy."""
    return document.dump()


def read_schema(name: str) -> dict[str, Any]:
    """Return the JSON Schema of this name with an example for each key, from the package's file.
    Raises FileNotFoundError for another name."""
    schema: dict[str, Any] = json.loads((SCHEMAS / f"{name}.json").read_bytes())
    return schema
