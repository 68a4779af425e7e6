"""The scenarios of requirement 004, by their titles, over a running server."""

import threading
from datetime import datetime
from typing import Any

import httpx2

from chat_app.models import Conversation
from tests.chat.api_client import TIMEOUT_SECONDS, Api, Event, parse_events
from tests.chat.chat_helpers import scenario
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
    logged_events = [
        {k: v for k, v in event.items() if k not in ("seq", "at")} for event in trace["events"]
    ]
    assert logged_events == [event.data for event in stream.events]
    assert [event["seq"] for event in trace["events"]] == [event.id for event in stream.events]
    times = [datetime.fromisoformat(event["at"]) for event in trace["events"]]
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
    user_message_id = stream.of("started")[0]["message_id"]
    assert api.get(f"trace/by_message/{user_message_id}").json() == trace


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
    messages = api.load_messages(first.conversation_id)
    assert [(message["sender"], message["content"]) for message in messages] == [
        ("user", "1"),
        ("assistant", "One"),
        ("user", "2"),
        ("assistant", "Two"),
    ]
    assert [message["feedback"] for message in messages] == [None, "like", None, None]
    assert messages[1]["message_id"] == answer
    assert messages[0]["trace_id"] == messages[1]["trace_id"] == first.trace_id
    body = {"client_id": api.client_id, "conversation_id": first.conversation_id}
    response = api.request("POST", "load_conversation", json=body)
    assert response.json()["messages"] == messages


def test_list_user_conversations(live: Live, api: Api) -> None:
    live.load(scenario(*({"text": str(number)} for number in range(4))))
    older, newer = api.send("older").conversation_id, api.send("newer").conversation_id
    Api(live.base_url, "somebody else").send("theirs")

    def list_conversations() -> list[dict[str, Any]]:
        conversations: list[dict[str, Any]] = api.get("list_conversations").json()["conversations"]
        return conversations

    assert [conversation["conversation_id"] for conversation in list_conversations()] == [
        newer,
        older,
    ]
    assert [conversation["title"] for conversation in list_conversations()] == ["newer", "older"]
    assert all(
        conversation["created_at"] <= conversation["last_message_at"]
        for conversation in list_conversations()
    )
    api.send("once more", conversation_id=older)
    assert [conversation["conversation_id"] for conversation in list_conversations()] == [
        older,
        newer,
    ]


def test_cancel_streaming_request(live: Live, api: Api) -> None:
    live.load(scenario(ENDLESS))
    events: list[Event] = []
    chunk_received, stream_ended = threading.Event(), threading.Event()

    def read_stream() -> None:
        body = {"client_id": api.client_id, "message": "Go on"}
        url = f"{api.base_url}/api/get_chat_response_stream"
        with httpx2.stream("POST", url, json=body, timeout=TIMEOUT_SECONDS) as response:
            raw = b""
            for piece in response.iter_raw():
                raw += piece
                if b'"chunk"' in raw:
                    chunk_received.set()
        events.extend(parse_events(raw))
        stream_ended.set()

    threading.Thread(target=read_stream).start()
    assert chunk_received.wait(TIMEOUT_SECONDS)
    trace = Trace.objects.get()
    answer = api.post("cancel_stream", trace_id=str(trace.pk))
    assert answer.json() == {"status": "cancelled", "trace_id": str(trace.pk)}
    assert stream_ended.wait(TIMEOUT_SECONDS)
    assert events[-1].type == "done" and events[-1].data["cancelled"] is True
    trace.refresh_from_db()
    assert trace.status == "cancelled"
    assert trace.events.count() == len(events)
    message = api.load_messages(str(trace.conversation_id))[-1]
    assert message["content"] == "".join(e.data["content"] for e in events if e.type == "chunk")
    assert message["status"] == "cancelled"
