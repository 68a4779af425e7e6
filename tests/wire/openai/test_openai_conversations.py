"""OpenAI's conversations: create, retrieve, change and delete, and requests that continue them."""

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
from tests.wire.json_strategies import JSON
from tests.wire.openai.responses_cases import CALL_1, PATH, RESULT_1, Session
from tests.wire.openai.test_openai_responses_history import numbered_response, role_texts

CONVERSATIONS = "/v1/conversations"
CONVERSATION = f"{CONVERSATIONS}/conv_1"
USER = {"role": "user", "content": "Hello"}
ASSISTANT = {"role": "assistant", "content": "Hi"}


@pytest.fixture
def session() -> Session:
    return Session()


def read_texts(session: Session, path: str = CONVERSATION, **query: str) -> list[str]:
    """Return the texts of a conversation's items in order."""
    page = session.compute_json("GET", f"{path}/items", order="asc", **query)
    return [item["content"][0]["text"] for item in page["data"]]


def catch_error(session: Session, method: str, path: str, body: Any = None) -> ErrorAnswer:
    with pytest.raises(WireError) as raised:
        session.compute(method, path, body)
    return raised.value.answer


def test_conversation_is_created_with_metadata_and_items(session: Session) -> None:
    body = {"metadata": {"topic": "demo"}, "items": [USER, ASSISTANT]}
    conversation = session.compute_json("POST", CONVERSATIONS, body)
    validate_type(type_=Conversation, value=conversation)
    assert (conversation["metadata"], conversation["created_at"]) == ({"topic": "demo"}, 1735689600)
    assert conversation["id"].startswith("conv_")
    assert session.compute_json("GET", f"{CONVERSATIONS}/{conversation['id']}") == conversation
    assert read_texts(session, f"{CONVERSATIONS}/{conversation['id']}") == ["Hello", "Hi"]
    assert session.compute_json("POST", CONVERSATIONS, {})["id"] != conversation["id"]


def test_unknown_conversation_is_empty(session: Session) -> None:
    conversation = session.compute_json("GET", CONVERSATION)
    validate_type(type_=Conversation, value=conversation)
    assert (conversation["id"], conversation["metadata"]) == ("conv_1", {})
    page = session.compute_json("GET", f"{CONVERSATION}/items")
    validate_type(type_=SyncConversationCursorPage[ConversationItem], value=page)
    assert (page["data"], page["has_more"]) == ([], False)


def test_update_replaces_metadata_only(session: Session) -> None:
    conversation = session.compute_json(
        "POST", CONVERSATIONS, {"metadata": {"a": "1"}, "items": [USER]}
    )
    path = f"{CONVERSATIONS}/{conversation['id']}"
    changed = session.compute_json("POST", path, {"metadata": {"b": "2"}})
    assert changed == {**conversation, "metadata": {"b": "2"}}
    assert session.compute_json("GET", path) == changed
    assert read_texts(session, path) == ["Hello"]


def test_new_items_are_appended(session: Session) -> None:
    first = session.compute_json("POST", f"{CONVERSATION}/items", {"items": [USER, CALL_1]})
    validate_type(type_=ConversationItemList, value=first)
    session.compute_json("POST", f"{CONVERSATION}/items", {"items": [RESULT_1]})
    page = session.compute_json("GET", f"{CONVERSATION}/items")
    validate_type(type_=SyncConversationCursorPage[ConversationItem], value=page)
    assert [item["type"] for item in page["data"]] == [
        "function_call_output",
        "function_call",
        "message",
    ]
    assert page["data"][1:] == first["data"][::-1]
    assert len({item["id"] for item in page["data"]}) == 3


