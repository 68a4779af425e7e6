"""Invalid instruction blocks are rejected with the path of the invalid key."""

import json

import pytest
from hypothesis import given

from scenarios_app.engine.canonical import ErrorAnswer, Json
from scenarios_app.engine.instructions import InstructedAnswer
from tests.engine.instructions.blocks import (
    ANY_BLOCKS,
    block_error,
    block_of_message,
    build_block_answer,
    instructed_answer,
    request_with_block,
)

LENGTH_EXPECTED = "expected a whole number from 0 to 100000"
CHUNKS_EXPECTED = "expected a whole number from 0 to 2147483647"
NAME_EXPECTED = "expected a string of at least one character"
KIND_EXPECTED = (
    "unknown kind of message, expected one of text_message, text, tool_call, server_tool_use, "
    "server_tool_result, text_with_citations, system_prompt_echo, tools_list, tools_echo, "
    "tool_schema, request_url_echo, request_headers_echo, request_params_echo"
)
TEXT_MESSAGE = {"text": "x"}
INVALID_BLOCKS: list[tuple[Json, str]] = [
    ([], "expected an object"),
    ("text", "expected an object"),
    (None, "expected an object"),
    ({}, "messages: missing"),
    ({"id": 5, "messages": [TEXT_MESSAGE]}, "id: expected a string"),
    ({"id_message": ["x"], "messages": [TEXT_MESSAGE]}, "id_message: expected a string"),
    ({"reasoning": 5, "messages": [TEXT_MESSAGE]}, "reasoning: expected an object"),
    (
        {"reasoning": {"length": "5"}, "messages": [TEXT_MESSAGE]},
        f"reasoning.length: {LENGTH_EXPECTED}",
    ),
    ({"reasoning": {"length": 1}, "messages": {}}, "messages: expected a list"),
    ({"messages": {}}, "messages: expected a list"),
    ({"messages": []}, "messages: expected at least one"),
    ({"messages": ["x"]}, "messages[0]: expected an object"),
    ({"messages": [TEXT_MESSAGE, {}]}, f"messages[1]: {KIND_EXPECTED}"),
    (block_of_message(video={}), f"messages[0].video: {KIND_EXPECTED}"),
    ({"messages": [{"a" * 90: 1}]}, f"messages[0].{'a' * 79}…: {KIND_EXPECTED}"),
    (
        block_of_message(text="x", tool_call=[]),
        "messages[0].tool_call: cannot be combined with text",
    ),
    (block_of_message(text=None), "messages[0].text: expected a string"),
    (block_of_message(text={"length": 5}), "messages[0].text: expected a string"),
    (block_of_message(text_message=5), "messages[0].text_message: expected an object"),
    (block_of_message(text_message={}), "messages[0].text_message.length: missing"),
    *[
        (
            block_of_message(text_message={"length": length}),
            f"messages[0].text_message.length: {LENGTH_EXPECTED}",
        )
        for length in (-1, 100_001, 3.5, -3.0, 1e6, "5", True, [5], 10**30)
    ],
    (block_of_message(tool_call={}), "messages[0].tool_call: expected a list"),
    (block_of_message(tool_call=[]), "messages[0].tool_call: expected at least one"),
    (block_of_message(tool_call=["f"]), "messages[0].tool_call[0]: expected an object"),
    (block_of_message(tool_call=[{"args": {}}]), "messages[0].tool_call[0].name: missing"),
    (block_of_message(tool_call=[{"name": ""}]), f"messages[0].tool_call[0].name: {NAME_EXPECTED}"),
    (block_of_message(tool_call=[{"name": 5}]), "messages[0].tool_call[0].name: expected a string"),
    (block_of_message(server_tool_use=[]), "messages[0].server_tool_use: expected an object"),
    (block_of_message(server_tool_use={}), "messages[0].server_tool_use.name: missing"),
    (
        block_of_message(server_tool_use={"name": "t", "input": "q"}),
        "messages[0].server_tool_use.input: expected an object",
    ),
    (
        block_of_message(server_tool_use={"name": "t", "id": 1}),
        "messages[0].server_tool_use.id: expected a string",
    ),
    (
        block_of_message(server_tool_result={"result": 1}),
        "messages[0].server_tool_result.name: missing",
    ),
    (
        block_of_message(server_tool_result={"name": "t", "error_code": ""}),
        f"messages[0].server_tool_result.error_code: {NAME_EXPECTED}",
    ),
    (
        block_of_message(text_with_citations={}),
        "messages[0].text_with_citations.text: missing, and so is length",
    ),
    (
        block_of_message(text_with_citations={"text": 1}),
        "messages[0].text_with_citations.text: expected a string",
    ),
    (
        block_of_message(text_with_citations={"length": -1}),
        f"messages[0].text_with_citations.length: {LENGTH_EXPECTED}",
    ),
    (
        block_of_message(text_with_citations={"text": "x", "citations": {}}),
        "messages[0].text_with_citations.citations: expected a list",
    ),
    (
        block_of_message(text_with_citations={"text": "x", "citations": ["u"]}),
        "messages[0].text_with_citations.citations[0]: expected an object",
    ),
    (
        block_of_message(text_with_citations={"text": "x", "citations": [{"url": 5}]}),
        "messages[0].text_with_citations.citations[0].url: expected a string",
    ),
    (block_of_message(tools_list=[]), "messages[0].tools_list: expected an object"),
    (
        block_of_message(system_prompt_echo=True),
        "messages[0].system_prompt_echo: expected an object",
    ),
    (block_of_message(tool_schema={}), "messages[0].tool_schema.name: missing"),
    (block_of_message(tool_schema={"name": ""}), f"messages[0].tool_schema.name: {NAME_EXPECTED}"),
    (
        block_of_message(request_params_echo={"fields": "model"}),
        "messages[0].request_params_echo.fields: expected a list",
    ),
    (
        block_of_message(request_params_echo={"fields": [5]}),
        "messages[0].request_params_echo.fields[0]: expected a string",
    ),
    (
        {**block_of_message(text="x"), "cancel_after_chunks": -1},
        f"cancel_after_chunks: {CHUNKS_EXPECTED}",
    ),
    (
        {**block_of_message(text="x"), "cancel_after_chunks": "2"},
        f"cancel_after_chunks: {CHUNKS_EXPECTED}",
    ),
    ({"instruction_chain": {}}, "instruction_chain: expected a list"),
    (
        {"instruction_chain": [block_of_message(text="x"), 5]},
        "instruction_chain[1]: expected an object",
    ),
    (
        {
            "instruction_chain": [
                block_of_message(text="x"),
                block_of_message(text_message={"length": "x"}),
            ]
        },
        f"instruction_chain[1].messages[0].text_message.length: {LENGTH_EXPECTED}",
    ),
]


