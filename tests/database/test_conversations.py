"""Two processes write to one conversation: messages, and answers to one message."""

from tests.database.process_pair import ProcessPair

INSERT_MESSAGE = 'INSERT INTO "chat_app_message"'


def test_second_of_two_concurrent_messages_is_a_conflict(processes: ProcessPair) -> None:
    conversation = processes.run("conversation")["id"]
    first, second = processes.run_concurrently(
        ("send", {"conversation": conversation, "text": "First"}),
        ("send", {"conversation": conversation, "text": "Second"}),
        hold=INSERT_MESSAGE,
    )
    assert "trace" in first
    assert second == {"refused": "CONFLICT"}
    assert processes.run("messages", conversation=conversation) == {
        "messages": [[1, "user", "First"]]
    }


def test_concurrent_answers_get_different_numbers(processes: ProcessPair) -> None:
    """Each of two processes ends one of the runs of a dead process."""
    conversation = processes.run("conversation")["id"]
    a, b = processes.run("compare", conversation=conversation)["traces"]
    for trace in (a, b):
        assert processes.run("say", trace=trace, texts=[f"I am {trace}"]) == {"lost": False}
    results = processes.run_concurrently(
        ("end_dead", {"trace": a}), ("end_dead", {"trace": b}), hold=INSERT_MESSAGE
    )
    assert results == [{"ended": 1}, {"ended": 1}]
    assert processes.run("messages", conversation=conversation)["messages"] == [
        [1, "user", "Which?"],
        [2, "assistant", f"I am {a}"],
        [3, "assistant", f"I am {b}"],
    ]
