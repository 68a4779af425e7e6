"""Two processes write to one conversation: messages, and the answers to one."""

from tests.database.two import Two

TO_MESSAGE = 'INSERT INTO "chat_app_message"'


def test_of_two_messages_at_once_one_is_a_conflict(two: Two) -> None:
    conversation = two.do("conversation")["id"]
    first, second = two.meanwhile(
        ("send", {"conversation": conversation, "text": "First"}),
        ("send", {"conversation": conversation, "text": "Second"}),
        hold=TO_MESSAGE,
    )
    assert "trace" in first
    assert second == {"refused": "CONFLICT"}
    assert two.do("messages", conversation=conversation) == {"messages": [[1, "user", "First"]]}


def test_answers_stored_at_once_get_numbers_of_their_own(two: Two) -> None:
    """Each of two processes ends one of the runs that a dead process left."""
    conversation = two.do("conversation")["id"]
    a, b = two.do("compare", conversation=conversation)["traces"]
    for trace in (a, b):
        assert two.do("say", trace=trace, texts=[f"I am {trace}"]) == {"lost": False}
    ended = two.meanwhile(("end_dead", {"trace": a}), ("end_dead", {"trace": b}), hold=TO_MESSAGE)
    assert ended == [{"ended": 1}, {"ended": 1}]
    assert two.do("messages", conversation=conversation)["messages"] == [
        [1, "user", "Which?"],
        [2, "assistant", f"I am {a}"],
        [3, "assistant", f"I am {b}"],
    ]
