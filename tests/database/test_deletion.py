"""A conversation is deleted while another process writes to it or begins to."""

import pytest

from tests.database.process_pair import ProcessPair

Operation = tuple[str, dict[str, str]]

INSERT_MESSAGE = 'INSERT INTO "chat_app_message"'
INSERT_EVENT = 'INSERT INTO "traces_app_traceevent"'
DELETE_CONVERSATION = 'DELETE FROM "chat_app_conversation"'
# The first deletion of a run's rows.
DELETE_EVENTS = 'DELETE FROM "traces_app_traceevent"'


@pytest.fixture
def conversation(processes: ProcessPair) -> str:
    return str(processes.run("conversation")["id"])


def send_operation(conversation: str) -> Operation:
    return ("send", {"conversation": conversation, "text": "Hello"})


def delete_operation(conversation: str) -> Operation:
    return ("delete", {"conversation": conversation})


def test_message_being_stored_is_deleted_with_its_conversation(
    processes: ProcessPair, conversation: str
) -> None:
    send_result, delete_result = processes.run_concurrently(
        send_operation(conversation), delete_operation(conversation), hold=INSERT_MESSAGE
    )
    assert "trace" in send_result
    assert delete_result == {"deleted": True}
    assert processes.run("messages", conversation=conversation) == {"messages": []}


def test_message_to_a_conversation_being_deleted_is_not_found(
    processes: ProcessPair, conversation: str
) -> None:
    assert processes.run_concurrently(
        delete_operation(conversation), send_operation(conversation), hold=DELETE_CONVERSATION
    ) == [
        {"deleted": True},
        {"refused": "NOT_FOUND"},
    ]


def test_running_answer_is_deleted_with_its_conversation(
    processes: ProcessPair, conversation: str
) -> None:
    trace = processes.run("send", conversation=conversation, text="Hello")["trace"]
    say_operation = ("say", {"trace": trace, "texts": ["Good", " day"]})
    assert processes.run_concurrently(
        say_operation, delete_operation(conversation), hold=INSERT_EVENT
    ) == [
        {"lost": False},
        {"deleted": True},
    ]


def test_texts_of_a_run_of_a_conversation_being_deleted_are_lost(
    processes: ProcessPair, conversation: str
) -> None:
    trace = processes.run("send", conversation=conversation, text="Hello", by_other=True)["trace"]
    say_operation = ("say", {"trace": trace, "texts": ["Good", " day"]})
    assert processes.run_concurrently(
        delete_operation(conversation), say_operation, hold=DELETE_EVENTS
    ) == [
        {"deleted": True},
        {"lost": True},
    ]


def test_an_answer_that_is_being_stored_is_deleted_with_its_conversation(
    processes: ProcessPair, conversation: str
) -> None:
    trace = processes.run("send", conversation=conversation, text="Hello")["trace"]
    assert processes.run("say", trace=trace, texts=["Good", " day"]) == {"lost": False}
    end_operation = ("end_dead", {"trace": trace})
    assert processes.run_concurrently(
        end_operation, delete_operation(conversation), hold=INSERT_MESSAGE
    ) == [
        {"ended": 1},
        {"deleted": True},
    ]


def test_old_conversation_that_is_continued_is_not_pruned(
    processes: ProcessPair, conversation: str
) -> None:
    processes.run("age", conversation=conversation)
    send_result, prune_result = processes.run_concurrently(
        send_operation(conversation), ("forget", {}), hold=INSERT_MESSAGE
    )
    assert "trace" in send_result
    assert prune_result == {"forgotten": 0}


def test_message_to_a_conversation_being_pruned_is_not_found(
    processes: ProcessPair, conversation: str
) -> None:
    processes.run("age", conversation=conversation)
    assert processes.run_concurrently(
        ("forget", {}), send_operation(conversation), hold=DELETE_CONVERSATION
    ) == [
        {"forgotten": 1},
        {"refused": "NOT_FOUND"},
    ]
