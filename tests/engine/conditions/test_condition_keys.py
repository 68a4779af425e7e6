"""A condition's key may be any word, including the names of pydantic's own attributes."""

from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from scenarios_app.builder import openai, scenario
from scenarios_app.builder.conditions import Conditions, methods_of
from scenarios_app.engine.canonical import Json
from scenarios_app.engine.conditions.base import Condition, builder_value
from scenarios_app.engine.conditions.match import CONDITION_KINDS
from scenarios_app.engine.conditions.subjects import RequestReader
from scenarios_app.engine.document import (
    DocumentError,
    compile_scenario,
    dump,
    load_documents,
    load_match,
)
from scenarios_app.engine.document.schema_maker import json_schema
from scenarios_app.engine.shapes.fields import SomeText
from tests.engine.match_builders import chat_request, match_request

KEYS = (
    "json",
    "schema",
    "copy",
    "model_config",
    "model_dump",
    "kinds",
    "compile",
    "find_key_problems",
)


@dataclass(frozen=True, slots=True)
class MetadataIsCondition(Condition):
    """A fake: the request's metadata has this text under the condition's key."""

    shape = SomeText | None
    meaning = "The text of the entry."

    text: str

    @classmethod
    def compile(cls, value: str | None, field: str) -> Iterator[Condition]:
        if value is not None:
            yield cls(field, value)

    @classmethod
    def phrases(cls, value: Json) -> Iterator[str]:
        yield f"{cls.key} {value}"

    @property
    def expected(self) -> str:
        return self.text

    def holds(self, reader: RequestReader) -> bool:
        return reader.request.metadata.get(self.key) == self.text

    def actual(self, reader: RequestReader) -> str:
        return reader.request.metadata.get(self.key, "nothing")


def fake_kind(key: str) -> type[Condition]:
    method = builder_value(staticmethod(lambda value: value))
    names = {"key": key, f"with_the_{key}": method, "__slots__": ()}
    return type(f"Fake{key.title()}Condition", (MetadataIsCondition,), names)


@pytest.fixture(autouse=True)
def fakes() -> Iterator[None]:
    """Register a fake condition for each key, and remove them afterwards."""
    built_in_kinds = tuple(CONDITION_KINDS)
    CONDITION_KINDS.extend(map(fake_kind, KEYS))
    yield
    CONDITION_KINDS[:] = built_in_kinds


@pytest.mark.parametrize("key", KEYS)
def test_condition_with_a_pydantic_name_as_key_is_matched(key: str) -> None:
    match = load_match({key: "x"})
    assert match_request(match, chat_request(metadata={key: "x"})).matched
    mismatch_result = match_request(match, chat_request(metadata={key: "y"}))
    assert [(m.field, m.expected, m.actual) for m in mismatch_result.mismatches] == [
        (f"match.{key}", "x", "y")
    ]


def test_document_with_pydantic_names_as_keys_is_dumped_as_loaded() -> None:
    match = dict.fromkeys(KEYS, "x")
    document = {"name": "a", "steps": [{"match": match, "produce": {"text": "hi"}}]}
    (loaded_document,) = load_documents(document)
    assert dump(loaded_document) == document
    assert len(compile_scenario(loaded_document).steps[0].match.conditions) == len(KEYS)


@pytest.mark.parametrize("key", KEYS)
def test_invalid_value_of_a_key_with_a_pydantic_name_is_rejected_with_its_path(key: str) -> None:
    with pytest.raises(DocumentError) as error:
        load_match({key: 5})
    assert str(error.value) == f"match.{key}: expected a string of at least one character"


def test_misspelt_key_is_rejected_with_the_nearest_one() -> None:
    with pytest.raises(DocumentError) as error:
        load_match({"match_json": "x", "schemas": "x"})
    assert error.value.problems[1].message == 'unknown key, did you mean "schema"?'
    assert error.value.problems[0].message.startswith("unknown key, ")


def test_json_schema_lists_keys_with_pydantic_names() -> None:
    properties = json_schema()["$defs"]["MatchDocument"]["properties"]
    assert properties.keys() >= {*KEYS, "model", "messages"}
    assert properties["json"]["description"] == "The text of the entry."


def test_builder_sets_a_key_with_a_pydantic_name(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, method in methods_of(fake_kind("json")):
        monkeypatch.setattr(Conditions, name, method, raising=False)
    draft = scenario("a").expect(openai()).with_the_json("x").then().respond_with_text("hi")
    assert draft.build()["steps"][0]["match"]["json"] == "x"
