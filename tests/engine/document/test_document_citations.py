"""Citations in a document: their values, their ranges and their errors."""

from typing import Any

import pytest

from scenarios_app.engine.document import compile_scenario, load_documents
from scenarios_app.engine.parts import Citation, TextPart
from scenarios_app.engine.scenario import ScriptedAnswer
from tests.engine.documents import load_error_lines, one_step_scenario

TEXT = "Paris is the capital."


def produce_with_citations(*citations: Any, text: str = TEXT) -> dict[str, Any]:
    return {"parts": [{"text": text, "citations": list(citations)}]}


def compile_citation(**keys: Any) -> Citation:
    (document,) = load_documents(one_step_scenario(produce=produce_with_citations(keys)))
    answer = compile_scenario(document).steps[0].produce.streaming
    assert isinstance(answer, ScriptedAnswer)
    (part,) = answer.choices[0].parts
    assert isinstance(part, TextPart)
    (only,) = part.citations
    return only


def test_citation_of_a_page_has_its_address_title_quote_and_range() -> None:
    keys = {"url": "https://a.example", "title": "A", "quote": "capital", "start": 0, "end": 5}
    expected = Citation("https://a.example", "A", "capital", span=(0, 5), place=(0, 7))
    assert compile_citation(**keys) == expected


def test_citation_of_a_document_has_its_place_in_the_document() -> None:
    keys = {"document": "guide.pdf", "document_index": 1, "file_id": "f", "pages": [2, 3]}
    assert compile_citation(**keys) == Citation(
        document="guide.pdf", document_index=1, file_id="f", unit="pages", place=(2, 3)
    )
    assert compile_citation(document="a", blocks=[0, 1]).unit == "blocks"
    assert compile_citation(document="a", chars=[4, 8]).place == (4, 8)
    assert compile_citation(document="a", quote="four").place == (0, 4)


@pytest.mark.parametrize(
    ("citation", "span"),
    [
        (Citation("u", span=(2, 4)), (2, 4)),
        (Citation("u", cited_text="the"), (9, 12)),
        (Citation("u", cited_text="elsewhere"), (0, 21)),
        (Citation("u"), (0, 21)),
    ],
)
def test_span_is_the_scripted_range_or_the_quote_or_the_whole_text(
    citation: Citation, span: tuple[int, int]
) -> None:
    assert citation.span_in(TEXT) == span


def test_citations_survive_load_and_dump() -> None:
    scripted = produce_with_citations(
        {"document": "a.md", "chars": [0, 3]}, {"url": "u", "start": 0, "end": 3}
    )
    (document,) = load_documents(one_step_scenario(produce=scripted))
    dumped = document.model_dump(by_alias=True, exclude_defaults=True)
    assert dumped["steps"][0]["produce"] == scripted


def test_range_of_a_text_with_templates_is_not_checked() -> None:
    scripted = produce_with_citations(
        {"url": "u", "start": 0, "end": 90}, text="{{ request.model }}"
    )
    assert load_documents(one_step_scenario(produce=scripted))


@pytest.mark.parametrize(
    ("keys", "problem"),
    [
        ({}, ": expected exactly one of url, document"),
        ({"url": "u", "document": "d"}, ": expected exactly one of url, document"),
        ({"url": "u", "cited_text": "x"}, ".cited_text: unknown key, expected one of "),
        ({"url": "u", "start": 1}, ".end: missing: a range has both ends"),
        ({"url": "u", "end": 1}, ".start: missing: a range has both ends"),
        ({"url": "u", "start": 3, "end": 3}, ".end: expected more than 3, the start"),
        ({"url": "u", "start": 3, "end": 22}, ".end: expected at most 21, the length of the text"),
        ({"url": "u", "pages": [1, 2]}, ".pages: belongs to document"),
        ({"url": "u", "file_id": "f"}, ".file_id: belongs to document"),
        (
            {"document": "d", "chars": [0, 1], "pages": [1, 2]},
            ".pages: cannot be combined with chars",
        ),
        ({"document": "d", "pages": [0, 2]}, ".pages: expected pages from 1"),
        ({"document": "d", "blocks": [2, 2]}, ".blocks: expected the end after the start"),
        ({"document": "d", "chars": [1]}, ".chars: expected two whole numbers"),
        ({"document": "d", "chars": [1, 2, 3]}, ".chars: expected two whole numbers"),
    ],
)
def test_invalid_citation_is_rejected_with_its_path(keys: Any, problem: str) -> None:
    (line,) = load_error_lines(one_step_scenario(produce=produce_with_citations(keys)))
    assert line.startswith(f"steps[0].produce.parts[0].citations[0]{problem}")


def test_citations_belong_to_a_text_of_parts() -> None:
    citations = {"citations": [{"url": "u"}]}
    assert load_error_lines(one_step_scenario(produce={"parts": [{"json": 1, **citations}]})) == [
        "steps[0].produce.parts[0].citations: belongs to text"
    ]
    (line,) = load_error_lines(one_step_scenario(produce={"chunks": [{"text": "a", **citations}]}))
    assert line.startswith("steps[0].produce.chunks[0].citations: unknown key")
