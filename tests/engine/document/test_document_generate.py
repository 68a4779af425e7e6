"""`generate` in scenario documents: valid values and combinations with other keys."""

import pytest
from jsonschema import Draft202012Validator

from scenarios_app.builder import scenario
from scenarios_app.engine.canonical import Json
from scenarios_app.engine.document import DocumentError, dump, load_documents
from scenarios_app.engine.document.schema_maker import json_schema

LOREM: Json = {"kind": "lorem"}


def document_producing(**produce: Json) -> dict[str, Json]:
    return {"name": "s", "steps": [{"produce": produce}]}


@pytest.mark.parametrize(
    ("produce", "error_line"),
    [
        ({"generate": {}}, "generate.kind: missing"),
        ({"generate": "lorem"}, "generate: expected an object"),
        ({"generate": {"kind": "ipsum"}}, "generate.kind: expected lorem or auto"),
        ({"generate": {"kind": 5}}, "generate.kind: expected lorem or auto"),
        (
            {"generate": {"kind": "lorem", "words": 5}},
            "generate.words: unknown key, expected one of kind",
        ),
        ({"generate": LOREM, "text": "x"}, "generate: cannot be combined with text"),
        ({"generate": LOREM, "raw": {}}, "generate: cannot be combined with raw"),
        (
            {"generate": LOREM, "finish_reason": "length"},
            "finish_reason: cannot be combined with generate",
        ),
        (
            {"generate": LOREM, "fault": {"kind": "timeout"}},
            "generate: a fault of kind timeout cannot be combined with an answer",
        ),
    ],
)
def test_invalid_generate_is_rejected_with_its_path(
    produce: dict[str, Json], error_line: str
) -> None:
    with pytest.raises(DocumentError) as error:
        load_documents(document_producing(**produce))
    assert str(error.value) == f"steps[0].produce.{error_line}"


@pytest.mark.parametrize(
    "produce",
    [
        {"generate": LOREM},
        {"generate": {"kind": "auto"}},
        {"generate": LOREM, "usage": {"input_tokens": 1}, "latency_ms": 5},
        {"generate": LOREM, "fault": {"kind": "truncate", "after_chunks": 2}},
        {"streaming": {"generate": LOREM}, "non_streaming": {"text": "x"}},
    ],
)
def test_generated_answer_is_loaded_dumped_and_valid(produce: dict[str, Json]) -> None:
    source = document_producing(**produce)
    (loaded_document,) = load_documents(source)
    assert dump(loaded_document) == source
    Draft202012Validator(json_schema()).validate(source)


def test_unknown_kind_is_invalid_in_the_schema() -> None:
    source = document_producing(generate={"kind": "ipsum"})
    assert not Draft202012Validator(json_schema()).is_valid(source)


def test_builder_generates_lorem() -> None:
    draft = scenario("s").expect().with_model("gpt-4o").respond_with_lorem().as_stream(first_ms=5)
    assert draft.build()["steps"] == [
        {
            "match": {"model": "gpt-4o"},
            "produce": {"generate": LOREM, "pacing": {"first_ms": 5}},
        }
    ]
