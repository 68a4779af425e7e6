"""How requests for OpenAI's Responses go on from what was said before."""

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
from tests.wire.openai.responses_cases import CREATE, Session, refusal_of

CALL = ToolCallPart("c1", "f", '{"a":1}')
RESULT = {"type": "function_call_output", "call_id": "c1", "output": "done"}


def numbered(number: int, *parts: AnswerPart, **metadata: Any) -> Any:
    """An answer with an id of its own."""
    response = answer(parts, **metadata)
    return type(response)(
        id=f"{number:032x}",
        created=response.created,
        model=response.model,
        choices=response.choices,
        usage=response.usage,
        metadata=response.metadata,
    )


def heard(request: CanonicalRequest) -> list[tuple[str, str]]:
    return [(message.role, message.text) for message in request.messages]


def test_a_request_goes_on_from_the_answer_before_it() -> None:
    session = Session()
    first = session.ask(numbered(1, TextPart("Hi")), input="Hello", instructions="Be kind.")
    request = session.read({"input": "And?", "previous_response_id": first["id"]})
    assert heard(request) == [("user", "Hello"), ("assistant", "Hi"), ("user", "And?")]
    assert request.turn == 2


def test_instructions_are_not_taken_over_and_stand_first() -> None:
    session = Session()
    first = session.ask(numbered(1, TextPart("Hi")), input="Hello", instructions="Be kind.")
    body = {"input": "And?", "previous_response_id": first["id"], "instructions": "Be brief."}
    assert heard(session.read(body))[0] == ("system", "Be brief.")


def test_the_way_back_is_as_long_as_the_conversation() -> None:
    session = Session()
    last = session.ask(numbered(1, TextPart("a1")), input="q1")
    for i in range(2, 6):
        body = {"input": f"q{i}", "previous_response_id": last["id"]}
        last = session.ask(numbered(i, TextPart(f"a{i}")), **body)
    assert last["previous_response_id"] == f"resp_{4:032x}"
    request = session.read({"input": "q6", "previous_response_id": last["id"]})
    assert [text for _, text in heard(request)] == [
        *(f"{kind}{i}" for i in range(1, 6) for kind in "qa"),
        "q6",
    ]
    assert request.turn == 6


def test_a_tools_result_finds_the_call_in_the_answer_before() -> None:
    session = Session()
    first = session.ask(numbered(1, ReasoningPart("Hm.", "sig"), CALL), input="Hello")
    request = session.read({"input": [RESULT], "previous_response_id": first["id"]})
    assert request.tool_calls == (CALL,)
    assert request.tool_results == (ToolResultPart("c1", "f", "done"),)
    assert request.messages[1].parts == (ReasoningPart("Hm.", "sig"), CALL)
    assert request.turn == 2


def test_an_answer_without_input_between_is_one_of_its_own() -> None:
    session = Session()
    first = session.ask(numbered(1, TextPart("a")), input="q")
    second = session.ask(numbered(2, TextPart("b")), previous_response_id=first["id"])
    assert session.read({"previous_response_id": second["id"]}).turn == 3


@pytest.mark.parametrize("name", ["resp_nobody", ""])
def test_an_answer_that_is_not_kept_is_a_400_as_at_the_real_api(name: str) -> None:
    error = refusal_of(previous_response_id=name)
    assert (error.status, error.code) == (400, "previous_response_not_found")
    assert (error.param, error.message) == (
        "previous_response_id",
        f"Previous response with id '{name}' not found.",
    )


def test_response_with_store_false_is_not_archived() -> None:
    session = Session()
    first = session.ask(numbered(1, TextPart("a")), input="q", store=False)
    assert session.kept == {}
    error = refusal_of(session, previous_response_id=first["id"])
    assert error.code == "previous_response_not_found"


def test_a_gap_in_the_conversation_is_not_passed_over() -> None:
    session = Session()
    first = session.ask(numbered(1, TextPart("a")), input="q")
    second = session.ask(numbered(2, TextPart("b")), previous_response_id=first["id"])
    del session.kept[first["id"]]
    error = refusal_of(session, previous_response_id=second["id"])
    assert first["id"] in error.message


def test_an_id_that_was_made_up_is_good_for_all_of_it() -> None:
    session = Session()
    made = session.ask(numbered(1, TextPart("a"), id="resp_mine"), input="q")
    assert made["id"] == "resp_mine"
    request = session.read({"previous_response_id": "resp_mine"})
    assert heard(request) == [("user", "q"), ("assistant", "a")]
    item = {"type": "item_reference", "id": made["output"][0]["id"]}
    assert heard(session.read({"input": [item]})) == [("assistant", "a")]


