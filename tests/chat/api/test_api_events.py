"""Every type of event over a running server, in order and with its fields.

The client validates each stream against the OpenAPI document."""

from typing import Any
from uuid import UUID

import pytest

from chat_app.models import Message, ModelProfile, Sender
from chat_app.runs.log_entries import MAX_OUTPUT_CHARS
from tests.chat.api_client import Api
from tests.chat.chat_helpers import scenario
from tests.chat.scripts import call_tool
from tests.support.live_server import Live


def test_started_comes_first_and_names_the_users_message(live: Live, api: Api) -> None:
    live.load(scenario({"text": "Hi"}))
    stream = api.send("Hello")
    first = stream.events[0]
    message = Message.objects.get(sender=Sender.USER)
    assert first.id == 1
    assert first.data == {
        "type": "started",
        "conversation_id": stream.conversation_id,
        "trace_id": stream.trace_id,
        "message_id": str(message.pk),
    }
    assert message.content == "Hello"


def test_done_comes_last_and_names_the_stored_answer(live: Live, api: Api) -> None:
    live.load(scenario({"text": "Hi"}))
    stream = api.send()
    answer = Message.objects.get(sender=Sender.ASSISTANT)
    assert stream.last == {
        "type": "done",
        "conversation_id": stream.conversation_id,
        "message_id": str(answer.pk),
        "trace_id": stream.trace_id,
    }
    assert answer.content == stream.text == "Hi"


def test_event_ids_count_from_one_without_gaps(live: Live, api: Api) -> None:
    live.load(
        scenario(
            call_tool("echo", text="x"), {"text": "a b c d e f g", "pacing": {"words_per_chunk": 1}}
        )
    )
    stream = api.send()
    assert [event.id for event in stream.events] == list(range(1, len(stream.events) + 1))


def test_thinking_is_its_own_event_and_no_chunk(live: Live, api: Api) -> None:
    live.load(scenario({"reasoning": "I think.", "text": "Therefore."}))
    stream = api.send()
    thinking = "".join(event["content"] for event in stream.of("thinking"))
    assert (thinking, stream.text) == ("I think.", "Therefore.")
    assert stream.types.index("thinking") < stream.types.index("chunk")
    message = api.load_messages(stream.conversation_id)[-1]
    assert (message["thinking"], message["content"]) == (thinking, stream.text)


def test_text_before_a_tool_call_is_a_chunk_before_tool_start(live: Live, api: Api) -> None:
    live.load(scenario({"text": "Let me see.", **call_tool("add", a=1, b=2)}, {"text": "Three."}))
    stream = api.send()
    order = [event_type for event_type in stream.types if event_type != "chunk"]
    assert order == ["started", "tool_start", "tool_output", "tool_end", "done"]
    tool_start = stream.types.index("tool_start")
    chunks = [
        event.data["content"] for event in stream.events[:tool_start] if event.type == "chunk"
    ]
    assert "".join(chunks).strip() == "Let me see."


def test_large_result_is_cut_and_reports_its_full_length(live: Live, api: Api) -> None:
    live.load(scenario(call_tool("long", length=20_000), {"text": "Long."}))
    (output,) = api.send().of("tool_output")
    assert (len(output["output"]), output["truncated"]) == (MAX_OUTPUT_CHARS, True)
    assert output["full_length"] == 20_000


@pytest.mark.parametrize(
    ("length", "cut"), [(0, False), (MAX_OUTPUT_CHARS, False), (MAX_OUTPUT_CHARS + 1, True)]
)
def test_result_is_cut_only_beyond_the_limit(live: Live, api: Api, length: int, cut: bool) -> None:
    live.load(scenario(call_tool("long", length=length), {"text": "Long."}))
    (output,) = api.send().of("tool_output")
    assert (output["truncated"], output["full_length"]) == (cut, length)


def test_failed_tool_is_reported_and_the_stream_goes_on(live: Live, api: Api) -> None:
    live.load(scenario(call_tool("fail", message="No such city"), {"text": "I cannot."}))
    stream = api.send()
    (output,) = stream.of("tool_output")
    (end,) = stream.of("tool_end")
    assert output["is_error"] is True
    assert output["output"].startswith("Error: ") and "No such city" in output["output"]
    assert end["status"] == "error"
    assert (stream.text, stream.last["type"]) == ("I cannot.", "done")


