"""Conversations over HTTP: create, list, search, load, rename, rate, rewind and delete."""

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from typing import Any
from uuid import uuid4

import pytest
from django.utils import timezone

from chat_app.models import Conversation, Feedback, Message
from tests.chat.api_client import UNKNOWN_ID, Api, error_of
from tests.chat.chat_helpers import scenario
from tests.chat.open_streams import open_stream
from tests.chat.scripts import ENDLESS, TOOL_CALL
from tests.support.live_server import Live
from traces_app.models import Trace, TraceEvent

BAD_IDS = [UNKNOWN_ID, "nonsense", "\u0000", "' OR 1=1 --"]


def test_a_new_conversation_is_empty_and_takes_its_title_from_the_first_message(
    live: Live, api: Api
) -> None:
    live.load(scenario({"text": "Hi"}))
    new = api.post("new_conversation").json()["conversation_id"]
    assert api.load_messages(new) == []
    api.send("  What is\n the   weather? " + "x" * 200, conversation_id=new)
    title = Conversation.objects.get().title
    assert title.startswith("What is the weather? xxx") and title.endswith("…")
    assert len(title) == 80


def test_explicit_title_is_not_replaced(live: Live, api: Api) -> None:
    live.load(scenario({"text": "Hi"}))
    new = api.post("new_conversation", title=" Trip ").json()["conversation_id"]
    api.send("Hello", conversation_id=new)
    assert Conversation.objects.get().title == "Trip"


def test_rename_returns_the_conversation(live: Live, api: Api) -> None:
    new = api.post("new_conversation", title="old").json()["conversation_id"]
    record = api.post("rename_conversation", conversation_id=new, title=" new ").json()
    assert (record["conversation_id"], record["title"]) == (new, "new")
    assert api.get("list_conversations").json()["conversations"] == [record]


@pytest.mark.parametrize("title", ["", " \n", None, 7, "t" * 201, "a\u0000"])
def test_invalid_title_is_refused(live: Live, api: Api, title: Any) -> None:
    new = api.post("new_conversation", title="old").json()["conversation_id"]
    response = api.post("rename_conversation", conversation_id=new, title=title)
    assert error_of(response) == (400, "VALIDATION_ERROR", "title")
    assert Conversation.objects.get().title == "old"


def titles(api: Api, **query: Any) -> list[str]:
    listed = api.get("list_conversations", **query).json()["conversations"]
    return [conversation["title"] for conversation in listed]


def test_search_finds_titles_and_messages_of_the_client(live: Live, api: Api) -> None:
    live.load(scenario({"text": "Take the UMBRELLA."}))
    api.send("Will it rain?")
    live.load(scenario({"text": "Sunny."}))
    api.send("And tomorrow?")
    api.post("new_conversation", title="Old umbrella")
    Api(live.base_url, "somebody else").send("My umbrella")
    assert titles(api, q="umbrella") == ["Old umbrella", "Will it rain?"]
    assert titles(api, q="umbrella", limit=1) == ["Old umbrella"]
    assert titles(api, q=" RAIN? ") == ["Will it rain?"]
    assert titles(api, q="hail") == []
    assert titles(api, q=" ") == titles(api) == ["Old umbrella", "And tomorrow?", "Will it rain?"]


@pytest.mark.parametrize("text", ["50 %", "a_b", r"C:\temp", "it's"])
def test_search_matches_special_characters_literally(live: Live, api: Api, text: str) -> None:
    api.post("new_conversation", title=f"About {text} and more")
    api.post("new_conversation", title="About 50 and axb in C:temp, its")
    assert titles(api, q=text) == [f"About {text} and more"]


