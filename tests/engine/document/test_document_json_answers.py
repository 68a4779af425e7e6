"""JSON answers: their text, their stream, and their errors."""

import json
from typing import Any

import pytest

from scenarios_app.engine.canonical import CanonicalResponse
from scenarios_app.engine.document import compile_scenario, load_documents
from scenarios_app.engine.parts import TextPart
from scenarios_app.engine.producing.plan import deltas_of
from scenarios_app.engine.producing.produce import make_seed, produce
from tests.engine.documents import load_error_lines, one_step_scenario
from tests.engine.match_builders import chat_request, text_message


def produce_text(answer: dict[str, Any], **variables: Any) -> TextPart:
    """Return the first part of the answer of a step with this `produce`."""
    (document,) = load_documents(one_step_scenario(produce=answer) | {"variables": variables})
    scenario = compile_scenario(document)
    response = produce(
        scenario,
        scenario.steps[0],
        chat_request(text_message("Hello")),
        seed=make_seed("s", "POST", "/", b"", 1),
        created=0,
        tool_call_prefix="call_",
        groups={},
    )
    assert isinstance(response, CanonicalResponse)
    part = response.choices[0].parts[0]
    assert isinstance(part, TextPart)
    return part


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ({"b": 1, "a": ["ü", None, 0.5]}, '{"b":1,"a":["ü",null,0.5]}'),
        ({}, "{}"),
        ([], "[]"),
        (False, "false"),
        ("plain", '"plain"'),
        (0, "0"),
    ],
)
@pytest.mark.parametrize("form", ["produce", "parts", "choices"])
def test_json_answer_is_the_compact_text_of_its_value(form: str, value: Any, text: str) -> None:
    answer: dict[str, Any] = {"json": value}
    assert produce_text(answer if form == "produce" else {form: [answer]}).text == text


def test_value_of_a_template_is_escaped_in_a_json_answer() -> None:
    part = produce_text({"json": {"said": "{{ quote }}"}}, quote='She said "no"\n')
    assert json.loads(part.text) == {"said": 'She said "no"\n'}


def test_json_answer_streams_in_several_pieces() -> None:
    part = produce_text({"json": {"city": "Paris", "temperature": 21}})
    pieces = list(deltas_of(part, 1))
    assert len(pieces) > 2
    assert "".join(pieces) == part.text
    assert list(deltas_of(TextPart(part.text), 1)) == [part.text]


def test_json_answer_survives_load_and_dump() -> None:
    (document,) = load_documents(one_step_scenario(produce={"json": {"a": []}}))
    dumped = document.model_dump(by_alias=True, exclude_defaults=True)
    assert dumped["steps"][0]["produce"] == {"json": {"a": []}}


@pytest.mark.parametrize(
    ("answer", "problem"),
    [
        ({"json": None}, ': says nothing: give it an answer (text "" for an empty one)'),
        ({"text": "a", "json": 1}, ".json: cannot be combined with text: write both into parts"),
        ({"json": 1, "chunks": ["a"]}, ".chunks: cannot be combined with json"),
        (
            {"parts": [{"text": "a", "json": 1}]},
            ".parts[0]: expected exactly one of text, reasoning, tool_call, refusal, json, "
            "hosted_tool",
        ),
        (
            {"chunks": [{"json": 1}]},
            ".chunks[0].json: unknown key, expected one of text, reasoning, signature, redacted, "
            "tool_call, refusal",
        ),
        ({"json": {"a": ["{{ town }}"]}}, ".json: unknown name in {{ town }}"),
    ],
)
def test_invalid_json_answer_is_rejected_with_its_path(
    answer: dict[str, Any], problem: str
) -> None:
    assert load_error_lines(one_step_scenario(produce=answer)) == [f"steps[0].produce{problem}"]
