"""Requests to the Responses API that continue stored responses and conversations."""

import base64
import json
from typing import Any

import pytest
from msgspec.structs import replace

from scenarios_app.engine.canonical import CanonicalRequest
from scenarios_app.engine.parts import (
    AnswerPart,
    ReasoningPart,
    RefusalPart,
    TextPart,
    ToolCallPart,
    ToolResultPart,
)
from scenarios_app.wire.errors import WireError
from scenarios_app.wire.openai.files import File, file_write
from scenarios_app.wire.openai.responses.memory import EXAMPLE_IDS, record_replayed
from tests.wire.openai.responses_answers import answer
from tests.wire.openai.responses_cases import CREATE, Session, catch_error

CALL = ToolCallPart("c1", "f", '{"a":1}')
RESULT = {"type": "function_call_output", "call_id": "c1", "output": "done"}


def numbered_response(number: int, *parts: AnswerPart, **metadata: Any) -> Any:
    """Build a response whose id is a number."""
    response = answer(parts, **metadata)
    return type(response)(
        id=f"{number:032x}",
        created=response.created,
        model=response.model,
        choices=response.choices,
        usage=response.usage,
        metadata=response.metadata,
    )


def role_texts(request: CanonicalRequest) -> list[tuple[str, str]]:
    return [(message.role, message.text) for message in request.messages]


def test_request_continues_the_previous_response() -> None:
    session = Session()
    first = session.respond(
        numbered_response(1, TextPart("Hi")), input="Hello", instructions="Be kind."
    )
    request = session.read({"input": "And?", "previous_response_id": first["id"]})
    assert role_texts(request) == [("user", "Hello"), ("assistant", "Hi"), ("user", "And?")]
    assert request.turn == 2


def test_instructions_are_not_inherited_and_come_first() -> None:
    session = Session()
    first = session.respond(
        numbered_response(1, TextPart("Hi")), input="Hello", instructions="Be kind."
    )
    body = {"input": "And?", "previous_response_id": first["id"], "instructions": "Be brief."}
    assert role_texts(session.read(body))[0] == ("system", "Be brief.")


def test_history_includes_all_previous_responses() -> None:
    session = Session()
    last = session.respond(numbered_response(1, TextPart("a1")), input="q1")
    for i in range(2, 6):
        body = {"input": f"q{i}", "previous_response_id": last["id"]}
        last = session.respond(numbered_response(i, TextPart(f"a{i}")), **body)
    assert last["previous_response_id"] == f"resp_{4:032x}"
    request = session.read({"input": "q6", "previous_response_id": last["id"]})
    assert [text for _, text in role_texts(request)] == [
        *(f"{kind}{i}" for i in range(1, 6) for kind in "qa"),
        "q6",
    ]
    assert request.turn == 6


def test_tool_result_is_assigned_to_the_call_of_the_previous_response() -> None:
    session = Session()
    first = session.respond(numbered_response(1, ReasoningPart("Hm.", "sig"), CALL), input="Hello")
    request = session.read({"input": [RESULT], "previous_response_id": first["id"]})
    assert request.tool_calls == (CALL,)
    assert request.tool_results == (ToolResultPart("c1", "f", "done"),)
    assert request.messages[1].parts == (ReasoningPart("Hm.", "sig"), CALL)
    assert request.turn == 2


def test_response_without_input_is_a_separate_turn() -> None:
    session = Session()
    first = session.respond(numbered_response(1, TextPart("a")), input="q")
    second = session.respond(numbered_response(2, TextPart("b")), previous_response_id=first["id"])
    assert session.read({"previous_response_id": second["id"]}).turn == 3


@pytest.mark.parametrize("name", ["resp_nobody", ""])
def test_unknown_previous_response_is_a_400(name: str) -> None:
    error = catch_error(previous_response_id=name)
    assert (error.status, error.code) == (400, "previous_response_not_found")
    assert (error.param, error.message) == (
        "previous_response_id",
        f"Previous response with id '{name}' not found.",
    )


def test_response_with_store_false_is_not_archived() -> None:
    session = Session()
    first = session.respond(numbered_response(1, TextPart("a")), input="q", store=False)
    assert session.records == {}
    error = catch_error(session, previous_response_id=first["id"])
    assert error.code == "previous_response_not_found"


def test_missing_response_in_the_history_is_reported() -> None:
    session = Session()
    first = session.respond(numbered_response(1, TextPart("a")), input="q")
    second = session.respond(numbered_response(2, TextPart("b")), previous_response_id=first["id"])
    del session.records[first["id"]]
    error = catch_error(session, previous_response_id=second["id"])
    assert first["id"] in error.message


