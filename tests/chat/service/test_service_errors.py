"""Requirement 002's error table: each failure has its code and message, what was said is kept, and
the user's message stays."""

import asyncio
import json
import socket
from dataclasses import dataclass
from typing import Any

import pytest

from chat_app import loop
from chat_app.errors import STATUSES, ChatError
from chat_app.service import StreamHandle
from chat_app.values.events import Error
from chat_app.values.model_call import Finished, TextPart
from mockllm_site.kit.database_thread import in_database
from tests.chat.chatting import (
    Chat,
    events_of,
    log_of,
    messages_of,
    scenario,
    scripted,
    text_of,
    trace_of,
)
from tests.chat.ways import KEY_VARIABLE, Way
from tests.support.fake_clock import fast_clock
from traces_app.follow import follow
from traces_app.log import LoggedEvent
from traces_app.models import Status

TEXT = "one two three four five"
FAILED = ("NETWORK_ERROR", "Connection failed")
UNREADABLE = ("SERVICE_UNAVAILABLE", "Failed to parse response")


@dataclass(frozen=True)
class Row:
    """A row of the table: what the provider does, what the run says of it, and what it had said."""

    fault: dict[str, Any]
    error: tuple[str, str]
    said: str = ""
    read_seconds: float = 60.0


def inside(kind: str, **values: Any) -> dict[str, Any]:
    """An answer that is struck after two of its five chunks."""
    fault = {"kind": kind, "after_chunks": 2, **values}
    return {"text": TEXT, "pacing": {"words_per_chunk": 1}, "fault": fault}


def alone(kind: str, **values: Any) -> dict[str, Any]:
    return {"fault": {"kind": kind, **values}}


ROWS = {
    "no answer": Row(alone("network_error"), FAILED),
    "a cut": Row(inside("disconnect"), FAILED, "one two"),
    "silence": Row(inside("stall", hold_ms=600_000), FAILED, "one two"),
    "silence at once": Row(alone("timeout", hold_ms=600_000), FAILED, read_seconds=0.1),
    "401": Row(alone("http", status=401, message="No!"), ("UNAUTHORIZED", "Invalid API key")),
    "429": Row(alone("rate_limit"), ("RATE_LIMITED", "Rate limited, try again")),
    "500": Row(
        alone("http", status=500, message="It fell over."), ("SERVICE_UNAVAILABLE", "It fell over.")
    ),
    "400": Row(
        alone("http", status=400, message="Too long."), ("SERVICE_UNAVAILABLE", "Too long.")
    ),
    "an error in the stream": Row(
        inside("error_event", message="Overloaded."),
        ("SERVICE_UNAVAILABLE", "Overloaded."),
        "one two",
    ),
    "broken JSON": Row(inside("malformed_chunk"), UNREADABLE, "one two"),
    "no JSON at all": Row(alone("invalid_response"), UNREADABLE),
    "no terminal marker": Row(inside("truncate"), UNREADABLE, "one two"),
}


async def failed(chat: Chat, handle: StreamHandle, error: tuple[str, str], said: str) -> None:
    """The run failed so, everywhere that one can look."""
    code, message = error
    assert (await events_of(handle))[-1] == Error(message, code)
    log = await log_of(handle.id)
    assert (log[-1].type, log[-1].payload) == (
        "error",
        {"status": STATUSES[code], "message": message, "code": code},
    )
    assert text_of(log) == said
    trace = await trace_of(handle)
    assert (trace.status, trace.code, trace.error) == (Status.FAILED, code, message)
    user, *answers = await messages_of(handle)
    assert (user.content, user.status) == ("Hello", "complete")
    assert [(row.content, row.status) for row in answers] == ([(said, "failed")] if said else [])
    assert trace.message_id == (answers[0].pk if answers else None)


@pytest.mark.parametrize("name", ROWS)
async def test_row(chat: Chat, way: Way, settings: Any, name: str) -> None:
    row = ROWS[name]
    settings.CHAT_READ_SECONDS = row.read_seconds
    await chat.script(scenario(row.fault))
    handle = await chat.send("Hello", profile=await chat.profile(**place(way)))
    if name == "silence":
        await given_up(handle, row.said)
    await failed(chat, handle, row.error, row.said)


async def given_up(handle: StreamHandle, after: str) -> None:
    """The run ends since the time of its loop flies once this was said."""
    said: list[LoggedEvent] = []
    on = await loop.run_on_loop(running())
    async with fast_clock(lambda: text_of(said) == after, loop=on):
        async for event in follow(handle.id):
            said.append(event)


async def running() -> asyncio.AbstractEventLoop:
    return asyncio.get_running_loop()


async def test_ch_nt3_the_provider_answers_401(chat: Chat) -> None:
    await chat.script(scenario(alone("http", status=401, message="Incorrect API key provided")))
    await failed(chat, await chat.send("Hello"), ("UNAUTHORIZED", "Invalid API key"), "")


async def test_ch_nt4_the_network_times_out_and_can_be_tried_again(
    chat: Chat, settings: Any
) -> None:
    settings.CHAT_READ_SECONDS = 0.2
    await chat.script(scenario(alone("timeout", hold_ms=60_000), {"text": "At last."}))
    first = await chat.send("Hello")
    await failed(chat, first, FAILED, "")
    second = await chat.send("Hello", conversation_id=first.conversation_id)
    await events_of(second)
    assert [row.content for row in await messages_of(second)] == ["Hello", "Hello", "At last."]


