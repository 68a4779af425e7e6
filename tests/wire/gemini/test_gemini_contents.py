"""Parsing of a Gemini request's contents to messages."""

from base64 import b64encode
from typing import Any

import pytest

from scenarios_app.engine.canonical import Message
from scenarios_app.engine.parts import (
    MessagePart,
    OpaquePart,
    ReasoningPart,
    TextPart,
    ToolCallPart,
    ToolResultPart,
)
from tests.wire.gemini.gemini_cases import HELLO, parse, parse_contents

SIGNATURE = b64encode(b"sig-1").decode()
OTHER = b64encode(b"sig-2").decode()
CALL = {"functionCall": {"name": "f", "args": {"a": 1}}}


def model(*parts: Any) -> dict[str, Any]:
    return {"role": "model", "parts": list(parts)}


def user(*parts: Any) -> dict[str, Any]:
    return {"role": "user", "parts": list(parts)}


def thought(text: str, **fields: Any) -> dict[str, Any]:
    return {"text": text, "thought": True, **fields}


def read_answer_parts(*contents: Any) -> tuple[MessagePart, ...]:
    """Return the parts of the single assistant message that the contents become."""
    _, message = parse_contents(HELLO, *contents).messages
    assert message.role == "assistant"
    return message.parts


def read_result(response: Any, **fields: Any) -> ToolResultPart:
    function_response = {"name": "f", "response": response, **fields}
    (message,) = parse_contents(user({"functionResponse": function_response})).messages
    assert message.role == "tool"
    (part,) = message.parts
    assert isinstance(part, ToolResultPart)
    return part


def test_contents_become_messages_of_their_roles() -> None:
    contents = [
        user({"text": "a"}, {"text": "b"}),
        model({"text": "c"}),
        {"parts": [{"text": "d"}]},
    ]
    assert parse_contents(*contents).messages == (
        Message("user", (TextPart("a"), TextPart("b"))),
        Message("assistant", (TextPart("c"),)),
        Message("user", (TextPart("d"),)),
    )


def test_the_instruction_is_the_system_message_whatever_its_role() -> None:
    for key in ("systemInstruction", "system_instruction"):
        for role in ({}, {"role": "user"}, {"role": "system"}):
            body = {key: {**role, "parts": {"text": "Be brief."}}, "contents": [HELLO]}
            first, _ = parse(body).messages
            assert first == Message("system", (TextPart("Be brief."),))


def test_one_content_and_one_part_need_no_list() -> None:
    contents = {"role": "user", "parts": {"text": "Hello"}}
    assert parse({"contents": contents}).messages == parse({"contents": [HELLO]}).messages


@pytest.mark.parametrize("content", [{"role": "user"}, {"parts": [{"thoughtSignature": "x"}]}])
def test_a_content_may_be_empty(content: Any) -> None:
    assert parse_contents(content, HELLO).messages[0] == Message("user", ())


@pytest.mark.parametrize(
    ("part", "kind"),
    [
        ({"inlineData": {"mimeType": "image/png", "data": "iVBO"}}, "inlineData"),
        ({"inline_data": {"mime_type": "image/png", "data": "iVBO"}}, "inline_data"),
        ({"fileData": {"fileUri": "u"}, "videoMetadata": {"fps": 1}}, "fileData"),
        ({"executableCode": {"code": "1"}, "thoughtSignature": ""}, "executableCode"),
        ({"codeExecutionResult": {"outcome": "OUTCOME_OK"}}, "codeExecutionResult"),
        ({"partMetadata": {}, "somethingNew": {"x": 1}}, "somethingNew"),
    ],
)
def test_part_without_text_becomes_an_opaque_part(part: Any, kind: str) -> None:
    (message,) = parse_contents(user(part)).messages
    assert message.parts == (OpaquePart(kind),)


def test_an_answer_may_be_empty() -> None:
    assert read_answer_parts(model()) == ()