def test_response_that_continues_one_of_its_own_id_ends_the_history() -> None:
    session = Session()
    session.ask(numbered(1, TextPart("a"), id="resp_mine"), input="q1")
    body = {"input": "q2", "previous_response_id": "resp_mine"}
    session.ask(numbered(2, TextPart("b"), id="resp_mine"), **body)
    assert heard(session.read(body)) == [("user", "q2"), ("assistant", "b"), ("user", "q2")]


@pytest.mark.parametrize("data", [b"", b"not JSON", b"{}\n{}", b"null\nnull\n"])
def test_stored_file_is_no_previous_response(data: bytes) -> None:
    session = Session()
    session.kept["file-1"] = file_write(File("file-1", 0, 1, "a", "batch", data)).data or b""
    error = refusal_of(session, previous_response_id="file-1")
    assert error.code == "previous_response_not_found"
    with pytest.raises(WireError, match="not found"):
        session.compute("GET", "/v1/responses/file-1")


def test_an_item_may_be_referred_to() -> None:
    session = Session()
    first = session.ask(numbered(1, ReasoningPart("Hm."), CALL), input="q")
    items: list[Any] = [
        {"role": "user", "content": "q"},
        *({"type": "item_reference", "id": item["id"]} for item in first["output"]),
        RESULT,
    ]
    request = session.read({"input": items})
    assert [message.role for message in request.messages] == ["user", "assistant", "tool"]
    sealed = first["output"][0]["encrypted_content"]
    assert request.messages[1].parts == (ReasoningPart("Hm.", signature=sealed), CALL)
    assert request.tool_results == (ToolResultPart("c1", "f", "done"),)


def test_input_items_can_be_referenced() -> None:
    session = Session()
    first = session.ask(numbered(1, TextPart("a")), input="q")
    page = session.computed("GET", f"/v1/responses/{first['id']}/input_items")
    item = {"id": page["data"][0]["id"]}
    assert heard(session.read({"input": [item]})) == [("user", "q")]


def test_a_reference_is_kept_as_what_it_refers_to() -> None:
    session = Session()
    first = session.ask(numbered(1, TextPart("a")), input="q")
    items = [{"type": "item_reference", "id": first["output"][0]["id"]}]
    second = session.ask(numbered(2, TextPart("b")), input=items)
    del session.kept[first["id"]]
    request = session.read({"previous_response_id": second["id"]})
    assert heard(request) == [("assistant", "a"), ("assistant", "b")]


@pytest.mark.parametrize("name", ["msg_nobody", f"msg_{9:032x}00", f"msg_{1:032x}77", "x"])
def test_an_item_that_is_not_kept_is_a_404_as_at_the_real_api(name: str) -> None:
    session = Session()
    session.ask(numbered(1, TextPart("a")), input="q")
    error = refusal_of(session, input=[{"type": "item_reference", "id": name}])
    assert (error.status, error.param, error.code) == (404, "input", "item_not_found")
    assert f"'{name}'" in error.message


def test_a_conversation_goes_on_under_its_name() -> None:
    session = Session()
    assert heard(session.read({"input": "q1", "conversation": "conv_1"})) == [("user", "q1")]
    for i in (1, 2):
        session.ask(numbered(i, TextPart(f"a{i}")), input=f"q{i}", conversation={"id": "conv_1"})
    request = session.read({"input": "q3", "conversation": "conv_1"})
    assert [text for _, text in heard(request)] == ["q1", "a1", "q2", "a2", "q3"]
    assert heard(session.read({"input": "q", "conversation": "conv_2"})) == [("user", "q")]


def test_a_conversation_goes_before_an_answer_that_is_named_beside_it() -> None:
    session = Session()
    session.ask(numbered(1, TextPart("a1")), input="q1", conversation="conv_1")
    body = {"input": "q2", "conversation": "conv_1", "previous_response_id": "resp_nobody"}
    assert heard(session.read(body)) == [("user", "q1"), ("assistant", "a1"), ("user", "q2")]


def test_a_conversation_is_no_answer() -> None:
    session = Session()
    session.ask(numbered(1, TextPart("a1")), input="q1", conversation="c")
    names = [name for name in session.kept if not name.startswith("resp_")]
    assert len(names) == 1
    with pytest.raises(Exception, match="not found"):
        session.compute("GET", f"/v1/responses/{names[0].replace(' ', '%20')}")