async def test_refused_connection_fails_the_run(
    chat: Chat, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as bound:
        port = bound.getsockname()[1]
    settings.MOCKLLM_ENV = "dev"
    settings.CHAT_ALLOWED_HOSTS = [f"127.0.0.1:{port}"]
    monkeypatch.setenv(KEY_VARIABLE, "sk-nobody")
    profile = await chat.profile(base_url=f"http://127.0.0.1:{port}/v1", api_key_env=KEY_VARIABLE)
    await failed(chat, await chat.send("Hello", profile=profile), FAILED, "")


async def test_a_place_that_is_not_allowed(chat: Chat, settings: Any) -> None:
    settings.MOCKLLM_ENV = "dev"
    profile = await chat.profile(base_url="http://169.254.169.254/v1")
    handle = await chat.send("Hello", profile=profile)
    error = (await events_of(handle))[-1]
    assert isinstance(error, Error)
    assert error.code == "VALIDATION_ERROR"
    assert (await trace_of(handle)).status == Status.FAILED


async def test_a_failed_answer_is_no_part_of_the_next_prompt(chat: Chat) -> None:
    await chat.script(scenario(inside("truncate"), {"text": "Whole."}))
    first = await chat.send("Hello")
    await events_of(first)
    second = await chat.send("Again", conversation_id=first.conversation_id)
    await events_of(second)
    call = await in_database((await trace_of(second)).calls.get)
    assert call.request["turns"] == 2
    tool_events = [(row.content, row.status) for row in await messages_of(second)]
    assert ("one two", "failed") in tool_events


async def test_thinking_before_a_failure_is_stored(chat: Chat) -> None:
    await chat.script(
        scenario({**inside("truncate", after_chunks=4), "reasoning": "Let me think."})
    )
    handle = await chat.send()
    await events_of(handle)
    answer = (await messages_of(handle))[1]
    assert (answer.thinking, answer.content) == ("Let me think.", "one")
    assert answer.status == "failed"


async def test_a_failed_call_is_recorded_with_what_it_said(chat: Chat) -> None:
    await chat.script(scenario(inside("error_event", message="Overloaded.")))
    handle = await chat.send()
    await events_of(handle)
    row = await in_database((await trace_of(handle)).calls.get)
    assert (row.code, row.finish_reason) == ("SERVICE_UNAVAILABLE", "")
    assert row.parts == [{"text": "one two"}]
    assert row.finished_at is not None


@pytest.mark.parametrize("chunks", [1, 3, 5])
async def test_of_a_stream_that_a_test_cuts_exactly_the_chunks_that_came_are_stored(
    chat: Chat, chunks: int
) -> None:
    """Requirement 000, R8: a cancellation that the test server simulates."""
    text = " ".join(f"w{number}" for number in range(60))
    block = {"id": "cut", "messages": [{"text": text}], "cancel_after_chunks": chunks}
    handle = await chat.send(f"<|instruction_start|>{json.dumps(block)}<|instruction_end|>")
    said = await events_of(handle)
    log = await log_of(handle.id)
    assert said[-1] == Error("Failed to parse response", "SERVICE_UNAVAILABLE")
    answer = (await messages_of(handle))[1]
    assert (answer.content, answer.status) == (text_of(log), "failed")
    assert sum(event.type == "chunk" for event in log) == chunks
    assert text.startswith(answer.content)


async def test_a_stream_that_ends_without_saying_so_is_no_answer(
    chat: Chat, monkeypatch: pytest.MonkeyPatch
) -> None:
    scripted(monkeypatch, TextPart("Half an"))
    await failed(chat, await chat.send("Hello"), UNREADABLE, "Half an")


async def test_a_mistake_of_ours_is_an_internal_error(
    chat: Chat, monkeypatch: pytest.MonkeyPatch
) -> None:
    scripted(monkeypatch, TextPart("Half an"), ZeroDivisionError("oh"))
    handle = await chat.send("Hello")
    await failed(chat, handle, ("INTERNAL_ERROR", "Internal error"), "Half an")


async def test_provider_messages_are_cleaned_and_cut(
    chat: Chat, monkeypatch: pytest.MonkeyPatch
) -> None:
    scripted(monkeypatch, ChatError("SERVICE_UNAVAILABLE", "\0\ud800bad ␄" + "x" * 10_000))
    handle = await chat.send()
    await events_of(handle)
    message = (await trace_of(handle)).error
    assert message.startswith("bad x") and len(message) == 2_000


async def test_a_reason_of_any_length_is_stored(
    chat: Chat, monkeypatch: pytest.MonkeyPatch
) -> None:
    scripted(monkeypatch, TextPart("Hi."), Finished("\0because " * 20))
    handle = await chat.send()
    await events_of(handle)
    row = await in_database((await trace_of(handle)).calls.get)
    assert row.finish_reason == ("because " * 20)[:32]


def place(way: Way) -> dict[str, str]:
    """Where a profile's calls go: into this process, or through a socket to the live server."""
    if way.in_process:
        return {}
    return {"base_url": way.live.openai_base_url, "api_key_env": KEY_VARIABLE}
