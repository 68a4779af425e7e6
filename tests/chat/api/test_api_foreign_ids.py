"""One's own `client_id` with what belongs to somebody else: ids, searches, feedback, names."""

from typing import Any

import pytest

from chat_app.models import Conversation, Message
from tests.chat.asking import Api
from tests.chat.chatting import scenario
from tests.chat.routes import Things
from tests.support.live_server import Live
from traces_app.models import Trace

SECRET = "Vantablack umbrella"
COMMENT = "a comment of the owner's"


@pytest.fixture
def theirs(live: Live, api: Api) -> Things:
    """One conversation of the reader's with an answer."""
    live.load(scenario({"text": SECRET}, {"text": "Mine"}, {"text": "Mine too"}))
    sent = api.send(f"Say {SECRET}", client_message_id="m-1")
    api.post("feedback", message_id=sent.last["message_id"], feedback="like", comment=COMMENT)
    return Things(sent.conversation_id, sent.last["message_id"], sent.trace_id, "")


@pytest.fixture
def intruder(live: Live, theirs: Things) -> Api:
    """Another client, with a conversation of its own."""
    other = Api(live.base_url, "intruder")
    other.send("Hello")
    return other


def own(client_id: str) -> Things:
    trace = Trace.objects.select_related("conversation").get(conversation__client_id=client_id)
    return Things(str(trace.conversation_id), str(trace.message_id), str(trace.pk), "")


@pytest.mark.parametrize(
    "text", [SECRET, "vanta", "%", "_", "' OR 1=1 --", "\\", "*", COMMENT, "like"]
)
def test_search_finds_nothing_of_another_client(intruder: Api, theirs: Things, text: str) -> None:
    found = intruder.get("list_conversations", q=text)
    assert found.status_code == 200
    assert theirs.conversation not in found.text
    assert SECRET not in found.text


@pytest.mark.parametrize("client_id", ["Reader", "reader%", "%", "_eader", "reader\u200b", "*"])
def test_client_id_that_looks_like_anothers_sees_nothing(
    live: Live, theirs: Things, client_id: str
) -> None:
    other = Api(live.base_url, client_id)
    assert other.get("list_conversations").json() == {"conversations": []}
    loaded = other.get("load_conversation", conversation_id=theirs.conversation)
    assert loaded.status_code == 404


@pytest.mark.parametrize(
    ("path", "given"),
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
    intruder: Api, theirs: Things, path: str, given: dict[str, Any]
) -> None:
    mine = own("intruder")
    ids = {
        "conversation_id": {"own": mine.conversation, "theirs": theirs.conversation},
        "message_id": {"own": mine.message, "theirs": theirs.message},
        "trace_id": {"own": mine.trace, "theirs": theirs.trace},
    }
    body = {name: ids.get(name, {}).get(value, value) for name, value in given.items()}
    before = list(Message.objects.order_by("pk").values()), Conversation.objects.count()
    answer = intruder.post(path, **body)
    assert answer.status_code == 404
    assert SECRET not in answer.text
    assert (list(Message.objects.order_by("pk").values()), Conversation.objects.count()) == before


def test_anothers_answer_is_the_same_404_as_an_unknown_one(intruder: Api, theirs: Things) -> None:
    """So an id cannot be tried out."""
    unknown = "00000000-0000-4000-8000-000000000000"
    for path, name in (
        ("rename_conversation", "conversation_id"),
        ("delete_conversation", "conversation_id"),
        ("feedback", "message_id"),
        ("cancel_stream", "trace_id"),
    ):
        rest = {"title": "x"} if "rename" in path else {}
        rest |= {"feedback": "like"} if path == "feedback" else {}
        held = getattr(theirs, name.removesuffix("_id"))
        foreign = intruder.post(path, **{name: held}, **rest)
        missing = intruder.post(path, **{name: unknown}, **rest)
        assert (foreign.status_code, foreign.content) == (missing.status_code, missing.content)


def test_search_is_the_owners(api: Api, theirs: Things, intruder: Api) -> None:
    found = api.get("list_conversations", q="VANTABLACK").json()["conversations"]
    assert [one["conversation_id"] for one in found] == [theirs.conversation]