def test_request_continues_a_conversation_with_its_items(session: Session) -> None:
    conversation_id = session.compute_json("POST", CONVERSATIONS, {"items": [USER, ASSISTANT]})[
        "id"
    ]
    request = session.read({"input": "And?", "conversation": conversation_id})
    assert role_texts(request) == [("user", "Hello"), ("assistant", "Hi"), ("user", "And?")]
    assert request.turn == 2
    answer = session.respond(
        numbered_response(1, TextPart("So.")), input="And?", conversation=conversation_id
    )
    assert answer["previous_response_id"] is None
    assert read_texts(session, f"{CONVERSATIONS}/{conversation_id}") == [
        "Hello",
        "Hi",
        "And?",
        "So.",
    ]
    session.compute_json("POST", f"{CONVERSATIONS}/{conversation_id}/items", {"items": [USER]})
    assert read_texts(session, f"{CONVERSATIONS}/{conversation_id}")[-2:] == ["So.", "Hello"]


def test_items_are_listed_in_pages(session: Session) -> None:
    items = [{"role": "user", "content": str(i)} for i in range(5)]
    session.compute_json("POST", f"{CONVERSATION}/items", {"items": items})
    page = session.compute_json("GET", f"{CONVERSATION}/items", limit="2", order="asc")
    assert page["has_more"] and page["last_id"] == page["data"][1]["id"]
    assert read_texts(session, after=page["last_id"]) == ["2", "3", "4"]
    newest = session.compute_json("GET", f"{CONVERSATION}/items", limit="1")["data"][0]
    assert newest["content"][0]["text"] == "4"


def test_item_is_retrieved_and_deleted(session: Session) -> None:
    first, second = session.compute_json(
        "POST", f"{CONVERSATION}/items", {"items": [USER, ASSISTANT]}
    )["data"]
    assert session.compute_json("GET", f"{CONVERSATION}/items/{first['id']}") == first
    conversation = session.compute_json("DELETE", f"{CONVERSATION}/items/{first['id']}")
    validate_type(type_=Conversation, value=conversation)
    assert conversation["id"] == "conv_1"
    assert read_texts(session) == ["Hi"]
    error = catch_error(session, "GET", f"{CONVERSATION}/items/{first['id']}")
    assert (error.status, error.code) == (404, "item_not_found")
    session.compute_json("DELETE", f"{CONVERSATION}/items/{second['id']}")
    assert role_texts(session.read({"input": "q", "conversation": "conv_1"})) == [("user", "q")]


@pytest.mark.parametrize("method", ["GET", "DELETE"])
def test_an_item_of_another_conversation_is_not_found(session: Session, method: str) -> None:
    (item,) = session.compute_json("POST", f"{CONVERSATIONS}/conv_2/items", {"items": [USER]})[
        "data"
    ]
    error = catch_error(session, method, f"{CONVERSATION}/items/{item['id']}")
    assert error.status == 404
    assert error.message == f"Item with id '{item['id']}' not found in conversation 'conv_1'."


def test_example_item_is_in_every_conversation_but_not_listed(session: Session) -> None:
    item = session.compute_json("GET", f"{CONVERSATION}/items/msg_abc")
    validate_type(type_=ConversationItem, value=item)
    session.compute_json("DELETE", f"{CONVERSATION}/items/msg_abc")
    assert session.compute_json("GET", f"{CONVERSATION}/items/msg_abc") == item
    assert read_texts(session) == []


def test_items_of_a_deleted_response_stay_in_the_conversation(session: Session) -> None:
    first = session.respond(numbered_response(1, TextPart("a1")), input="q1", conversation="conv_1")
    session.respond(numbered_response(2, TextPart("a2")), input="q2", conversation="conv_1")
    assert session.compute_json("DELETE", f"{PATH}/{first['id']}")["deleted"] is True
    assert read_texts(session, CONVERSATION) == ["q1", "a1", "q2", "a2"]
    with pytest.raises(WireError, match="not found"):
        session.compute("GET", f"{PATH}/{first['id']}")
    with pytest.raises(WireError, match="not found"):
        session.read({"previous_response_id": first["id"]})


