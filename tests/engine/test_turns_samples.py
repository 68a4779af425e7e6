"""The requirement's real documents, and those that come with the product: all of them load."""

import json

import pytest
from jsonschema import Draft202012Validator

from scenarios_app.engine.document import dump, json_schema, load_documents, load_text
from tests.engine.turn_scripts import compiled, examples, samples

SCHEMA = Draft202012Validator(json_schema())


@pytest.mark.parametrize("several", [samples, examples])
def test_scenario_loading(several: object) -> None:
    assert callable(several)
    for data in several():
        (document,) = load_documents(data)
        assert (document.name, document.select) == (data["id"], "first_user_message")
        assert [step.turn for step in document.steps] == [t["turn"] for t in data["turns"]]
        assert load_documents(dump(document)) == [document]
        SCHEMA.validate(data)
        SCHEMA.validate(dump(document))
        assert all(not step.consume for step in compiled(data).steps)


def test_all_real_documents_load_from_one_list_as_they_are() -> None:
    data = samples()
    assert len(data) == 24
    loaded = load_text(json.dumps(data).encode())
    assert [document.name for document in loaded] == [d["id"] for d in data]
    assert load_documents({"scenarios": data}) == loaded
    SCHEMA.validate(data)


def test_what_the_product_ships_has_every_kind_of_turn() -> None:
    turns = [turn for document in examples() for turn in document["turns"]]
    assert {turn["response"]["kind"] for turn in turns} == {"tool-call", "final-report", "text"}
    assert any(not document["turns"] for document in examples())
    assert any(turn.get("failureThrows") for turn in turns)
    assert any(turn.get("expectedReasoning") for turn in turns)
