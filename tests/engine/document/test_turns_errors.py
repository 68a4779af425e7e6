"""Error messages for invalid turn scripts: each has the path in the script."""

from typing import Any

import pytest

from scenarios_app.engine.document import (
    DocumentError,
    DocumentLimits,
    dump,
    load_documents,
    load_text,
)
from scenarios_app.engine.document.files import read_files
from tests.engine.turn_scripts import (
    final_report_response,
    script,
    text_response,
    tool_call_response,
    turn,
)


def error_lines(document: object, **options: Any) -> list[str]:
    with pytest.raises(DocumentError) as error:
        load_documents(document, **options)
    return str(error.value).splitlines()


COUNT_RANGE = "from 0 to 2147483647"
NAME_EXPECTED = "expected 1 to 200 printable characters without spaces around them"
INVALID_DOCUMENTS: list[tuple[object, str]] = [
    ({"id": "a"}, "turns: missing"),
    ({"turns": []}, "id: missing"),
    ({"id": " a", "turns": []}, f"id: {NAME_EXPECTED}"),
    ({"id": 7, "turns": []}, f"id: {NAME_EXPECTED}"),
    ({"id": "a", "turns": {}}, "turns: expected a list"),
    ({"id": "a", "turns": [None]}, "turns[0]: expected an object"),
    ({"id": "a", "turns": [], "description": 5}, "description: expected a string"),
    (
        {"id": "a", "turns": [], "systemPromptMustInclude": "x"},
        "systemPromptMustInclude: expected a list",
    ),
    (
        {"id": "a", "turns": [], "systemPromptMustInclude": ["x", 5]},
        "systemPromptMustInclude[1]: expected a string",
    ),
    (
        {"id": "a", "turns": [], "systemPromptMustinclude": []},
        'systemPromptMustinclude: unknown key, did you mean "systemPromptMustInclude"?',
    ),
    (
        {"id": "a", "turns": [], "enabled": True},
        "enabled: unknown key, expected one of $schema, id, description, systemPromptMustInclude, "
        "turns",
    ),
    ([{"id": "a", "turns": [{}, None]}], "[0].turns[0].turn: missing"),
    (
        {"id": "a", "turns": [turn(number=3.5)]},
        "turns[0].turn: expected a whole number from 1 to 2147483647",
    ),
    (
        {"id": "a", "turns": [turn(number=1.0, failuresBeforeSuccess=0.5)]},
        f"turns[0].failuresBeforeSuccess: expected a whole number {COUNT_RANGE}",
    ),
    (
        {"scenarios": [{"name": "b"}, {"id": "a", "turns": [{"turn": 0}]}]},
        "scenarios[1].turns[0].turn: expected a whole number from 1 to 2147483647",
    ),
]


@pytest.mark.parametrize(("document", "line"), INVALID_DOCUMENTS)
def test_invalid_document_is_rejected_with_its_path(document: object, line: str) -> None:
    assert error_lines(document)[0] == line


INVALID_TURNS: list[tuple[dict[str, Any], str]] = [
    ({"turn": 1}, "response: missing"),
    (turn(number=0), "turn: expected a whole number from 1 to 2147483647"),
    (turn(expectedTools="a"), "expectedTools: expected a list"),
    (turn(expectedTools=[""]), "expectedTools[0]: expected a string of at least one character"),
    (turn(allowMissingTools="yes"), "allowMissingTools: expected true or false"),
    (turn(expectedTemperature="1"), "expectedTemperature: expected a number"),
    (turn(expectedTopP=[]), "expectedTopP: expected a number"),
    (turn(expectedReasoning="on"), "expectedReasoning: expected enabled or disabled"),
    (
        turn(failuresBeforeSuccess=-1),
        f"failuresBeforeSuccess: expected a whole number {COUNT_RANGE}",
    ),
    (
        turn(failuresBeforeSuccess=1.5),
        f"failuresBeforeSuccess: expected a whole number {COUNT_RANGE}",
    ),
    (turn(failureThrows=1), "failureThrows: expected true or false"),
    (turn(failureStatus=500), "failureStatus: expected a string"),
    (turn(failureMessage={}), "failureMessage: expected a string"),
    (turn(failureRetryable="no"), "failureRetryable: expected true or false"),
    (turn(failureRetryAfterMs="5"), f"failureRetryAfterMs: expected a whole number {COUNT_RANGE}"),
    (turn(failureError="boom"), "failureError: expected an object"),
    (
        turn(failureError={"status": 700}),
        "failureError.status: expected an HTTP status from 200 to 599",
    ),
    (
        turn(failureError={"status": "429"}),
        "failureError.status: expected an HTTP status from 200 to 599",
    ),
    (
        turn(failureError={"status": 204}),
        "failureError.status: an error has a body, and 204 and 304 have none",
    ),
    (turn(failureError={"headers": []}), "failureError.headers: expected an object"),
    (
        turn(failureError={"headers": {"x-a": True}}),
        "failureError.headers.x-a: expected printable latin-1 without spaces around it",
    ),
    (
        turn(failureError={"headers": {"Content-Length": 5}}),
        "failureError.headers.Content-Length: this header is the connection's own",
    ),
    (turn(expectedTool=[]), 'expectedTool: unknown key, did you mean "expectedTools"?'),
]


