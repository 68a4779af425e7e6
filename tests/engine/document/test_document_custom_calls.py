"""Scripted calls of custom tools: documents, their errors and compilation."""

from typing import Any

import pytest

from scenarios_app.engine.document import compile_scenario, dump, load_documents
from scenarios_app.engine.parts import Chunk, ToolCallPart
from scenarios_app.engine.scenario import ScriptedAnswer, ScriptedChoice
from tests.engine.documents import load_error_lines, one_step_scenario

EXEC = {"name": "exec", "input": "ls {{ folder }}", "namespace": "functions"}
PART = ToolCallPart("", "exec", "ls {{ folder }}", custom=True, namespace="functions")
NOT_BOTH = "cannot be combined with arguments: a custom tool takes input, a function arguments"


def document_with_folder(produce: Any) -> dict[str, Any]:
    return {**one_step_scenario(produce=produce), "variables": {"folder": "src"}}


def compile_choice(produce: Any) -> ScriptedChoice:
    (loaded_document,) = load_documents(document_with_folder(produce))
    answer = compile_scenario(loaded_document).steps[0].produce.streaming
    assert isinstance(answer, ScriptedAnswer)
    return answer.choices[0]


@pytest.mark.parametrize("produce", [{"tool_calls": [EXEC]}, {"parts": [{"tool_call": EXEC}]}])
def test_scripted_input_is_a_custom_call(produce: Any) -> None:
    assert compile_choice(produce).parts == (PART,)
    (loaded_document,) = load_documents(document_with_folder(produce))
    assert dump(loaded_document)["steps"][0]["produce"] == produce


def test_empty_input_is_an_input() -> None:
    (part,) = compile_choice({"tool_calls": [{"name": "stop", "input": ""}]}).parts
    assert part == ToolCallPart("", "stop", "", custom=True)


def test_function_can_have_a_namespace() -> None:
    call = {"name": "wait", "arguments": {"ms": 1}, "namespace": "functions"}
    (part,) = compile_choice({"tool_calls": [call]}).parts
    assert part == ToolCallPart("", "wait", '{"ms":1}', namespace="functions")


def test_pieces_of_an_input_are_joined() -> None:
    pieces = [
        {"tool_call": {"name": "exec", "namespace": "functions", "input": "ls "}},
        {"tool_call": {"index": 0, "input": "-l"}},
    ]
    choice_of_pieces = compile_choice({"chunks": pieces})
    assert choice_of_pieces.parts == (
        ToolCallPart("", "exec", "ls -l", custom=True, namespace="functions"),
    )
    assert choice_of_pieces.chunks == (Chunk(0, "ls "), Chunk(0, "-l"))


@pytest.mark.parametrize("arguments", [{}, {"a": 1}, "ls"])
def test_input_beside_arguments_is_an_error(arguments: Any) -> None:
    call = {"name": "exec", "input": "ls", "arguments": arguments}
    place = "steps[0].produce.tool_calls[0].input"
    assert load_error_lines(one_step_scenario(produce={"tool_calls": [call]})) == [
        f"{place}: {NOT_BOTH}"
    ]


def test_unknown_name_in_an_input_is_an_error_at_its_place() -> None:
    produce = {"tool_calls": [{"name": "exec", "input": "ls {{ nowhere }}"}]}
    assert load_error_lines(one_step_scenario(produce=produce)) == [
        "steps[0].produce.tool_calls[0].input: unknown name in {{ nowhere }}"
    ]


@pytest.mark.parametrize(
    ("piece", "line"),
    [
        ({"index": 0, "arguments": "x"}, ".arguments: the call's first piece has no arguments"),
        ({"index": 0}, ".input: expected a string: a piece of the input"),
        (
            {"index": 0, "input": "x", "namespace": "n"},
            ".namespace: belongs to the first piece of a call",
        ),
        ({"name": "g", "input": "x", "arguments": "x"}, f".input: {NOT_BOTH}"),
    ],
)
def test_wrong_piece_of_an_input_is_an_error(piece: Any, line: str) -> None:
    chunks = [{"tool_call": {"name": "exec", "input": "ls"}}, {"tool_call": piece}]
    place = "steps[0].produce.chunks[1].tool_call"
    assert load_error_lines(one_step_scenario(produce={"chunks": chunks})) == [f"{place}{line}"]


def test_input_cannot_continue_with_arguments() -> None:
    chunks = [
        {"tool_call": {"name": "f", "arguments": "{"}},
        {"tool_call": {"index": 0, "input": "}"}},
    ]
    assert load_error_lines(one_step_scenario(produce={"chunks": chunks})) == [
        "steps[0].produce.chunks[1].tool_call.input: the call's first piece has no input"
    ]
