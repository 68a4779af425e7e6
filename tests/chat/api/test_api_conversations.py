"""Conversations over HTTP: begun, listed, loaded, named, judged and deleted."""

from typing import Any
from uuid import uuid4

import pytest

from chat_app.models import Conversation, Feedback, Message
from tests.chat.asking import NOBODYS, Api, error_of
from tests.chat.chatting import scenario
from tests.chat.open_streams import opened
from tests.chat.scripts import ENDLESS, TOOL_CALL
from tests.support.live_server import Live
from traces_app.models import Trace, TraceEvent

BAD_IDS = [NOBODYS, "nonsense", "\u0000", "' OR 1=1 --"]


def test_a_new_conversation_is_empty_and_takes_its_title_from_the_first_message(
    live: Live, api: Api
) -> None:
    live.load(scenario({"text": "Hi"}))
    new = api.post("new_conversation").json()["conversation_id"]
    assert api.loaded(new) == []
    api.send("  What is\n the   weather? " + "x" * 200, conversation_id=new)
    title = Conversation.objects.get().title
    assert title.startswith("What is the weather? xxx") and title.endswith("…")
    assert len(title) == 80


def test_a_title_that_was_given_stays(live: Live, api: Api) -> None:
    live.load(scenario({"text": "Hi"}))
    new = api.post("new_conversation", title=" Trip ").json()["conversation_id"]
    api.send("Hello", conversation_id=new)
    assert Conversation.objects.get().title == "Trip"


def test_a_rename_gives_the_record(live: Live, api: Api) -> None:
    new = api.post("new_conversation", title="old").json()["conversation_id"]
    record = api.post("rename_conversation", conversation_id=new, title=" new ").json()
    assert (record["conversation_id"], record["title"]) == (new, "new")
    assert api.get("list_conversations").json()["conversations"] == [record]


@pytest.mark.parametrize("title", ["", " \n", None, 7, "t" * 201, "a\u0000"])
def test_a_title_that_is_none_is_refused(live: Live, api: Api, title: Any) -> None:
    new = api.post("new_conversation", title="old").json()["conversation_id"]
    response = api.post("rename_conversation", conversation_id=new, title=title)
    assert error_of(response) == (400, "VALIDATION_ERROR", "title")
    assert Conversation.objects.get().title == "old"


def titles(api: Api, **query: Any) -> list[str]:
    listed = api.get("list_conversations", **query).json()["conversations"]
    return [one["title"] for one in listed]


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
def test_search_takes_each_character_as_it_is(live: Live, api: Api, text: str) -> None:
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
def test_search_refuses_what_no_title_can_be(live: Live, api: Api, q: str) -> None:
    assert error_of(api.get("list_conversations", q=q)) == (400, "VALIDATION_ERROR", "q")


def test_a_list_is_as_long_as_is_asked_for(live: Live, api: Api) -> None:
    ids = [api.post("new_conversation").json()["conversation_id"] for _ in range(5)]
    found = api.get("list_conversations", limit=3).json()["conversations"]
    assert [one["conversation_id"] for one in found] == ids[:1:-1]
    assert len(api.get("list_conversations").json()["conversations"]) == 5
    assert Api(live.base_url, "nobody").get("list_conversations").json() == {"conversations": []}


@pytest.mark.parametrize("limit", ["0", "-1", "x", "1001", "1.0", "9" * 2_000])
def test_a_limit_that_is_none_is_refused(live: Live, api: Api, limit: str) -> None:
    response = api.get("list_conversations", limit=limit)
    assert error_of(response) == (400, "VALIDATION_ERROR", "limit")


def test_a_loaded_answer_has_its_tool_calls(live: Live, api: Api) -> None:
    live.load(scenario(TOOL_CALL, {"text": "Three."}))
    stream = api.send("What is 1 + 2?")
    (call,) = api.loaded(stream.conversation_id)[-1]["tool_calls"]
    assert (call["id"], call["name"], call["result"], call["is_error"]) == (
        "call_1", "add", "3", False,
    )  # fmt: skip


def test_a_run_that_goes_on_is_found_by_the_message_it_answers(live: Live, api: Api) -> None:
    """A reloaded page finds the run to follow."""
    live.load(scenario(ENDLESS))
    with opened(api) as stream:
        (message,) = api.loaded(stream.conversation_id)
        assert message["trace_id"] == stream.trace_id
        api.post("cancel_stream", trace_id=stream.trace_id)


def test_feedback_is_given_changed_and_taken_back(live: Live, api: Api) -> None:
    live.load(scenario({"text": "Hi"}))
    stream = api.send()
    answer = stream.last["message_id"]

    def kept() -> tuple[str, str]:
        row = Message.objects.get(pk=answer)
        return row.feedback, row.feedback_comment

    given = api.post("feedback", message_id=answer, feedback="like", comment="good")
    assert given.json() == {"message_id": answer, "feedback": "like"}
    assert kept() == (Feedback.LIKE, "good")
    api.post("feedback", message_id=answer, feedback="dislike")
    assert kept() == (Feedback.DISLIKE, "")
    assert api.loaded(stream.conversation_id)[-1]["feedback"] == "dislike"
    taken = api.post("feedback", message_id=answer, feedback=None)
    assert taken.json()["feedback"] is None
    assert kept() == ("", "")


