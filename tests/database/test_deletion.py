"""A conversation is deleted while another process writes to it, or begins to."""

import pytest

from tests.database.two import Two

Asked = tuple[str, dict[str, str]]

TO_MESSAGE = 'INSERT INTO "chat_app_message"'
TO_EVENT = 'INSERT INTO "traces_app_traceevent"'
OF_CONVERSATION = 'DELETE FROM "chat_app_conversation"'
# The first deletion of a run's rows.
OF_EVENTS = 'DELETE FROM "traces_app_traceevent"'


@pytest.fixture
def conversation(two: Two) -> str:
    return str(two.do("conversation")["id"])


def sending(conversation: str) -> Asked:
    return ("send", {"conversation": conversation, "text": "Hello"})


def deleting(conversation: str) -> Asked:
    return ("delete", {"conversation": conversation})


def test_a_message_on_its_way_is_deleted_with_its_conversation(two: Two, conversation: str) -> None:
    sent, deleted = two.meanwhile(sending(conversation), deleting(conversation), hold=TO_MESSAGE)
    assert "trace" in sent
    assert deleted == {"deleted": True}
    assert two.do("messages", conversation=conversation) == {"messages": []}


def test_a_message_to_a_conversation_that_is_being_deleted_finds_none(
    two: Two, conversation: str
) -> None:
    assert two.meanwhile(deleting(conversation), sending(conversation), hold=OF_CONVERSATION) == [
        {"deleted": True},
        {"refused": "NOT_FOUND"},
    ]


def test_running_answer_is_deleted_with_its_conversation(two: Two, conversation: str) -> None:
    trace = two.do("send", conversation=conversation, text="Hello")["trace"]
    saying = ("say", {"trace": trace, "texts": ["Good", " day"]})
    assert two.meanwhile(saying, deleting(conversation), hold=TO_EVENT) == [
        {"lost": False},
        {"deleted": True},
    ]


def test_message_to_a_conversation_being_deleted_is_lost(two: Two, conversation: str) -> None:
    trace = two.do("send", conversation=conversation, text="Hello", by_other=True)["trace"]
    saying = ("say", {"trace": trace, "texts": ["Good", " day"]})
    assert two.meanwhile(deleting(conversation), saying, hold=OF_EVENTS) == [
        {"deleted": True},
        {"lost": True},
    ]


def test_an_answer_that_is_being_stored_is_deleted_with_its_conversation(
    two: Two, conversation: str
) -> None:
    trace = two.do("send", conversation=conversation, text="Hello")["trace"]
    assert two.do("say", trace=trace, texts=["Good", " day"]) == {"lost": False}
    ending = ("end_dead", {"trace": trace})
    assert two.meanwhile(ending, deleting(conversation), hold=TO_MESSAGE) == [
        {"ended": 1},
        {"deleted": True},
    ]


def test_a_conversation_that_somebody_goes_on_with_is_not_forgotten(
    two: Two, conversation: str
) -> None:
    two.do("age", conversation=conversation)
    sent, forgotten = two.meanwhile(sending(conversation), ("forget", {}), hold=TO_MESSAGE)
    assert "trace" in sent
    assert forgotten == {"forgotten": 0}


def test_a_message_to_a_conversation_that_is_being_forgotten_finds_none(
    two: Two, conversation: str
) -> None:
    two.do("age", conversation=conversation)
    assert two.meanwhile(("forget", {}), sending(conversation), hold=OF_CONVERSATION) == [
        {"forgotten": 1},
        {"refused": "NOT_FOUND"},
    ]