def test_thoughts_have_their_signatures() -> None:
    parts = read_answer_parts(
        model(thought("Hm.", thoughtSignature=SIGNATURE), thought("Ah."), CALL)
    )
    assert parts == (
        ReasoningPart("Hm.", signature="sig-1"),
        ReasoningPart("Ah."),
        ToolCallPart("call-1", "f", '{"a":1}'),
    )


def test_signature_of_a_call_belongs_to_the_thinking_before_it() -> None:
    parts = read_answer_parts(model(thought("Hm."), {**CALL, "thoughtSignature": SIGNATURE}, CALL))
    assert parts[0] == ReasoningPart("Hm.", signature="sig-1")
    assert [type(part) for part in parts[1:]] == [ToolCallPart, ToolCallPart]


def test_repeated_signature_is_read_once() -> None:
    signed = thought("Hm.", thoughtSignature=SIGNATURE)
    parts = read_answer_parts(model(signed, {**CALL, "thought_signature": SIGNATURE}))
    assert [type(part) for part in parts] == [ReasoningPart, ToolCallPart]


def test_hidden_thinking_is_a_signature_without_text() -> None:
    signed = {**CALL, "thoughtSignature": SIGNATURE}
    assert read_answer_parts(model(signed))[0] == ReasoningPart("", signature="sig-1")
    assert read_answer_parts(model(thought("Hm.", thoughtSignature=OTHER), signed))[:2] == (
        ReasoningPart("Hm.", signature="sig-2"),
        ReasoningPart("", signature="sig-1"),
    )


@pytest.mark.parametrize("last", [{"text": ""}, {}])
def test_signature_after_the_text_is_read(last: Any) -> None:
    signature = {**last, "thoughtSignature": SIGNATURE}
    assert read_answer_parts(model({"text": "Hi"}, signature)) == (
        TextPart("Hi"),
        ReasoningPart("", signature="sig-1"),
    )
    assert read_answer_parts(model(thought("Hm."), {"text": "Hi"}, signature)) == (
        ReasoningPart("Hm.", signature="sig-1"),
        TextPart("Hi"),
    )


def test_returned_chunks_of_a_stream_are_one_message() -> None:
    # The official client sends each chunk back as a content.
    assert read_answer_parts(
        model(thought("I sh")),
        model(thought("ould.")),
        model(thought("", thoughtSignature=SIGNATURE)),
        model({"text": "Let "}),
        model({"text": "me."}),
        model({**CALL, "thoughtSignature": SIGNATURE}),
        model({"text": ""}),
    ) == (
        ReasoningPart("I should.", signature="sig-1"),
        TextPart("Let me."),
        ToolCallPart("call-1", "f", '{"a":1}'),
    )


def test_signature_in_the_last_chunk_is_read() -> None:
    last = model({"text": "", "thoughtSignature": SIGNATURE})
    assert read_answer_parts(model({"text": "H"}), model({"text": "i"}), last) == (
        ReasoningPart("", signature="sig-1"),
        TextPart("Hi"),
    )


def test_only_single_part_chunks_are_joined() -> None:
    contents = [
        model({"text": "a"}, {"text": "b"}),
        model({"text": "c"}, {"text": "d"}),
        model({"text": ""}),
    ]
    assert read_answer_parts(*contents) == (TextPart("a"), TextPart("bc"), TextPart("d"))


def test_signed_thinking_is_not_joined_with_the_next() -> None:
    signed = thought("a", thoughtSignature=SIGNATURE)
    assert read_answer_parts(model(signed), model(thought("b")), model({"text": ""})) == (
        ReasoningPart("a", signature="sig-1"),
        ReasoningPart("b"),
    )


def test_unstreamed_answers_count_as_separate_turns() -> None:
    first, second, empty = model({"text": "a"}), model({"text": "b"}), model({"text": ""})
    assert parse_contents(HELLO, first, second).turn == 3
    assert parse_contents(HELLO, first, second, empty).turn == 2
    assert parse_contents(HELLO, first, empty, second, empty, first).turn == 4


