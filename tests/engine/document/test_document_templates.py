"""Unknown names in templates are errors of the document."""

from typing import Any

import pytest

from scenarios_app.engine.document import load_documents
from tests.engine.documents import load_error_lines, one_step_scenario

TEMPLATES: list[tuple[dict[str, Any], str]] = [
    ({"text": "{{ cty }}"}, ".text: unknown name in {{ cty }}"),
    ({"text": "{{ city.name }}"}, ".text: unknown name in {{ city.name }}"),
    ({"text": "{{ match.team }}"}, ".text: unknown name in {{ match.team }}"),
    ({"text": "{{ request.body }}"}, ".text: unknown name in {{ request.body }}"),
    ({"reasoning": "{{ x }}"}, ".reasoning: unknown name in {{ x }}"),
    (
        {"reasoning": [{"text": "{{ x }}", "signature": "{{ y }}"}]},
        ".reasoning[0].text: unknown name in {{ x }}",
    ),
    ({"refusal": "{{ x }}"}, ".refusal: unknown name in {{ x }}"),
    ({"tool_calls": [{"name": "{{ x }}"}]}, ".tool_calls[0].name: unknown name in {{ x }}"),
    (
        {"tool_calls": [{"name": "f", "arguments": {"a": [{"{{ x }}": 1}]}}]},
        ".tool_calls[0].arguments: unknown name in {{ x }}",
    ),
    ({"parts": [{"text": "{{ x }}"}]}, ".parts[0].text: unknown name in {{ x }}"),
    (
        {"parts": [{"tool_call": {"name": "f", "arguments": "{{ x }}"}}]},
        ".parts[0].tool_call.arguments: unknown name in {{ x }}",
    ),
    ({"chunks": ["a", "{{ x }}"]}, ".chunks[1]: unknown name in {{ x }}"),
    ({"choices": [{"text": "{{ x }}"}]}, ".choices[0].text: unknown name in {{ x }}"),
    ({"streaming": {"text": "{{ x }}"}}, ".streaming.text: unknown name in {{ x }}"),
    ({"chunks": ["{{ ci", "ty }}"]}, ".chunks: {{ city }} is split by the end of a chunk"),
    (
        {"non_streaming": {"chunks": ["{{ city", " }}"]}},
        ".non_streaming.chunks: {{ city }} is split by the end of a chunk",
    ),
    (
        {
            "chunks": [
                {"tool_call": {"name": "f", "arguments": "{{ "}},
                {"tool_call": {"index": 0, "arguments": "city }}"}},
            ]
        },
        ".chunks: {{ city }} is split by the end of a chunk",
    ),
]


@pytest.mark.parametrize(("produce", "line"), TEMPLATES)
def test_unknown_name_in_a_template_is_rejected_with_its_path(
    produce: dict[str, Any], line: str
) -> None:
    document = one_step_scenario(produce=produce) | {"variables": {"city": "Paris"}}
    assert load_error_lines(document) == [f"steps[0].produce{line}"]


def test_templates_may_name_variables_request_fields_and_named_groups() -> None:
    document = one_step_scenario(
        match={"messages": [{"role": "user", "regex": "in (?P<city>.+)"}]},
        produce={
            "text": "{{ user.name }} {{ match.city }} {{ request.turn }} {{ not a name }}",
        },
    )
    assert load_documents(document | {"variables": {"user": {"name": "Ann"}}})


def test_braces_in_raw_answers_and_ids_are_no_templates() -> None:
    assert load_documents(one_step_scenario(produce={"raw": {"body": "{{ x }}"}}))
    call = {"id": "{{ x }}", "name": "f"}
    assert load_documents(one_step_scenario(produce={"tool_calls": [call]}))
