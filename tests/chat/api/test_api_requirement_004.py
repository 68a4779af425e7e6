"""Requirement 004, scenario by scenario, each by its title, over a running server."""

import threading
from datetime import datetime
from typing import Any

import httpx2

from chat_app.models import Conversation
from tests.chat.asking import SECONDS, Api, Event, events_of
from tests.chat.chatting import scenario
from tests.chat.scripts import ENDLESS, TOOL_CALL
from tests.support.live_server import Live
from traces_app.models import Trace


def test_successful_streaming_response(live: Live, api: Api) -> None:
    live.load(scenario({"text": "It is sunny in Paris."}))
    stream = api.send("What is the weather?")
    assert stream.types[0] == "started"
    assert stream.types[-1] == "done"
    assert set(stream.types[1:-1]) == {"chunk"}
    assert stream.text == "It is sunny in Paris."
    assert stream.last["conversation_id"] == stream.conversation_id


def test_streaming_with_agent_tools(live: Live, api: Api) -> None:
    live.load(scenario(TOOL_CALL, {"text": "The sum is 3."}))
    stream = api.send("What is 1 + 2?")
    middle = stream.types[1:-1]
    assert middle[:3] == ["tool_start", "tool_output", "tool_end"]
    assert set(middle[3:]) == {"chunk"}
    (start,) = stream.of("tool_start")
    (output,) = stream.of("tool_output")
    (end,) = stream.of("tool_end")
    assert start["tool_call_id"] == output["tool_call_id"] == end["tool_call_id"]
    assert (start["tool_name"], start["tool_args"]) == ("add", {"a": 1, "b": 2})
    assert (output["output"], output["truncated"], output["full_length"]) == ("3", False, 1)
    assert end["status"] == "success" and end["duration_ms"] >= 0
    assert stream.text == "The sum is 3."


def test_get_trace_by_id(live: Live, api: Api) -> None:
    live.load(scenario(TOOL_CALL, {"text": "3"}))
    stream = api.send()
    trace = api.get(f"trace/{stream.trace_id}").json()
    assert trace["status"] == "completed"
    told = [{k: v for k, v in one.items() if k not in ("seq", "at")} for one in trace["events"]]
    assert told == [event.data for event in stream.events]
    assert [one["seq"] for one in trace["events"]] == [event.id for event in stream.events]
    times = [datetime.fromisoformat(one["at"]) for one in trace["events"]]
    assert times == sorted(times)
    assert datetime.fromisoformat(trace["started_at"]) <= times[0]
    assert trace["finished_at"] is not None
    assert trace["totals"]["model_calls"] == 2 == len(trace["model_calls"])
    assert trace["totals"]["tool_calls"] == 1
    assert trace["totals"]["events"] == len(stream.events)


def test_get_trace_by_message_id(live: Live, api: Api) -> None:
    live.load(scenario({"text": "Hi"}))
    stream = api.send()
    trace = api.get(f"trace/by_message/{stream.last['message_id']}").json()
    assert trace == api.get(f"trace/{stream.trace_id}").json()
    asked = stream.of("started")[0]["message_id"]
    assert api.get(f"trace/by_message/{asked}").json() == trace


def test_create_new_conversation(live: Live, api: Api) -> None:
    live.load(scenario({"text": "Hi"}, {"text": "Again"}))
    stream = api.send("First words")
    row = Conversation.objects.get()
    assert (str(row.pk), row.client_id, row.title) == (
        stream.conversation_id,
        api.client_id,
        "First words",
    )
    assert stream.of("started")[0]["conversation_id"] == str(row.pk)
    again = api.send("More", conversation_id=stream.conversation_id)
    assert again.conversation_id == stream.conversation_id
    assert Conversation.objects.count() == 1


def test_load_conversation_history(live: Live, api: Api) -> None:
    live.load(scenario({"text": "One"}, {"text": "Two"}))
    first = api.send("1")
    api.send("2", conversation_id=first.conversation_id)
    answer = first.last["message_id"]
    api.post("feedback", message_id=answer, feedback="like")
    messages = api.loaded(first.conversation_id)
    assert [(one["sender"], one["content"]) for one in messages] == [
        ("user", "1"),
        ("assistant", "One"),
        ("user", "2"),
        ("assistant", "Two"),
    ]
    assert [one["feedback"] for one in messages] == [None, "like", None, None]
    assert messages[1]["message_id"] == answer
    assert messages[0]["trace_id"] == messages[1]["trace_id"] == first.trace_id
    body = {"client_id": api.client_id, "conversation_id": first.conversation_id}
    posted = api.ask("POST", "load_conversation", json=body)
    assert posted.json()["messages"] == messages


def test_list_user_conversations(live: Live, api: Api) -> None:
    live.load(scenario(*({"text": str(number)} for number in range(4))))
    older, newer = api.send("older").conversation_id, api.send("newer").conversation_id
    Api(live.base_url, "somebody else").send("theirs")

    def listed() -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = api.get("list_conversations").json()["conversations"]
        return found

    assert [one["conversation_id"] for one in listed()] == [newer, older]
    assert [one["title"] for one in listed()] == ["newer", "older"]
    assert all(one["created_at"] <= one["last_message_at"] for one in listed())
    api.send("once more", conversation_id=older)
    assert [one["conversation_id"] for one in listed()] == [older, newer]


def test_cancel_streaming_request(live: Live, api: Api) -> None:
    live.load(scenario(ENDLESS))
    seen: list[Event] = []
    begun, ended = threading.Event(), threading.Event()

    def listen() -> None:
        body = {"client_id": api.client_id, "message": "Go on"}
        url = f"{api.base_url}/api/get_chat_response_stream"
        with httpx2.stream("POST", url, json=body, timeout=SECONDS) as response:
            raw = b""
            for piece in response.iter_raw():
                raw += piece
                if b'"chunk"' in raw:
                    begun.set()
        seen.extend(events_of(raw))
        ended.set()

    threading.Thread(target=listen).start()
    assert begun.wait(SECONDS)
    trace = Trace.objects.get()
    answer = api.post("cancel_stream", trace_id=str(trace.pk))
    assert answer.json() == {"status": "cancelled", "trace_id": str(trace.pk)}
    assert ended.wait(SECONDS)
    assert seen[-1].type == "done" and seen[-1].data["cancelled"] is True
    trace.refresh_from_db()
    assert trace.status == "cancelled"
    assert trace.events.count() == len(seen)
    kept = api.loaded(str(trace.conversation_id))[-1]
    assert kept["content"] == "".join(e.data["content"] for e in seen if e.type == "chunk")
    assert kept["status"] == "cancelled"