def test_a_tool_that_takes_too_long_times_out(live: Live, api: Api, settings: Any) -> None:
    settings.MCP_CALL_SECONDS = 0.2
    live.load(scenario(call_tool("slow", seconds=30), {"text": "Too slow."}))
    stream = api.send()
    (output,) = stream.of("tool_output")
    assert output["code"] == "SERVICE_UNAVAILABLE"
    assert stream.of("tool_end")[0]["status"] == "timeout"
    assert stream.text == "Too slow."


def test_an_error_is_the_last_event_and_has_its_http_status(live: Live, api: Api) -> None:
    live.load(scenario({"fault": {"kind": "http", "status": 401}}))
    stream = api.send()
    assert stream.types == ["started", "error"]
    assert stream.last == {
        "type": "error",
        "status": 401,
        "message": "Invalid API key",
        "code": "UNAUTHORIZED",
    }
    assert [message["content"] for message in api.load_messages(stream.conversation_id)] == [
        "Hello"
    ]


@pytest.mark.parametrize(
    ("fault", "status", "code", "message"),
    [
        ({"kind": "rate_limit"}, 429, "RATE_LIMITED", "Rate limited, try again"),
        ({"kind": "network_error"}, 502, "NETWORK_ERROR", "Connection failed"),
        ({"kind": "http", "status": 500, "message": "boom"}, 503, "SERVICE_UNAVAILABLE", "boom"),
        ({"kind": "invalid_response"}, 503, "SERVICE_UNAVAILABLE", "Failed to parse response"),
    ],
)
def test_each_failure_of_a_provider_has_its_code(
    live: Live, api: Api, fault: dict[str, Any], status: int, code: str, message: str
) -> None:
    live.load(scenario({"fault": fault}))
    last = api.send().last
    assert (last["status"], last["code"], last["message"]) == (status, code, message)


def test_interrupted_answer_ends_in_an_error_after_its_chunks(live: Live, api: Api) -> None:
    fault = {"kind": "truncate", "after_chunks": 2}
    live.load(
        scenario({"text": "one two three four", "pacing": {"words_per_chunk": 1}, "fault": fault})
    )
    stream = api.send()
    assert stream.types == ["started", "chunk", "chunk", "error"]
    message = api.load_messages(stream.conversation_id)[-1]
    assert (message["status"], message["content"]) == ("failed", stream.text)


@pytest.mark.parametrize("provider", ["openai", "anthropic"])
def test_every_provider_gives_the_same_events(live: Live, api: Api, provider: str) -> None:
    ModelProfile.objects.create(
        name="other", provider_id=provider, model_id="m", base_url="mock:", mcp_servers=["demo"]
    )
    live.load(scenario({"reasoning": "Hm.", **call_tool("add", a=1, b=2)}, {"text": "It is 3."}))
    stream = api.send(profile="other")
    types = [
        event_type
        for i, event_type in enumerate(stream.types)
        if stream.types[i - 1 : i] != [event_type]
    ]
    assert types == [
        "started", "thinking", "tool_start", "tool_output", "tool_end", "chunk", "done",
    ]  # fmt: skip


def test_chunks_contain_only_characters_of_the_answer(live: Live, api: Api) -> None:
    text = "Ünïcödé 中文 🎉 \u2028 line\nbreak\r\nid: 7\ndata: x\n\n: comment"
    live.load(scenario({"text": text}))
    stream = api.send()
    assert stream.text == api.load_messages(stream.conversation_id)[-1]["content"]
    assert "🎉 \u2028 line\nbreak" in stream.text
    assert "\nid: 7\ndata: x\n\n: comment" in stream.text


def test_stream_headers_prevent_buffering_and_name_its_ids(live: Live, api: Api) -> None:
    live.load(scenario({"text": "Hi"}))
    headers = api.send().response.headers
    assert headers["content-type"] == "text/event-stream"
    assert headers["cache-control"] == "no-cache, no-transform"
    assert headers["x-accel-buffering"] == "no"
    assert UUID(headers["x-trace-id"]) != UUID(headers["x-conversation-id"])
