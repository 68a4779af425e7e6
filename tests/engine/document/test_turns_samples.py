"""Requirement 003's documents, ours, the requirement's own and the product's: all of them load."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from scenarios_app.engine.document import dump, load_documents, load_text
from scenarios_app.engine.document.schema_maker import json_schema
from scenarios_app.engine.document.turns import (
    CallDocument,
    ResponseDocument,
    SegmentDocument,
    ThrownDocument,
    TurnDocument,
    TurnsDocument,
)
from tests.engine.turn_scripts import COLLECTIONS, compiled, each_collection, examples
from tests.support.requirement_samples import TURN_SCRIPTS, Sample

SCHEMA = Draft202012Validator(json_schema())
# Keys whose values are separate forms, each of which is read differently.
FORMS = {"kind", "reportFormat", "status", "finishReason", "failureStatus", "expectedReasoning"}
KEYS = {
    key
    for model in (
        TurnsDocument,
        TurnDocument,
        ResponseDocument,
        CallDocument,
        SegmentDocument,
        ThrownDocument,
    )
    for key in (field.alias for field in model.model_fields.values())
}


@each_collection
def test_scenario_loading(documents: list[Sample]) -> None:
    for data in documents:
        (document,) = load_documents(data)
        assert (document.name, document.select) == (data["id"], "first_user_message")
        assert [step.turn for step in document.steps] == [t["turn"] for t in data["turns"]]
        assert load_documents(dump(document)) == [document]
        SCHEMA.validate(data)
        SCHEMA.validate(dump(document))
        assert all(not step.consume for step in compiled(data).steps)


@each_collection
def test_all_of_them_load_from_one_list_as_they_are(documents: list[Sample]) -> None:
    loaded = load_text(json.dumps(documents).encode())
    assert [document.name for document in loaded] == [d["id"] for d in documents]
    assert load_documents({"scenarios": documents}) == loaded
    SCHEMA.validate(documents)


def shapes(value: Any, place: str = "") -> Iterator[str]:
    """Each key with the types that stand there, how many of a list, and what a form says."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from shapes(inner, f"{place}.{key}")
    elif isinstance(value, list):
        yield f"{place}: {min(len(value), 2)} of a list"
        for inner in value:
            yield from shapes(inner, f"{place}[]")
    else:
        said = f" {value}" if place.rpartition(".")[2] in FORMS else ""
        yield f"{place}: {type(value).__name__}{said}"


def shapes_of(documents: list[Sample]) -> set[str]:
    return {shape for document in documents for shape in shapes(document)}


@pytest.mark.parametrize("origin", COLLECTIONS)
def test_ours_have_whatever_the_others_have(origin: str) -> None:
    # Arguments, reports and headers may have any keys.
    own = (".arguments", ".reportContentJson", ".responseBody", ".headers.")
    found = shapes_of(COLLECTIONS[origin]) - shapes_of(TURN_SCRIPTS["ours"])
    assert {shape for shape in found if not any(key in shape for key in own)} == set()


def test_ours_have_every_key_that_a_document_can_have() -> None:
    text = json.dumps(TURN_SCRIPTS["ours"])
    assert {key for key in KEYS if f'"{key}":' not in text} == {"$schema"}


def test_shipped_examples_use_every_kind_of_turn() -> None:
    turns = [turn for document in examples() for turn in document["turns"]]
    assert {turn["response"]["kind"] for turn in turns} == {"tool-call", "final-report", "text"}
    assert any(not document["turns"] for document in examples())
    assert any(turn.get("failureThrows") for turn in turns)
    assert any(turn.get("expectedReasoning") for turn in turns)