def test_search_leaves_out_archived_and_too_old_conversations(
    live: Live, api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(4):
        api.post("new_conversation", title=f"talk {number}")
    Conversation.objects.filter(title="talk 3").update(archived=True)
    monkeypatch.setattr("chat_app.conversations.MAX_SEARCHED_CONVERSATIONS", 2)
    assert titles(api, q="talk") == ["talk 2", "talk 1"]


@pytest.mark.parametrize("q", ["x" * 201, "a\0"])
def test_invalid_search_text_is_refused(live: Live, api: Api, q: str) -> None:
    assert error_of(api.get("list_conversations", q=q)) == (400, "VALIDATION_ERROR", "q")


def test_list_has_at_most_limit_conversations(live: Live, api: Api) -> None:
    ids = [api.post("new_conversation").json()["conversation_id"] for _ in range(5)]
    conversations = api.get("list_conversations", limit=3).json()["conversations"]
    assert [conversation["conversation_id"] for conversation in conversations] == ids[:1:-1]
    assert len(api.get("list_conversations").json()["conversations"]) == 5
    nobody = Api(live.base_url, "nobody")
    assert nobody.get("list_conversations").json() == {"conversations": [], "next": None}


def walk(api: Api, **query: Any) -> Iterator[list[str]]:
    """Yield the titles of each page of the list; another thing may happen after each."""
    page = api.get("list_conversations", **query).json()
    yield [conversation["title"] for conversation in page["conversations"]]
    while page["next"] is not None:
        page = api.get("list_conversations", after=page["next"], **query).json()
        yield [conversation["title"] for conversation in page["conversations"]]


def store_conversations(times: Sequence[int]) -> None:
    """Store conversations `talk 0` and so on, with their last messages at these seconds."""
    Conversation.objects.bulk_create(
        Conversation(
            client_id="reader",
            title=f"talk {number}",
            last_message_at=datetime(2025, 1, 1, second=seconds, tzinfo=UTC),
        )
        for number, seconds in enumerate(times)
    )


@pytest.mark.parametrize("limit", [1, 2, 3, 6, 7, 1_000])
def test_pages_of_conversations_hold_each_once_by_time(live: Live, api: Api, limit: int) -> None:
    store_conversations([9, 9, 9, 9, 5, 7])
    pages = list(walk(api, limit=limit))
    assert [len(page) for page in pages[:-1]] == [limit] * (len(pages) - 1) and pages[-1]
    listed = [title for page in pages for title in page]
    assert sorted(listed[:4]) == ["talk 0", "talk 1", "talk 2", "talk 3"]
    assert listed[4:] == ["talk 5", "talk 4"]


def test_new_messages_and_deletions_repeat_or_skip_no_later_conversation(
    live: Live, api: Api
) -> None:
    store_conversations([9, 8, 7, 6])
    pages = walk(api, limit=2)
    assert next(pages) == ["talk 0", "talk 1"]
    # The last one listed moves to the front, the one before is deleted, and a new one appears.
    Conversation.objects.filter(title="talk 1").update(last_message_at=timezone.now())
    Conversation.objects.filter(title="talk 0").delete()
    api.post("new_conversation", title="new")
    assert list(pages) == [["talk 2", "talk 3"]]


def test_search_goes_on_beyond_the_searched_conversations(
    live: Live, api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    store_conversations([9, 8, 7, 6, 5, 4])
    Conversation.objects.filter(title__in=["talk 0", "talk 1", "talk 4"]).update(title="other")
    monkeypatch.setattr("chat_app.conversations.MAX_SEARCHED_CONVERSATIONS", 3)
    assert list(walk(api, q="talk")) == [["talk 2"], ["talk 3", "talk 5"]]
    assert list(walk(api, q="talk", limit=1)) == [["talk 2"], ["talk 3"], ["talk 5"]]


@pytest.mark.parametrize("after", ["x", "1", "1-2", f"-1-{'0' * 32}", f"{'9' * 17}-{'0' * 32}"])
def test_text_that_is_no_position_is_refused(live: Live, api: Api, after: str) -> None:
    response = api.get("list_conversations", after=after)
    assert error_of(response) == (400, "VALIDATION_ERROR", "after")
    assert response.json()["message"] == "after: expected the `next` of an earlier page"


@pytest.mark.parametrize("limit", ["0", "-1", "x", "1001", "1.0", "9" * 2_000])
def test_invalid_limit_is_refused(live: Live, api: Api, limit: str) -> None:
    response = api.get("list_conversations", limit=limit)
    assert error_of(response) == (400, "VALIDATION_ERROR", "limit")


def test_a_loaded_answer_has_its_tool_calls(live: Live, api: Api) -> None:
    live.load(scenario(TOOL_CALL, {"text": "Three."}))
    stream = api.send("What is 1 + 2?")
    (call,) = api.load_messages(stream.conversation_id)[-1]["tool_calls"]
    assert (call["id"], call["name"], call["result"], call["is_error"]) == (
        "call_1", "add", "3", False,
    )  # fmt: skip


def test_running_trace_id_is_on_the_message_it_answers(live: Live, api: Api) -> None:
    """A reloaded page finds the run to follow."""
    live.load(scenario(ENDLESS))
    with open_stream(api) as stream:
        (message,) = api.load_messages(stream.conversation_id)
        assert message["trace_id"] == stream.trace_id
        api.post("cancel_stream", trace_id=stream.trace_id)


def test_feedback_is_set_changed_and_removed(live: Live, api: Api) -> None:
    live.load(scenario({"text": "Hi"}))
    stream = api.send()
    answer = stream.last["message_id"]

    def stored_feedback() -> tuple[str, str]:
        row = Message.objects.get(pk=answer)
        return row.feedback, row.feedback_comment

    response = api.post("feedback", message_id=answer, feedback="like", comment="good")
    assert response.json() == {"message_id": answer, "feedback": "like"}
    assert stored_feedback() == (Feedback.LIKE, "good")
    api.post("feedback", message_id=answer, feedback="dislike")
    assert stored_feedback() == (Feedback.DISLIKE, "")
    assert api.load_messages(stream.conversation_id)[-1]["feedback"] == "dislike"
    removal = api.post("feedback", message_id=answer, feedback=None)
    assert removal.json()["feedback"] is None
    assert stored_feedback() == ("", "")


@pytest.mark.parametrize("feedback", ["", "Like", "love", 1, True, [], {}])
def test_feedback_of_another_kind_is_refused(live: Live, api: Api, feedback: Any) -> None:
    response = api.post("feedback", message_id=str(uuid4()), feedback=feedback)
    assert error_of(response) == (400, "VALIDATION_ERROR", "feedback")


@pytest.mark.parametrize("message_id", BAD_IDS)
def test_feedback_on_an_unknown_message_is_not_found(live: Live, api: Api, message_id: str) -> None:
    response = api.post("feedback", message_id=message_id, feedback="like")
    assert error_of(response) == (404, "NOT_FOUND", "message_id")


@pytest.mark.parametrize("conversation_id", BAD_IDS)
@pytest.mark.parametrize("verb", ["load", "rename", "delete"])
def test_unknown_conversation_is_not_found(
    live: Live, api: Api, verb: str, conversation_id: str
) -> None:
    more = {"title": "x"} if verb == "rename" else {}
    response = api.post(f"{verb}_conversation", conversation_id=conversation_id, **more)
    assert error_of(response) == (404, "NOT_FOUND", "conversation_id")
    assert response.json()["message"] == "Conversation not found"


def test_deleting_a_conversation_deletes_messages_and_traces(live: Live, api: Api) -> None:
    live.load(scenario({"text": "One"}, {"text": "Two"}))
    stream, other = api.send(), api.send()
    response = api.post("delete_conversation", conversation_id=stream.conversation_id)
    assert response.json() == {"status": "deleted"}
    remaining_ids = {
        str(row.conversation_id) for row in (*Message.objects.all(), *Trace.objects.all())
    }
    assert remaining_ids == {other.conversation_id}
    assert set(TraceEvent.objects.values_list("trace__conversation", flat=True)) == {
        Conversation.objects.get().pk
    }
    assert api.get(f"trace/{stream.trace_id}").status_code == 404
    assert api.get(f"stream/{stream.trace_id}").status_code == 404


def test_deleting_a_conversation_ends_its_run(live: Live, api: Api) -> None:
    live.load(scenario(ENDLESS))
    with open_stream(api) as stream:
        stream.read_events(2)
        api.post("delete_conversation", conversation_id=stream.conversation_id)
        last = stream.read_to_end()[-1].data
    assert (last["type"], last["code"]) == ("error", "NOT_FOUND")
    assert not Trace.objects.exists()


def test_conversation_is_rewound_to_a_message(live: Live, api: Api) -> None:
    live.load(scenario({"text": "One"}, {"text": "Two"}))
    new = api.post("new_conversation").json()["conversation_id"]
    for text in ("first", "second"):
        api.send(text, conversation_id=new)
    second = api.load_messages(new)[2]["message_id"]
    response = api.post("rewind_conversation", conversation_id=new, message_id=second)
    assert response.json() == {"status": "rewound"}
    assert [message["content"] for message in api.load_messages(new)] == ["first", "One"]
    # Traces of the deleted answers stay.
    assert Trace.objects.count() == 2
    assert Trace.objects.filter(user_message=None).count() == 1


def test_rewind_needs_a_user_message_of_that_conversation(live: Live, api: Api) -> None:
    live.load(scenario({"text": "One"}))
    api.send("first")
    conversation = str(Conversation.objects.get().pk)
    user, answer = (message["message_id"] for message in api.load_messages(conversation))
    other = api.post("new_conversation").json()["conversation_id"]
    for ids, status, field in (
        ((conversation, answer), 400, "message_id"),
        ((other, user), 404, "message_id"),
        ((UNKNOWN_ID, user), 404, "conversation_id"),
    ):
        body = dict(zip(("conversation_id", "message_id"), ids, strict=True))
        error = error_of(api.post("rewind_conversation", **body))
        assert (error[0], error[2]) == (status, field)
    assert Message.objects.count() == 2


def test_rewind_during_a_run_is_a_conflict(live: Live, api: Api) -> None:
    live.load(scenario(ENDLESS))
    with open_stream(api, message="Hello"):
        message = Message.objects.get()
        body = {"conversation_id": str(message.conversation_id), "message_id": str(message.pk)}
        assert error_of(api.post("rewind_conversation", **body))[:2] == (409, "CONFLICT")
        assert Message.objects.count() == 1
        api.post("cancel_stream", conversation_id=str(message.conversation_id))


def test_answer_lists_the_steps_that_answered_it(live: Live, api: Api) -> None:
    live.load(scenario({"text": "Let me add.", **TOOL_CALL}, {"text": "It is 3."}))
    api.send("1 + 2?")
    user, answer = api.load_messages(str(Conversation.objects.get().pk))
    assert user["answered_by"] == []
    assert [label.rsplit(" · ", 1)[1] for label in answer["answered_by"]] == ["1", "2"]