def test_scripted_id_can_be_continued_and_referenced() -> None:
    session = Session()
    first = session.respond(numbered_response(1, TextPart("a"), id="resp_mine"), input="q")
    assert first["id"] == "resp_mine"
    request = session.read({"previous_response_id": "resp_mine"})
    assert role_texts(request) == [("user", "q"), ("assistant", "a")]
    item = {"type": "item_reference", "id": first["output"][0]["id"]}
    assert role_texts(session.read({"input": [item]})) == [("assistant", "a")]


def test_response_that_continues_one_of_its_own_id_ends_the_history() -> None:
    session = Session()
    session.respond(numbered_response(1, TextPart("a"), id="resp_mine"), input="q1")
    body = {"input": "q2", "previous_response_id": "resp_mine"}
    session.respond(numbered_response(2, TextPart("b"), id="resp_mine"), **body)
    assert role_texts(session.read(body)) == [("user", "q2"), ("assistant", "b"), ("user", "q2")]


@pytest.mark.parametrize("data", [b"", b"not JSON", b"{}\n{}", b"null\nnull\n"])
def test_stored_file_is_no_previous_response(data: bytes) -> None:
    session = Session()
    session.records["file-1"] = file_write(File("file-1", 0, 1, "a", "batch", data)).data or b""
    error = catch_error(session, previous_response_id="file-1")
    assert error.code == "previous_response_not_found"
    with pytest.raises(WireError, match="not found"):
        session.compute("GET", "/v1/responses/file-1")


def test_output_items_can_be_referenced() -> None:
    session = Session()
    first = session.respond(numbered_response(1, ReasoningPart("Hm."), CALL), input="q")
    items: list[Any] = [
        {"role": "user", "content": "q"},
        *({"type": "item_reference", "id": item["id"]} for item in first["output"]),
        RESULT,
    ]
    request = session.read({"input": items})
    assert [message.role for message in request.messages] == ["user", "assistant", "tool"]
    signature = first["output"][0]["encrypted_content"]
    assert request.messages[1].parts == (ReasoningPart("Hm.", signature=signature), CALL)
    assert request.tool_results == (ToolResultPart("c1", "f", "done"),)


def test_input_items_can_be_referenced() -> None:
    session = Session()
    first = session.respond(numbered_response(1, TextPart("a")), input="q")
    page = session.compute_json("GET", f"/v1/responses/{first['id']}/input_items")
    item = {"id": page["data"][0]["id"]}
    assert role_texts(session.read({"input": [item]})) == [("user", "q")]


def test_stored_input_contains_the_referenced_item() -> None:
    session = Session()
    first = session.respond(numbered_response(1, TextPart("a")), input="q")
    items = [{"type": "item_reference", "id": first["output"][0]["id"]}]
    second = session.respond(numbered_response(2, TextPart("b")), input=items)
    del session.records[first["id"]]
    request = session.read({"previous_response_id": second["id"]})
    assert role_texts(request) == [("assistant", "a"), ("assistant", "b")]


@pytest.mark.parametrize("name", ["msg_nobody", f"msg_{9:032x}00", f"msg_{1:032x}77", "x"])
def test_unknown_item_is_a_404(name: str) -> None:
    session = Session()
    session.respond(numbered_response(1, TextPart("a")), input="q")
    error = catch_error(session, input=[{"type": "item_reference", "id": name}])
    assert (error.status, error.param, error.code) == (404, "input", "item_not_found")
    assert f"'{name}'" in error.message


def test_conversation_is_continued_by_its_id() -> None:
    session = Session()
    assert role_texts(session.read({"input": "q1", "conversation": "conv_1"})) == [("user", "q1")]
    for i in (1, 2):
        session.respond(
            numbered_response(i, TextPart(f"a{i}")), input=f"q{i}", conversation={"id": "conv_1"}
        )
    request = session.read({"input": "q3", "conversation": "conv_1"})
    assert [text for _, text in role_texts(request)] == ["q1", "a1", "q2", "a2", "q3"]
    assert role_texts(session.read({"input": "q", "conversation": "conv_2"})) == [("user", "q")]


def test_conversation_takes_precedence_over_previous_response() -> None:
    session = Session()
    session.respond(numbered_response(1, TextPart("a1")), input="q1", conversation="conv_1")
    body = {"input": "q2", "conversation": "conv_1", "previous_response_id": "resp_nobody"}
    assert role_texts(session.read(body)) == [("user", "q1"), ("assistant", "a1"), ("user", "q2")]


def test_conversation_cannot_be_retrieved_as_a_response() -> None:
    session = Session()
    session.respond(numbered_response(1, TextPart("a1")), input="q1", conversation="c")
    names = [name for name in session.records if not name.startswith("resp_")]
    assert len(names) == 1
    with pytest.raises(Exception, match="not found"):
        session.compute("GET", f"/v1/responses/{names[0].replace(' ', '%20')}")


