"""The JSON Schema of scenario documents."""

from typing import Any

import pytest
from jsonschema import Draft202012Validator

from scenarios_app.engine.document import read_schema
from scenarios_app.engine.document.schema_maker import json_schema
from tests.engine.documents import CONTRACT, one_step_scenario

SCHEMA = Draft202012Validator(json_schema())


def test_document_schema_is_valid_in_its_draft() -> None:
    assert json_schema()["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    Draft202012Validator.check_schema(json_schema())


@pytest.mark.parametrize("document", [CONTRACT, {"scenarios": [CONTRACT, {"name": "b"}]}])
def test_valid_document_is_valid_in_the_schema(document: dict[str, Any]) -> None:
    SCHEMA.validate(document)


@pytest.mark.parametrize(
    ("document", "path"),
    [
        ({"steps": []}, "$"),
        ({"name": "a", "prio": 1}, "$"),
        ({"name": "a", "priority": "1"}, "$.priority"),
        ({"scenarios": [{"name": ""}]}, "$.scenarios[0].name"),
        ({"scenarios": [], "name": "a"}, "$"),
        (one_step_scenario(produce={"pacing": {"jitter": 2}}), "$.steps[0].produce.pacing.jitter"),
        (one_step_scenario(match={"model": 5}), "$.steps[0].match.model"),
        (one_step_scenario(side_effects={"status": 100}), "$.steps[0].side_effects.status"),
    ],
)
def test_document_rejected_by_the_loader_is_invalid_in_the_schema(
    document: dict[str, Any], path: str
) -> None:
    assert path in [error.json_path for error in SCHEMA.iter_errors(document)]


def test_every_model_and_key_has_a_description() -> None:
    definitions = json_schema()["$defs"]
    described = {
        name: [
            name,
            *(key for key, value in definition["properties"].items() if "description" in value),
        ]
        for name, definition in definitions.items()
        if "description" in definition and "properties" in definition
    }
    del definitions["JsonValue"]
    assert described == {
        name: [name, *definition["properties"]] for name, definition in definitions.items()
    }


def test_titles_do_not_repeat_keys() -> None:
    assert "title" not in json_schema()["$defs"]["StepDocument"]["properties"]["turn"]


def test_schema_of_the_package_is_valid_and_has_a_valid_example_for_every_key() -> None:
    schema = read_schema("scenario")
    Draft202012Validator.check_schema(schema)
    assert schema["$id"] == "urn:mockllm:schema:scenario:1"
    for name, model in schema["$defs"].items():
        for key, value in model.get("properties", {}).items():
            (example,) = value["examples"]
            validator = Draft202012Validator({**value, "$defs": schema["$defs"]})
            assert validator.is_valid(example), (name, key)
