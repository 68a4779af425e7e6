"""Turn scripts of this repository, of the requirement and of the product: all of them load."""

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
from tests.engine.turn_scripts import COLLECTIONS, compile_script, each_collection, shipped_scripts
from tests.support.requirement_samples import TURN_SCRIPTS, Sample

SCHEMA = Draft202012Validator(json_schema())
# Keys whose values are separate forms, each of which is read differently.
ENUM_KEYS = {"kind", "reportFormat", "status", "finishReason", "failureStatus", "expectedReasoning"}
SCRIPT_KEYS = {
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
        assert all(not step.consume for step in compile_script(data).steps)


@each_collection
def test_scripts_of_a_collection_load_from_one_list(documents: list[Sample]) -> None:
    documents_of_list = load_text(json.dumps(documents).encode())
    assert [document.name for document in documents_of_list] == [d["id"] for d in documents]
    assert load_documents({"scenarios": documents}) == documents_of_list
    SCHEMA.validate(documents)


def value_shapes(value: Any, place: str = "") -> Iterator[str]:
    """Yield each key with the types of its values, list lengths up to 2, and values of enums."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from value_shapes(inner, f"{place}.{key}")
    elif isinstance(value, list):
        yield f"{place}: {min(len(value), 2)} of a list"
        for inner in value:
            yield from value_shapes(inner, f"{place}[]")
    else:
        enum_value = f" {value}" if place.rpartition(".")[2] in ENUM_KEYS else ""
        yield f"{place}: {type(value).__name__}{enum_value}"


def script_shapes(documents: list[Sample]) -> set[str]:
    return {shape for document in documents for shape in value_shapes(document)}


@pytest.mark.parametrize("origin", COLLECTIONS)
def test_our_scripts_cover_the_shapes_of_the_others(origin: str) -> None:
    # Arguments, reports and headers may have any keys.
    open_fields = (".arguments", ".reportContentJson", ".responseBody", ".headers.")
    missing_shapes = script_shapes(COLLECTIONS[origin]) - script_shapes(TURN_SCRIPTS["ours"])
    assert {
        shape for shape in missing_shapes if not any(key in shape for key in open_fields)
    } == set()


def test_our_scripts_use_every_key() -> None:
    text = json.dumps(TURN_SCRIPTS["ours"])
    assert {key for key in SCRIPT_KEYS if f'"{key}":' not in text} == {"$schema"}


def test_shipped_examples_use_every_kind_of_turn() -> None:
    turns = [turn for document in shipped_scripts() for turn in document["turns"]]
    assert {turn["response"]["kind"] for turn in turns} == {"tool-call", "final-report", "text"}
    assert any(not document["turns"] for document in shipped_scripts())
    assert any(turn.get("failureThrows") for turn in turns)
    assert any(turn.get("expectedReasoning") for turn in turns)