@pytest.mark.parametrize(("turn", "line"), INVALID_TURNS)
def test_invalid_turn_is_rejected_with_its_path(turn: dict[str, Any], line: str) -> None:
    assert error_lines(script(turn)) == [f"turns[0].{line}"]


INVALID_RESPONSES: list[tuple[Any, str]] = [
    (None, ": expected an object"),
    ({}, ".kind: missing"),
    ({"kind": "toolCall"}, '.kind: "toolCall" is unknown, did you mean "tool-call"?'),
    ({"kind": "x"}, ".kind: expected tool-call, final-report or text"),
    ({"kind": "text"}, ".assistantText: missing"),
    ({"kind": "tool-call"}, ".toolCalls: missing"),
    ({"kind": "final-report"}, ".reportContent: missing"),
    (text_response("a", toolCalls=[]), ".toolCalls: does not belong to a response of kind text"),
    (tool_call_response(status="x"), ".status: does not belong to a response of kind tool-call"),
    (
        text_response("a", reportContentJson=[]),
        ".reportContentJson: does not belong to a response of kind text",
    ),
    (text_response("a", finishReason=5), ".finishReason: expected a string"),
    (text_response("a", reasoning="Hm."), ".reasoning: expected a list"),
    (text_response("a", reasoning=["Hm."]), ".reasoning[0]: expected an object"),
    (text_response("a", reasoning=[{"type": "reasoning"}]), ".reasoning[0].text: missing"),
    (text_response("a", reasoningContent=5), ".reasoningContent: expected a string or an object"),
    (text_response("a", reasoningContent={"text": 5}), ".reasoningContent.text: expected a string"),
    (
        text_response("a", reasoningContent=["a", {"text": "b", "providerMetadata": []}]),
        ".reasoningContent[1].providerMetadata: expected an object",
    ),
    (text_response("a", providerMetadata="x"), ".providerMetadata: expected an object"),
    (text_response("a", tokenUsage=5), ".tokenUsage: expected an object"),
    (
        text_response("a", tokenUsage={"inputTokens": -1}),
        f".tokenUsage.inputTokens: expected a whole number {COUNT_RANGE}",
    ),
    (
        text_response("a", tokenUsage={"inputToken": 1}),
        '.tokenUsage.inputToken: unknown key, did you mean "inputTokens"?',
    ),
    (tool_call_response({"arguments": {}}), ".toolCalls[0].toolName: missing"),
    (
        tool_call_response({"toolName": "a"}, {"toolName": ""}),
        ".toolCalls[1].toolName: expected a string of at least one character",
    ),
    (
        tool_call_response({"toolName": "a"}, {"toolName": "b", "callId": 5}),
        ".toolCalls[1].callId: expected a string of at least one character",
    ),
    (
        tool_call_response({"toolName": "a", "argument": {}}),
        '.toolCalls[0].argument: unknown key, did you mean "arguments"?',
    ),
    (final_report_response("a", reportFormat=5), ".reportFormat: expected a string"),
]


