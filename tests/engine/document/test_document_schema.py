"""The JSON Schema of scenario documents, as editors and other programs use it."""

from typing import Any

import pytest
from jsonschema import Draft202012Validator

from scenarios_app.engine.document import read_schema
from scenarios_app.engine.document.schema_maker import json_schema
from tests.engine.documents import CONTRACT, one_step

SCHEMA = Draft202012Validator(json_schema())


def test_document_schema_is_valid_in_its_draft() -> None:
    assert json_schema()["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    Draft202012Validator.check_schema(json_schema())


@pytest.mark.parametrize("document", [CONTRACT, {"scenarios": [CONTRACT, {"name": "b"}]}])
def test_documents_fit(document: dict[str, Any]) -> None:
    SCHEMA.validate(document)


@pytest.mark.parametrize(
    ("document", "path"),
    [
        ({"steps": []}, "$"),
        ({"name": "a", "prio": 1}, "$"),
        ({"name": "a", "priority": "1"}, "$.priority"),
        ({"scenarios": [{"name": ""}]}, "$.scenarios[0].name"),
        ({"scenarios": [], "name": "a"}, "$"),
        (one_step(produce={"pacing": {"jitter": 2}}), "$.steps[0].produce.pacing.jitter"),
        (one_step(match={"model": 5}), "$.steps[0].match.model"),
        (one_step(side_effects={"status": 100}), "$.steps[0].side_effects.status"),
    ],
)
def test_document_rejected_by_the_loader_is_invalid_in_the_schema(
    document: dict[str, Any], path: str
) -> None:
    assert path in [error.json_path for error in SCHEMA.iter_errors(document)]


def test_every_model_and_key_says_what_it_means() -> None:
    definitions = json_schema()["$defs"]
    described = {
        name: [name, *(key for key, value in one["properties"].items() if "description" in value)]
        for name, one in definitions.items()
        if "description" in one and "properties" in one
    }
    del definitions["JsonValue"]
    assert described == {name: [name, *one["properties"]] for name, one in definitions.items()}


def test_titles_do_not_repeat_keys() -> None:
    assert "title" not in json_schema()["$defs"]["StepDocument"]["properties"]["turn"]


def test_schema_of_the_package_is_valid_and_has_a_valid_example_for_every_key() -> None:
    schema = read_schema("scenario")
    Draft202012Validator.check_schema(schema)
    assert schema["$id"] == "urn:mockllm:schema:scenario:1"
    for name, model in schema["$defs"].items():
        for key, value in model.get("properties", {}).items():
            (example,) = value["examples"]
            checked = Draft202012Validator({**value, "$defs": schema["$defs"]})
            assert checked.is_valid(example), (name, key)