@pytest.mark.parametrize(("block", "error"), INVALID_BLOCKS)
def test_invalid_block_is_rejected_with_its_path(block: Json, error: str) -> None:
    assert block_error(json.dumps(block)) == f"instruction block: {error}"


@pytest.mark.parametrize(
    "block",
    [
        {**block_of_message(text="x"), "note": 5, "version": None},
        {"messages": [{"text": "x", "note": {"deep": []}, "tool_call": None}]},
        {"instruction_chain": [block_of_message(text="x")], "messages": 5},
        {"instruction_chain": None, **block_of_message(text="x")},
    ],
)
def test_unknown_keys_and_nulls_are_ignored(block: Json) -> None:
    (choice,) = instructed_answer(block).answer.choices
    assert len(choice.parts) == 1


@pytest.mark.parametrize("depth", [64, 65])
def test_block_deeper_than_64_levels_is_rejected(depth: int) -> None:
    # Five levels: the block, its messages, the message, the calls, the call; then the arguments.
    args: Json = "x"
    for _ in range(depth - 5):
        args = [args]
    answer = build_block_answer(
        request_with_block(block_of_message(tool_call=[{"name": "f", "args": args}]))
    )
    if depth == 64:
        assert isinstance(answer, InstructedAnswer)
    else:
        assert isinstance(answer, ErrorAnswer)
        assert answer.message == "instruction block: nested deeper than 64 levels"


@pytest.mark.parametrize("calls", [990, 991])
def test_a_block_has_at_most_a_thousand_messages_and_calls(calls: int) -> None:
    block: Json = {"messages": [*[TEXT_MESSAGE] * 10, {"tool_call": [{"name": "f"}] * calls}]}
    answer = build_block_answer(request_with_block(block))
    if calls == 990:
        assert isinstance(answer, InstructedAnswer)
    else:
        assert isinstance(answer, ErrorAnswer)
        assert answer.message == (
            "instruction block: messages: expected at most 1000 messages and calls, got 1001"
        )


TOO_LONG = "more text than the limit of 20 bytes"


@pytest.mark.parametrize(
    ("block", "place"),
    [
        (block_of_message(text="é" * 11), "messages[0].text"),
        ({"messages": [{"text": "x" * 20}, {"text": "y"}]}, "messages[1].text"),
        ({**block_of_message(text="x" * 10), "id_message": "12345"}, "messages[0].text"),
        (block_of_message(text_message={"length": 30}), "messages[0].text_message.length"),
        (
            block_of_message(text_with_citations={"length": 30}),
            "messages[0].text_with_citations.length",
        ),
        ({"reasoning": {"length": 30}}, "reasoning.length"),
        (
            {"instruction_chain": [{"reasoning": {"length": 30}}]},
            "instruction_chain[0].reasoning.length",
        ),
        (block_of_message(tool_call=[{"name": "f", "args": "x" * 20}]), "messages[0].tool_call"),
        (
            block_of_message(server_tool_result={"name": "t", "result": "x" * 20}),
            "messages[0].server_tool_result",
        ),
        (block_of_message(request_params_echo={}), "messages[0].request_params_echo"),
    ],
)
def test_text_beyond_the_limit_is_rejected_with_its_path(block: Json, place: str) -> None:
    assert block_error(block, limit=20) == f"instruction block: {place}: {TOO_LONG}"


@given(ANY_BLOCKS)
def test_random_block_is_answered_or_rejected(block: Json) -> None:
    answer = build_block_answer(request_with_block(block))
    if isinstance(answer, ErrorAnswer):
        assert answer.message.startswith("instruction block: ")
    else:
        assert isinstance(answer, InstructedAnswer)
        assert answer.answer.choices