@pytest.mark.parametrize(("response", "line"), INVALID_RESPONSES)
def test_invalid_response_is_rejected_with_its_path(response: Any, line: str) -> None:
    assert error_lines(script({"turn": 1, "response": response})) == [f"turns[0].response{line}"]


def test_all_problems_of_a_script_are_reported_together() -> None:
    invalid_script = script(
        {"turn": "1", "response": text_response("a", kind=5)}, {"turn": 2}, id=""
    )
    assert error_lines(invalid_script) == [
        f"id: {NAME_EXPECTED}",
        "turns[0].turn: expected a whole number from 1 to 2147483647",
        "turns[0].response.kind: expected tool-call, final-report or text",
        "turns[1].response: missing",
    ]


@pytest.mark.parametrize(
    ("place", "document"),
    [
        ("", script(turn(), turn())),
        ("[1].", [{"name": "b"}, script(turn(), turn())]),
        ("scenarios[0].", {"scenarios": [script(turn(), turn())]}),
    ],
)
def test_repeated_turn_is_rejected_with_its_own_message(place: str, document: object) -> None:
    assert error_lines(document) == [f"{place}turns[1].turn: another step has turn 1"]


def test_exceeded_limits_are_reported_with_paths_of_the_script() -> None:
    document = script(
        turn(text_response("x" * 30)), turn(text_response("y"), 2, failuresBeforeSuccess=1)
    )
    limits = DocumentLimits(text_bytes=29, latency_ms=10)
    assert error_lines(document, limits=limits) == [
        "turns[0].response: holds 30 bytes of text, expected at most 29",
        "turns[1]: expected at most 10 milliseconds",
    ]


def test_contradiction_with_a_document_in_turns_is_rejected() -> None:
    documents = [
        script(turn(), description="one"),
        {"name": "script", "select": "match", "description": "two"},
        script(description="three"),
    ]
    assert error_lines(documents) == [
        '[1].description: "two" differs from "one" in [0]',
        '[1].select: "match" differs from "first_user_message" in [0]',
        '[2].description: "three" differs from "one" in [0]',
    ]
    assert error_lines([{"name": "script", "select": "match"}, script()]) == [
        '[1]: "first_user_message" differs from "match" in [0]'
    ]


def test_scripts_of_the_same_id_are_merged() -> None:
    (merged,) = load_documents(
        [script(turn(text_response("one"))), script(turn(text_response("two"), 2))]
    )
    assert [step.turn for step in merged.steps] == [1, 2]


def nested_object(depth: int) -> Any:
    return {"a": nested_object(depth - 1)} if depth else "core"


def test_deeply_nested_turns_can_be_dumped_and_loaded_again() -> None:
    call = {"toolName": "f", "assistantText": "a"}
    (document,) = load_documents(
        script(turn(tool_call_response({**call, "arguments": nested_object(58)})))
    )
    assert load_documents(dump(document)) == [document]
    too_deep = script(turn(), turn(tool_call_response({**call, "arguments": nested_object(59)}), 2))
    assert error_lines(too_deep) == [
        "turns[1]: nested too deeply: a step is deeper than 64 levels then"
    ]


@pytest.mark.parametrize(
    ("document", "line"),
    [
        ({"name": "a", "id": "b"}, "id: unknown key"),
        ({"id": "b", "steps": []}, "name: missing"),
        ({"name": "a", "steps": [], "turns": []}, "id: missing"),
        ([], "expected an object"),
        ([[]], "[0]: expected an object"),
        ({"scenarios": [5]}, "scenarios[0]: expected an object"),
    ],
)
def test_errors_are_those_of_the_format_that_the_keys_indicate(document: object, line: str) -> None:
    assert error_lines(document)[0].startswith(line)


def test_error_in_a_file_begins_with_file_and_position(tmp_path: Any) -> None:
    file = tmp_path / "turns.json"
    file.write_text('[{"id": "a", "turns": [{"turn": 1}]}]')
    with pytest.raises(DocumentError) as error:
        read_files([file])
    assert str(error.value) == f"{file}:1:24: [0].turns[0].response: missing"
    with pytest.raises(DocumentError) as error:
        load_text(file.read_bytes(), source="pasted")
    assert str(error.value) == "pasted:1:24: [0].turns[0].response: missing"