@pytest.mark.parametrize("feedback", ["", "Like", "love", 1, True, [], {}])
def test_feedback_of_another_kind_is_refused(live: Live, api: Api, feedback: Any) -> None:
    response = api.post("feedback", message_id=str(uuid4()), feedback=feedback)
    assert error_of(response) == (400, "VALIDATION_ERROR", "feedback")


@pytest.mark.parametrize("given", BAD_IDS)
def test_a_message_that_is_not_there_is_not_found(live: Live, api: Api, given: str) -> None:
    response = api.post("feedback", message_id=given, feedback="like")
    assert error_of(response) == (404, "NOT_FOUND", "message_id")


@pytest.mark.parametrize("given", BAD_IDS)
@pytest.mark.parametrize("verb", ["load", "rename", "delete"])
def test_a_conversation_that_is_not_there_is_not_found(
    live: Live, api: Api, verb: str, given: str
) -> None:
    more = {"title": "x"} if verb == "rename" else {}
    response = api.post(f"{verb}_conversation", conversation_id=given, **more)
    assert error_of(response) == (404, "NOT_FOUND", "conversation_id")
    assert response.json()["message"] == "Conversation not found"


def test_deleting_takes_messages_and_traces_along(live: Live, api: Api) -> None:
    live.load(scenario({"text": "One"}, {"text": "Two"}))
    stream, other = api.send(), api.send()
    gone = api.post("delete_conversation", conversation_id=stream.conversation_id)
    assert gone.json() == {"status": "deleted"}
    kept = {str(row.conversation_id) for row in (*Message.objects.all(), *Trace.objects.all())}
    assert kept == {other.conversation_id}
    assert set(TraceEvent.objects.values_list("trace__conversation", flat=True)) == {
        Conversation.objects.get().pk
    }
    assert api.get(f"trace/{stream.trace_id}").status_code == 404
    assert api.get(f"stream/{stream.trace_id}").status_code == 404


def test_deleting_ends_what_still_runs_in_it(live: Live, api: Api) -> None:
    live.load(scenario(ENDLESS))
    with opened(api) as stream:
        stream.until(2)
        api.post("delete_conversation", conversation_id=stream.conversation_id)
        last = stream.read()[-1].data
    assert (last["type"], last["code"]) == ("error", "NOT_FOUND")
    assert not Trace.objects.exists()


def test_a_conversation_is_taken_back_to_a_message(live: Live, api: Api) -> None:
    live.load(scenario({"text": "One"}, {"text": "Two"}))
    new = api.post("new_conversation").json()["conversation_id"]
    for text in ("first", "second"):
        api.send(text, conversation_id=new)
    second = api.loaded(new)[2]["message_id"]
    done = api.post("rewind_conversation", conversation_id=new, message_id=second)
    assert done.json() == {"status": "rewound"}
    assert [one["content"] for one in api.loaded(new)] == ["first", "One"]
    # Traces of the deleted answers stay.
    assert Trace.objects.count() == 2
    assert Trace.objects.filter(user_message=None).count() == 1


def test_only_a_message_of_the_user_in_that_conversation_is_taken_back_to(
    live: Live, api: Api
) -> None:
    live.load(scenario({"text": "One"}))
    api.send("first")
    conversation = str(Conversation.objects.get().pk)
    user, answer = (one["message_id"] for one in api.loaded(conversation))
    other = api.post("new_conversation").json()["conversation_id"]
    for given, status, field in (
        ((conversation, answer), 400, "message_id"),
        ((other, user), 404, "message_id"),
        ((NOBODYS, user), 404, "conversation_id"),
    ):
        asked = dict(zip(("conversation_id", "message_id"), given, strict=True))
        refused = error_of(api.post("rewind_conversation", **asked))
        assert (refused[0], refused[2]) == (status, field)
    assert Message.objects.count() == 2


def test_nothing_is_taken_back_while_an_answer_runs(live: Live, api: Api) -> None:
    live.load(scenario(ENDLESS))
    with opened(api, message="Hello"):
        message = Message.objects.get()
        asked = {"conversation_id": str(message.conversation_id), "message_id": str(message.pk)}
        assert error_of(api.post("rewind_conversation", **asked))[:2] == (409, "CONFLICT")
        assert Message.objects.count() == 1
        api.post("cancel_stream", conversation_id=str(message.conversation_id))


def test_an_answer_says_which_steps_of_the_mock_it_was(live: Live, api: Api) -> None:
    live.load(scenario({"text": "Let me add.", **TOOL_CALL}, {"text": "It is 3."}))
    api.send("1 + 2?")
    user, answer = api.loaded(str(Conversation.objects.get().pk))
    assert user["answered_by"] == []
    assert [one.rsplit(" · ", 1)[1] for one in answer["answered_by"]] == ["1", "2"]