@pytest.mark.parametrize("name", EXAMPLE_IDS)
def test_the_examples_of_the_api_description_are_always_there(name: str) -> None:
    request = Session().read({"input": "And?", "previous_response_id": name})
    assert [message.role for message in request.messages] == ["user", "assistant", "user"]


def test_a_compacted_conversation_is_all_there() -> None:
    session = Session()
    first = session.ask(numbered(1, CALL), input="q1")
    body = {"model": "gpt-4o", "previous_response_id": first["id"], "input": [RESULT]}
    compacted = session.computed("POST", "/v1/responses/compact", body)
    (item,) = compacted["output"]
    assert (item["type"], compacted["object"]) == ("compaction", "response.compaction")
    request = session.read({"input": [item, {"role": "user", "content": "q2"}]})
    assert [message.role for message in request.messages] == ["user", "assistant", "tool", "user"]
    assert request.tool_results == (ToolResultPart("c1", "f", "done"),)
    again = session.computed("POST", "/v1/responses/compact", {"input": [item]})
    assert session.read({"input": again["output"]}).messages == request.messages[:-1]


@pytest.mark.parametrize("content", ["x", "", "gAAAA", base64.b64encode(b"[]").decode()])
def test_a_compaction_of_elsewhere_is_passed_over(content: str) -> None:
    item = {"type": "compaction", "encrypted_content": content}
    assert Session().read({"input": [item]}).messages == ()


@pytest.mark.parametrize(
    "held",
    [
        *("!", "größe", "bm9uZQ==", "////"),
        *(
            base64.b64encode(held.encode()).decode()
            for held in ("{}", '{"items":1}', '{"items":[1]}', "[]", "{")
        ),
    ],
)
def test_a_compaction_that_was_spoiled_is_refused(held: str) -> None:
    error = refusal_of(input=[{"type": "compaction", "encrypted_content": f"mockllm.{held}"}])
    assert (error.status, error.param) == (400, "input[0].encrypted_content")


def test_a_refusal_and_its_place_are_kept() -> None:
    session = Session()
    first = session.ask(numbered(1, RefusalPart("No.")), input="q")
    request = session.read({"previous_response_id": first["id"]})
    assert request.messages[1].parts == (RefusalPart("No."),)


def test_invalid_reference_is_rejected_with_its_path() -> None:
    error = refusal_of(input=[{"type": "item_reference", "id": 1}])
    assert error.param == "input[0].id"


OUTPUT = {
    "type": "message",
    "role": "assistant",
    "content": [{"type": "output_text", "text": "Hi"}],
}
RECORDED = {"id": "resp_recorded", "object": "response", "output": [OUTPUT]}


@pytest.mark.parametrize("stream", [True, False])
def test_a_request_goes_on_from_a_recorded_answer(stream: bool) -> None:
    session = Session()
    request = session.read({"input": "Hello", "stream": stream})
    whole = json.dumps(RECORDED).encode()
    event = b': a comment\n\ndata: {"response": ' + whole + b"}\n\ndata: {broken\n\n"
    for kept in CREATE.archival.record_body(request, event if stream else whole):  # type: ignore[union-attr]
        assert kept.data is not None
        session.kept[kept.name] = kept.data
    body = {"input": "And?", "previous_response_id": "resp_recorded"}
    assert heard(session.read(body)) == [("user", "Hello"), ("assistant", "Hi"), ("user", "And?")]


def test_a_recorded_answer_of_a_conversation_is_its_latest() -> None:
    request = Session().read({"input": "Hello"})
    named = replace(request, own=replace(request.own, conversation="conv_1"))
    names = [kept.name for kept in record_replayed(named, json.dumps(RECORDED).encode())]
    assert names[1:] == ["resp_recorded", "conversation conv_1"]


@pytest.mark.parametrize("body", [b"", b"{broken", b"[7]", b'{"id": 7}', b"data: 7\n\n"])
def test_a_recorded_answer_without_a_name_is_not_kept(body: bytes) -> None:
    assert record_replayed(Session().read({"input": "Hello"}), body) == ()


@pytest.mark.parametrize("key", ["id", "note"])
def test_recorded_response_with_half_a_surrogate_pair_is_not_stored(key: str) -> None:
    body = json.dumps(RECORDED | {key: "\ud83d"}).encode()
    assert record_replayed(Session().read({"input": "Hello"}), body) == ()


def test_a_recorded_answer_that_is_not_to_be_stored_is_not() -> None:
    request = Session().read({"input": "Hello", "store": False})
    assert record_replayed(request, json.dumps(RECORDED).encode()) == ()
