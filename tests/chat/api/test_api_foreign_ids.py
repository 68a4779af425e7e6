"""Requests with one's own `client_id` for rows of another client."""

from typing import Any

import pytest

from chat_app.models import Conversation, Message
from tests.chat.api_client import Api
from tests.chat.chat_helpers import scenario
from tests.chat.routes import ResourceIds
from tests.support.live_server import Live
from traces_app.models import Trace

SECRET = "Vantablack umbrella"
COMMENT = "a comment of the owner's"


@pytest.fixture
def owner_ids(live: Live, api: Api) -> ResourceIds:
    """The ids of a conversation of the reader, with an answer."""
    live.load(scenario({"text": SECRET}, {"text": "Mine"}, {"text": "Mine too"}))
    stream = api.send(f"Say {SECRET}", client_message_id="m-1")
    api.post("feedback", message_id=stream.last["message_id"], feedback="like", comment=COMMENT)
    return ResourceIds(stream.conversation_id, stream.last["message_id"], stream.trace_id, "")


@pytest.fixture
def intruder(live: Live, owner_ids: ResourceIds) -> Api:
    """Another client that has its own conversation."""
    other = Api(live.base_url, "intruder")
    other.send("Hello")
    return other


def ids_of_client(client_id: str) -> ResourceIds:
    trace = Trace.objects.select_related("conversation").get(conversation__client_id=client_id)
    return ResourceIds(str(trace.conversation_id), str(trace.message_id), str(trace.pk), "")


@pytest.mark.parametrize(
    "text", [SECRET, "vanta", "%", "_", "' OR 1=1 --", "\\", "*", COMMENT, "like"]
)
def test_search_finds_nothing_of_another_client(
    intruder: Api, owner_ids: ResourceIds, text: str
) -> None:
    response = intruder.get("list_conversations", q=text)
    assert response.status_code == 200
    assert owner_ids.conversation not in response.text
    assert SECRET not in response.text


@pytest.mark.parametrize("client_id", ["Reader", "reader%", "%", "_eader", "reader\u200b", "*"])
def test_client_id_that_looks_like_anothers_sees_nothing(
    live: Live, owner_ids: ResourceIds, client_id: str
) -> None:
    other = Api(live.base_url, client_id)
    assert other.get("list_conversations").json() == {"conversations": [], "next": None}
    response = other.get("load_conversation", conversation_id=owner_ids.conversation)
    assert response.status_code == 404


@pytest.mark.parametrize(
    ("path", "fields"),
    [
        ("rewind_conversation", {"conversation_id": "own", "message_id": "theirs"}),
        ("rewind_conversation", {"conversation_id": "theirs", "message_id": "own"}),
        ("cancel_stream", {"trace_id": "theirs"}),
        ("cancel_stream", {"conversation_id": "theirs"}),
        ("feedback", {"message_id": "theirs", "feedback": "dislike", "comment": "mine"}),
        ("feedback", {"message_id": "theirs", "feedback": None}),
        ("get_chat_response_stream", {"conversation_id": "theirs", "message": "More"}),
        (
            "get_chat_response_stream",
            {"conversation_id": "theirs", "message": "x", "client_message_id": "m-1"},
        ),
        ("ab/stream", {"conversation_id": "theirs", "message": "More"}),
    ],
)
def test_foreign_ids_beside_own_ones_are_404_and_change_nothing(
    intruder: Api, owner_ids: ResourceIds, path: str, fields: dict[str, Any]
) -> None:
    own_ids = ids_of_client("intruder")
    ids = {
        "conversation_id": {"own": own_ids.conversation, "theirs": owner_ids.conversation},
        "message_id": {"own": own_ids.message, "theirs": owner_ids.message},
        "trace_id": {"own": own_ids.trace, "theirs": owner_ids.trace},
    }
    body = {name: ids.get(name, {}).get(value, value) for name, value in fields.items()}
    before = list(Message.objects.order_by("pk").values()), Conversation.objects.count()
    response = intruder.post(path, **body)
    assert response.status_code == 404
    assert SECRET not in response.text
    assert (list(Message.objects.order_by("pk").values()), Conversation.objects.count()) == before


def test_foreign_id_gives_the_same_404_as_an_unknown_one(
    intruder: Api, owner_ids: ResourceIds
) -> None:
    """Ids cannot be probed."""
    unknown = "00000000-0000-4000-8000-000000000000"
    for path, name in (
        ("rename_conversation", "conversation_id"),
        ("delete_conversation", "conversation_id"),
        ("feedback", "message_id"),
        ("cancel_stream", "trace_id"),
    ):
        rest = {"title": "x"} if "rename" in path else {}
        rest |= {"feedback": "like"} if path == "feedback" else {}
        foreign_id = getattr(owner_ids, name.removesuffix("_id"))
        foreign = intruder.post(path, **{name: foreign_id}, **rest)
        missing = intruder.post(path, **{name: unknown}, **rest)
        assert (foreign.status_code, foreign.content) == (missing.status_code, missing.content)


def test_search_finds_the_owners_conversation(
    api: Api, owner_ids: ResourceIds, intruder: Api
) -> None:
    conversations = api.get("list_conversations", q="VANTABLACK").json()["conversations"]
    assert [conversation["conversation_id"] for conversation in conversations] == [
        owner_ids.conversation
    ]