@pytest.mark.parametrize("name", EXAMPLE_IDS)
def test_examples_of_the_api_description_can_be_continued(name: str) -> None:
    request = Session().read({"input": "And?", "previous_response_id": name})
    assert [message.role for message in request.messages] == ["user", "assistant", "user"]


def test_compaction_keeps_the_whole_conversation() -> None:
    session = Session()
    first = session.respond(numbered_response(1, CALL), input="q1")
    body = {"model": "gpt-4o", "previous_response_id": first["id"], "input": [RESULT]}
    compacted = session.compute_json("POST", "/v1/responses/compact", body)
    (item,) = compacted["output"]
    assert (item["type"], compacted["object"]) == ("compaction", "response.compaction")
    request = session.read({"input": [item, {"role": "user", "content": "q2"}]})
    assert [message.role for message in request.messages] == ["user", "assistant", "tool", "user"]
    assert request.tool_results == (ToolResultPart("c1", "f", "done"),)
    second_compaction = session.compute_json("POST", "/v1/responses/compact", {"input": [item]})
    assert session.read({"input": second_compaction["output"]}).messages == request.messages[:-1]


@pytest.mark.parametrize("content", ["x", "", "gAAAA", base64.b64encode(b"[]").decode()])
def test_foreign_compaction_is_ignored(content: str) -> None:
    item = {"type": "compaction", "encrypted_content": content}
    assert Session().read({"input": [item]}).messages == ()


@pytest.mark.parametrize(
    "content",
    [
        *("!", "größe", "bm9uZQ==", "////"),
        *(
            base64.b64encode(text.encode()).decode()
            for text in ("{}", '{"items":1}', '{"items":[1]}', "[]", "{")
        ),
    ],
)
def test_corrupted_compaction_is_rejected(content: str) -> None:
    error = catch_error(input=[{"type": "compaction", "encrypted_content": f"mockllm.{content}"}])
    assert (error.status, error.param) == (400, "input[0].encrypted_content")


def test_refusal_is_kept_in_the_history() -> None:
    session = Session()
    first = session.respond(numbered_response(1, RefusalPart("No.")), input="q")
    request = session.read({"previous_response_id": first["id"]})
    assert request.messages[1].parts == (RefusalPart("No."),)


def test_invalid_reference_is_rejected_with_its_path() -> None:
    error = catch_error(input=[{"type": "item_reference", "id": 1}])
    assert error.param == "input[0].id"


OUTPUT = {
    "type": "message",
    "role": "assistant",
    "content": [{"type": "output_text", "text": "Hi"}],
}
RECORDED = {"id": "resp_recorded", "object": "response", "output": [OUTPUT]}


@pytest.mark.parametrize("stream", [True, False])
def test_request_continues_a_recorded_response(stream: bool) -> None:
    session = Session()
    request = session.read({"input": "Hello", "stream": stream})
    body_bytes = json.dumps(RECORDED).encode()
    event = b': a comment\n\ndata: {"response": ' + body_bytes + b"}\n\ndata: {broken\n\n"
    for record in CREATE.archival.record_body(request, event if stream else body_bytes):
        assert record.data is not None
        session.records[record.name] = record.data
    body = {"input": "And?", "previous_response_id": "resp_recorded"}
    assert role_texts(session.read(body)) == [
        ("user", "Hello"),
        ("assistant", "Hi"),
        ("user", "And?"),
    ]


def test_recorded_response_becomes_the_latest_of_its_conversation() -> None:
    request = Session().read({"input": "Hello"})
    continued_request = replace(request, own=replace(request.own, conversation="conv_1"))
    names = [
        record.name for record in record_replayed(continued_request, json.dumps(RECORDED).encode())
    ]
    assert names[1:] == ["resp_recorded", "conversation conv_1"]


@pytest.mark.parametrize("body", [b"", b"{broken", b"[7]", b'{"id": 7}', b"data: 7\n\n"])
def test_recorded_response_without_an_id_is_not_stored(body: bytes) -> None:
    assert record_replayed(Session().read({"input": "Hello"}), body) == ()


@pytest.mark.parametrize("key", ["id", "note"])
def test_recorded_response_with_half_a_surrogate_pair_is_not_stored(key: str) -> None:
    body = json.dumps(RECORDED | {key: "\ud83d"}).encode()
    assert record_replayed(Session().read({"input": "Hello"}), body) == ()


def test_recorded_response_with_store_false_is_not_stored() -> None:
    request = Session().read({"input": "Hello", "store": False})
    assert record_replayed(request, json.dumps(RECORDED).encode()) == ()