def test_deleted_conversation_is_empty(session: Session) -> None:
    conversation_id = session.compute_json(
        "POST", CONVERSATIONS, {"metadata": {"a": "1"}, "items": [USER]}
    )["id"]
    deleted = session.compute_json("DELETE", f"{CONVERSATIONS}/{conversation_id}")
    validate_type(type_=ConversationDeletedResource, value=deleted)
    assert deleted["id"] == conversation_id
    assert session.compute_json("GET", f"{CONVERSATIONS}/{conversation_id}")["metadata"] == {}
    assert read_texts(session, f"{CONVERSATIONS}/{conversation_id}") == []


def test_added_items_can_be_referenced_but_are_no_response(session: Session) -> None:
    (item,) = session.compute_json("POST", f"{CONVERSATION}/items", {"items": [USER]})["data"]
    reference = {"type": "item_reference", "id": item["id"]}
    assert role_texts(session.read({"input": [reference]})) == [("user", "Hello")]
    record_name = f"resp_{item['id'].removeprefix('msg_')[:32]}"
    assert record_name in session.records
    error = catch_error(session, "GET", f"{PATH}/{record_name}")
    assert (error.status, error.code) == (404, "response_not_found")


@pytest.mark.parametrize(
    ("path", "body", "param"),
    [
        (f"{CONVERSATION}/items", {}, "items"),
        (f"{CONVERSATION}/items", {"items": "x"}, "items"),
        (
            f"{CONVERSATION}/items",
            {"items": [USER, {"role": "nobody", "content": ""}]},
            "items[1].role",
        ),
        (CONVERSATIONS, {"items": [{"type": "message", "role": "user"}]}, "items[0].content"),
        (
            CONVERSATIONS,
            {"items": [{"type": "mcp_list_tools", "tools": [{}]}]},
            "items[0].server_label",
        ),
        (
            CONVERSATIONS,
            {"items": [pack_items([{"role": "user"}], item_id="cmp_1")]},
            "items[0].content",
        ),
        (CONVERSATIONS, {"metadata": {"a": 1}}, "metadata.a"),
        (CONVERSATION, {}, "metadata"),
    ],
)
def test_invalid_field_is_rejected_with_its_path(
    session: Session, path: str, body: Any, param: str
) -> None:
    error = catch_error(session, "POST", path, body)
    assert (error.status, error.param) == (400, param)
    assert not session.records


@pytest.mark.parametrize("base", ["/openai/v1", "/openai"])
def test_azure_paths_share_the_conversations(session: Session, base: str) -> None:
    conversation_id = session.compute_json("POST", f"{base}/conversations", {"items": [USER]})["id"]
    assert read_texts(session, f"{CONVERSATIONS}/{conversation_id}") == ["Hello"]
    assert (
        session.compute_json("GET", f"{base}/conversations/{conversation_id}")["id"]
        == conversation_id
    )


ITEMS = st.lists(st.sampled_from([USER, ASSISTANT, CALL_1, RESULT_1]), min_size=1, max_size=6)


@given(ITEMS)
def test_valid_items_are_added(items: list[Any]) -> None:
    session = Session()
    added_items = session.compute_json("POST", f"{CONVERSATION}/items", {"items": items})["data"]
    assert len(added_items) == len(items)
    assert (
        session.compute_json("GET", f"{CONVERSATION}/items", limit="100", order="asc")["data"]
        == added_items
    )


@given(ITEMS, JSON)
def test_arbitrary_items_are_all_added_or_all_rejected(items: list[Any], extra_item: Any) -> None:
    session = Session()
    try:
        session.compute("POST", f"{CONVERSATION}/items", {"items": [*items, extra_item]})
        expected = len(items) + 1
    except WireError as error:
        assert error.answer.status in (400, 404)
        assert json.loads(WIRE.error(error.answer, request_id="f00d"))["error"]["message"]
        expected = 0
    stored_items = session.compute_json("GET", f"{CONVERSATION}/items", limit="100")["data"]
    assert len(stored_items) == expected


@given(JSON.filter(lambda items: not isinstance(items, list)))
def test_items_that_are_not_a_list_are_rejected(items: Any) -> None:
    answer = catch_error(Session(), "POST", f"{CONVERSATION}/items", {"items": items})
    assert (answer.status, answer.param) == (400, "items")