def test_answers_around_a_user_message_are_two_turns() -> None:
    request = parse_contents(HELLO, model({"text": "a"}), HELLO, model({"text": "b"}), HELLO)
    assert request.turn == 3


def test_calls_and_results_keep_their_ids() -> None:
    call = {"functionCall": {"id": "c-7", "name": "f"}}
    response = {"functionResponse": {"id": "c-7", "name": "f", "response": {"result": "x"}}}
    request = parse_contents(HELLO, model(call), user(response))
    assert request.tool_calls == (ToolCallPart("c-7", "f", "{}"),)
    assert request.tool_results == (ToolResultPart("c-7", "f", "x"),)


def test_results_without_ids_belong_to_calls_of_their_name_in_order() -> None:
    calls = [{"functionCall": {"name": name}} for name in ("f", "g", "f")]
    results = [
        {"functionResponse": {"name": name, "response": {"result": name + str(number)}}}
        for number, name in enumerate(("g", "f", "f", "h"))
    ]
    request = parse_contents(HELLO, model(*calls), {"role": "function", "parts": results})
    assert [call.id for call in request.tool_calls] == ["call-1", "call-2", "call-3"]
    assert [(r.tool_call_id, r.content) for r in request.tool_results] == [
        ("call-2", "g0"),
        ("call-1", "f1"),
        ("call-3", "f2"),
        ("h", "h3"),
    ]


def test_result_without_an_id_has_the_id_of_its_call() -> None:
    # The official client's automatic function calling sends no id.
    call = {"functionCall": {"id": "c-7", "name": "f"}}
    response = {"functionResponse": {"name": "f", "response": {"result": "x"}}}
    (tool_result,) = parse_contents(HELLO, model(call), user(response)).tool_results
    assert tool_result.tool_call_id == "c-7"


def test_result_without_an_id_skips_calls_that_have_results() -> None:
    calls = [{"functionCall": {"id": name, "name": "f"}} for name in ("c-1", "c-2")]
    results = [
        {"functionResponse": {"id": "c-1", "name": "f", "response": {"result": "x"}}},
        {"functionResponse": {"name": "f", "response": {"result": "y"}}},
    ]
    request = parse_contents(HELLO, model(*calls), user(*results))
    assert [r.tool_call_id for r in request.tool_results] == ["c-1", "c-2"]


def test_unknown_call_id_is_kept() -> None:
    assert read_result({"result": "x"}, id="c-9").tool_call_id == "c-9"


@pytest.mark.parametrize(
    ("response", "content"),
    [
        ({"result": "sunny"}, "sunny"),
        ({"output": "sunny", "result": "x"}, "sunny"),
        ({"result": ""}, ""),
        ({"result": {"sky": "blue", "t": [1, 2]}}, '{"sky":"blue","t":[1,2]}'),
        ({"output": 18.5}, "18.5"),
        ({"result": None, "sky": "blau"}, '{"result":null,"sky":"blau"}'),
        ({"sky": "größer"}, '{"sky":"größer"}'),
        ({}, "{}"),
        (None, "{}"),
    ],
)
def test_function_response_becomes_the_tool_result(response: Any, content: str) -> None:
    assert read_result(response) == ToolResultPart("f", "f", content)


@pytest.mark.parametrize(
    ("response", "content"),
    [({"error": "no net"}, "no net"), ({"error": {"code": 5}, "result": "x"}, '{"code":5}')],
)
def test_error_response_becomes_an_error_result(response: Any, content: str) -> None:
    assert read_result(response) == ToolResultPart("f", "f", content, is_error=True)


@pytest.mark.parametrize("error", [None, "", False])
def test_empty_error_is_not_an_error_result(error: Any) -> None:
    assert read_result({"error": error, "result": "x"}) == ToolResultPart("f", "f", "x")


def test_results_beside_other_parts_become_separate_messages() -> None:
    response = {"functionResponse": {"name": "f", "response": {"result": "x"}}}
    messages = parse_contents(user({"text": "a"}, response, response, {"text": "b"})).messages
    assert [message.role for message in messages] == ["user", "tool", "tool", "user"]
