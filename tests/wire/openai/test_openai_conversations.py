"""OpenAI's conversations: made, told of, filled and emptied, and what a request hears of them."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from openai._models import validate_type
from openai.pagination import SyncConversationCursorPage
from openai.types.conversations import (
    Conversation,
    ConversationDeletedResource,
    ConversationItem,
    ConversationItemList,
)

from scenarios_app.engine.canonical import ErrorAnswer
from scenarios_app.engine.parts import TextPart
from scenarios_app.wire.errors import WireError
from scenarios_app.wire.openai.responses.items import pack_items
from scenarios_app.wire.openai.responses.wire import WIRE
from tests.wire.openai.responses_cases import CALL_1, PATH, RESULT_1, Session
from tests.wire.openai.test_openai_responses_history import heard, numbered
from tests.wire.typed import JSON

ALL = "/v1/conversations"
ONE = f"{ALL}/conv_1"
USER = {"role": "user", "content": "Hello"}
ASSISTANT = {"role": "assistant", "content": "Hi"}


@pytest.fixture
def session() -> Session:
    return Session()


def texts(session: Session, path: str = ONE, **query: str) -> list[str]:
    """What the items of a conversation say, in their order."""
    page = session.computed("GET", f"{path}/items", order="asc", **query)
    return [item["content"][0]["text"] for item in page["data"]]


def refused(session: Session, method: str, path: str, body: Any = None) -> ErrorAnswer:
    with pytest.raises(WireError) as error:
        session.compute(method, path, body)
    return error.value.answer


def test_a_conversation_is_made_with_metadata_and_items(session: Session) -> None:
    body = {"metadata": {"topic": "demo"}, "items": [USER, ASSISTANT]}
    made = session.computed("POST", ALL, body)
    validate_type(type_=Conversation, value=made)
    assert (made["metadata"], made["created_at"]) == ({"topic": "demo"}, 1735689600)
    assert made["id"].startswith("conv_")
    assert session.computed("GET", f"{ALL}/{made['id']}") == made
    assert texts(session, f"{ALL}/{made['id']}") == ["Hello", "Hi"]
    assert session.computed("POST", ALL, {})["id"] != made["id"]


def test_a_conversation_that_nobody_made_is_empty(session: Session) -> None:
    found = session.computed("GET", ONE)
    validate_type(type_=Conversation, value=found)
    assert (found["id"], found["metadata"]) == ("conv_1", {})
    page = session.computed("GET", f"{ONE}/items")
    validate_type(type_=SyncConversationCursorPage[ConversationItem], value=page)
    assert (page["data"], page["has_more"]) == ([], False)


def test_metadata_is_replaced_and_the_rest_stays(session: Session) -> None:
    made = session.computed("POST", ALL, {"metadata": {"a": "1"}, "items": [USER]})
    path = f"{ALL}/{made['id']}"
    changed = session.computed("POST", path, {"metadata": {"b": "2"}})
    assert changed == {**made, "metadata": {"b": "2"}}
    assert session.computed("GET", path) == changed
    assert texts(session, path) == ["Hello"]


def test_items_are_added_after_those_that_are_there(session: Session) -> None:
    first = session.computed("POST", f"{ONE}/items", {"items": [USER, CALL_1]})
    validate_type(type_=ConversationItemList, value=first)
    session.computed("POST", f"{ONE}/items", {"items": [RESULT_1]})
    page = session.computed("GET", f"{ONE}/items")
    validate_type(type_=SyncConversationCursorPage[ConversationItem], value=page)
    assert [item["type"] for item in page["data"]] == [
        "function_call_output",
        "function_call",
        "message",
    ]
    assert page["data"][1:] == first["data"][::-1]
    assert len({item["id"] for item in page["data"]}) == 3


def test_an_answer_goes_on_with_the_items_that_were_added(session: Session) -> None:
    made = session.computed("POST", ALL, {"items": [USER, ASSISTANT]})["id"]
    request = session.read({"input": "And?", "conversation": made})
    assert heard(request) == [("user", "Hello"), ("assistant", "Hi"), ("user", "And?")]
    assert request.turn == 2
    answer = session.ask(numbered(1, TextPart("So.")), input="And?", conversation=made)
    assert answer["previous_response_id"] is None
    assert texts(session, f"{ALL}/{made}") == ["Hello", "Hi", "And?", "So."]
    session.computed("POST", f"{ALL}/{made}/items", {"items": [USER]})
    assert texts(session, f"{ALL}/{made}")[-2:] == ["So.", "Hello"]


def test_items_come_in_pages(session: Session) -> None:
    items = [{"role": "user", "content": str(i)} for i in range(5)]
    session.computed("POST", f"{ONE}/items", {"items": items})
    page = session.computed("GET", f"{ONE}/items", limit="2", order="asc")
    assert page["has_more"] and page["last_id"] == page["data"][1]["id"]
    assert texts(session, after=page["last_id"]) == ["2", "3", "4"]
    newest = session.computed("GET", f"{ONE}/items", limit="1")["data"][0]
    assert newest["content"][0]["text"] == "4"


def test_one_item_is_had_and_taken_out(session: Session) -> None:
    first, second = session.computed("POST", f"{ONE}/items", {"items": [USER, ASSISTANT]})["data"]
    assert session.computed("GET", f"{ONE}/items/{first['id']}") == first
    left = session.computed("DELETE", f"{ONE}/items/{first['id']}")
    validate_type(type_=Conversation, value=left)
    assert left["id"] == "conv_1"
    assert texts(session) == ["Hi"]
    error = refused(session, "GET", f"{ONE}/items/{first['id']}")
    assert (error.status, error.code) == (404, "item_not_found")
    session.computed("DELETE", f"{ONE}/items/{second['id']}")
    assert heard(session.read({"input": "q", "conversation": "conv_1"})) == [("user", "q")]


@pytest.mark.parametrize("method", ["GET", "DELETE"])
def test_an_item_of_another_conversation_is_not_found(session: Session, method: str) -> None:
    (item,) = session.computed("POST", f"{ALL}/conv_2/items", {"items": [USER]})["data"]
    error = refused(session, method, f"{ONE}/items/{item['id']}")
    assert error.status == 404
    assert error.message == f"Item with id '{item['id']}' not found in conversation 'conv_1'."


def test_the_descriptions_example_is_in_every_conversation_and_in_no_list(session: Session) -> None:
    item = session.computed("GET", f"{ONE}/items/msg_abc")
    validate_type(type_=ConversationItem, value=item)  # type: ignore[arg-type]
    session.computed("DELETE", f"{ONE}/items/msg_abc")
    assert session.computed("GET", f"{ONE}/items/msg_abc") == item
    assert texts(session) == []


def test_items_of_a_deleted_response_stay_in_the_conversation(session: Session) -> None:
    first = session.ask(numbered(1, TextPart("a1")), input="q1", conversation="conv_1")
    session.ask(numbered(2, TextPart("a2")), input="q2", conversation="conv_1")
    assert session.computed("DELETE", f"{PATH}/{first['id']}")["deleted"] is True
    assert texts(session, ONE) == ["q1", "a1", "q2", "a2"]
    with pytest.raises(WireError, match="not found"):
        session.compute("GET", f"{PATH}/{first['id']}")
    with pytest.raises(WireError, match="not found"):
        session.read({"previous_response_id": first["id"]})


def test_a_deleted_conversation_is_new_again(session: Session) -> None:
    made = session.computed("POST", ALL, {"metadata": {"a": "1"}, "items": [USER]})["id"]
    gone = session.computed("DELETE", f"{ALL}/{made}")
    validate_type(type_=ConversationDeletedResource, value=gone)
    assert gone["id"] == made
    assert session.computed("GET", f"{ALL}/{made}")["metadata"] == {}
    assert texts(session, f"{ALL}/{made}") == []


def test_added_items_can_be_referred_to_and_are_no_response(session: Session) -> None:
    (item,) = session.computed("POST", f"{ONE}/items", {"items": [USER]})["data"]
    reference = {"type": "item_reference", "id": item["id"]}
    assert heard(session.read({"input": [reference]})) == [("user", "Hello")]
    owner = f"resp_{item['id'].removeprefix('msg_')[:32]}"
    assert owner in session.kept
    error = refused(session, "GET", f"{PATH}/{owner}")
    assert (error.status, error.code) == (404, "response_not_found")


@pytest.mark.parametrize(
    ("path", "body", "place"),
    [
        (f"{ONE}/items", {}, "items"),
        (f"{ONE}/items", {"items": "x"}, "items"),
        (f"{ONE}/items", {"items": [USER, {"role": "nobody", "content": ""}]}, "items[1].role"),
        (ALL, {"items": [{"type": "message", "role": "user"}]}, "items[0].content"),
        (ALL, {"items": [{"type": "mcp_list_tools", "tools": [{}]}]}, "items[0].server_label"),
        (ALL, {"items": [pack_items([{"role": "user"}], item_id="cmp_1")]}, "items[0].content"),
        (ALL, {"metadata": {"a": 1}}, "metadata.a"),
        (ONE, {}, "metadata"),
    ],
)
def test_invalid_field_is_named(session: Session, path: str, body: Any, place: str) -> None:
    error = refused(session, "POST", path, body)
    assert (error.status, error.param) == (400, place)
    assert not session.kept


@pytest.mark.parametrize("base", ["/openai/v1", "/openai"])
def test_azure_has_them_too(session: Session, base: str) -> None:
    made = session.computed("POST", f"{base}/conversations", {"items": [USER]})["id"]
    assert texts(session, f"{ALL}/{made}") == ["Hello"]
    assert session.computed("GET", f"{base}/conversations/{made}")["id"] == made


ITEMS = st.lists(st.sampled_from([USER, ASSISTANT, CALL_1, RESULT_1]), min_size=1, max_size=6)


@given(ITEMS)
def test_any_legal_items_are_added(items: list[Any]) -> None:
    session = Session()
    added = session.computed("POST", f"{ONE}/items", {"items": items})["data"]
    assert len(added) == len(items)
    assert session.computed("GET", f"{ONE}/items", limit="100", order="asc")["data"] == added


@given(ITEMS, JSON)
def test_any_items_are_added_or_refused_and_leave_nothing(items: list[Any], odd: Any) -> None:
    """Whatever stands behind legal ones."""
    session = Session()
    try:
        session.compute("POST", f"{ONE}/items", {"items": [*items, odd]})
        expected = len(items) + 1
    except WireError as error:
        assert error.answer.status in (400, 404)
        assert json.loads(WIRE.error(error.answer, request_id="f00d"))["error"]["message"]
        expected = 0
    kept = session.computed("GET", f"{ONE}/items", limit="100")["data"]
    assert len(kept) == expected


@given(JSON.filter(lambda items: not isinstance(items, list)))
def test_items_that_are_not_a_list_are_rejected(items: Any) -> None:
    answer = refused(Session(), "POST", f"{ONE}/items", {"items": items})
    assert (answer.status, answer.param) == (400, "items")
