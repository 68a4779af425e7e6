"""A condition's key may be any word, including the names of pydantic's own attributes."""

from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from scenarios_app.builder import openai, scenario
from scenarios_app.engine.canonical import Json
from scenarios_app.engine.conditions.base import Condition
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
from tests.engine.asking import ask, match_request

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


def kind_of(key: str) -> type[Condition]:
    names = {"key": key, "keyword": f"with_the_{key}", "__slots__": ()}
    return type(f"Fake{key.title()}Condition", (MetadataIsCondition,), names)


@pytest.fixture(autouse=True)
def fakes() -> Iterator[None]:
    built_in = tuple(CONDITION_KINDS)
    CONDITION_KINDS.extend(map(kind_of, KEYS))
    yield
    CONDITION_KINDS[:] = built_in


@pytest.mark.parametrize("key", KEYS)
def test_condition_with_a_pydantic_name_as_key_is_matched(key: str) -> None:
    match = load_match({key: "x"})
    assert match_request(match, ask(metadata={key: "x"})).matched
    missed = match_request(match, ask(metadata={key: "y"}))
    assert [(m.field, m.expected, m.actual) for m in missed.mismatches] == [
        (f"match.{key}", "x", "y")
    ]


def test_document_with_such_keys_is_dumped_as_it_was_loaded() -> None:
    match = dict.fromkeys(KEYS, "x")
    document = {"name": "a", "steps": [{"match": match, "produce": {"text": "hi"}}]}
    (loaded,) = load_documents(document)
    assert dump(loaded) == document
    assert len(compile_scenario(loaded).steps[0].match.conditions) == len(KEYS)


@pytest.mark.parametrize("key", KEYS)
def test_invalid_value_of_such_a_key_is_rejected_with_its_path(key: str) -> None:
    with pytest.raises(DocumentError) as error:
        load_match({key: 5})
    assert str(error.value) == f"match.{key}: expected a string of at least one character"


def test_misspelt_key_is_rejected_with_the_nearest_one() -> None:
    with pytest.raises(DocumentError) as error:
        load_match({"match_json": "x", "schemas": "x"})
    assert error.value.problems[1].message == 'unknown key, did you mean "schema"?'
    assert error.value.problems[0].message.startswith("unknown key, ")


def test_json_schema_lists_such_keys() -> None:
    properties = json_schema()["$defs"]["MatchDocument"]["properties"]
    assert properties.keys() >= {*KEYS, "model", "messages"}
    assert properties["json"]["description"] == "The text of the entry."


def test_builder_sets_such_a_key_by_its_keyword() -> None:
    draft = scenario("a").expect(openai()).with_the_json("x").then().respond_with_text("hi")  # type: ignore[attr-defined]
    assert draft.build()["steps"][0]["match"]["json"] == "x"
