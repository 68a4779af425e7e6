"""Requirement 002's error table: code and message of each failure, and the rows it leaves."""

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
from tests.chat.chat_helpers import (
    Chat,
    events_of,
    log_of,
    messages_of,
    scenario,
    script_client,
    text_of,
    trace_of,
)
from tests.chat.mock_provider import KEY_VARIABLE, MockProvider
from tests.support.fake_clock import fast_clock
from traces_app.follow import follow
from traces_app.log import LoggedEvent
from traces_app.models import Status

TEXT = "one two three four five"
CONNECTION_FAILED = ("NETWORK_ERROR", "Connection failed")
UNREADABLE = ("SERVICE_UNAVAILABLE", "Failed to parse response")


@dataclass(frozen=True)
class ErrorCase:
    """A row of the table: the provider's fault, the run's error, and the text before it."""

    fault: dict[str, Any]
    error: tuple[str, str]
    text: str = ""
    read_seconds: float = 60.0


def answer_with_fault(kind: str, **values: Any) -> dict[str, Any]:
    """Return an answer of five chunks with a fault after two of them."""
    fault = {"kind": kind, "after_chunks": 2, **values}
    return {"text": TEXT, "pacing": {"words_per_chunk": 1}, "fault": fault}


def fault_answer(kind: str, **values: Any) -> dict[str, Any]:
    return {"fault": {"kind": kind, **values}}


ERROR_CASES = {
    "no answer": ErrorCase(fault_answer("network_error"), CONNECTION_FAILED),
    "a cut": ErrorCase(answer_with_fault("disconnect"), CONNECTION_FAILED, "one two"),
    "silence": ErrorCase(answer_with_fault("stall", hold_ms=600_000), CONNECTION_FAILED, "one two"),
    "silence at once": ErrorCase(
        fault_answer("timeout", hold_ms=600_000), CONNECTION_FAILED, read_seconds=0.1
    ),
    "401": ErrorCase(
        fault_answer("http", status=401, message="No!"), ("UNAUTHORIZED", "Invalid API key")
    ),
    "429": ErrorCase(fault_answer("rate_limit"), ("RATE_LIMITED", "Rate limited, try again")),
    "500": ErrorCase(
        fault_answer("http", status=500, message="It fell over."),
        ("SERVICE_UNAVAILABLE", "It fell over."),
    ),
    "400": ErrorCase(
        fault_answer("http", status=400, message="Too long."), ("SERVICE_UNAVAILABLE", "Too long.")
    ),
    "an error in the stream": ErrorCase(
        answer_with_fault("error_event", message="Overloaded."),
        ("SERVICE_UNAVAILABLE", "Overloaded."),
        "one two",
    ),
    "broken JSON": ErrorCase(answer_with_fault("malformed_chunk"), UNREADABLE, "one two"),
    "no JSON at all": ErrorCase(fault_answer("invalid_response"), UNREADABLE),
    "no terminal marker": ErrorCase(answer_with_fault("truncate"), UNREADABLE, "one two"),
}


async def assert_failed(
    chat: Chat, handle: StreamHandle, error: tuple[str, str], text: str
) -> None:
    """Assert that events, log, trace and messages have this error and text."""
    code, message = error
    assert (await events_of(handle))[-1] == Error(message, code)
    log = await log_of(handle.id)
    assert (log[-1].type, log[-1].payload) == (
        "error",
        {"status": STATUSES[code], "message": message, "code": code},
    )
    assert text_of(log) == text
    trace = await trace_of(handle)
    assert (trace.status, trace.code, trace.error) == (Status.FAILED, code, message)
    user, *answers = await messages_of(handle)
    assert (user.content, user.status) == ("Hello", "complete")
    assert [(row.content, row.status) for row in answers] == ([(text, "failed")] if text else [])
    assert trace.message_id == (answers[0].pk if answers else None)


@pytest.mark.parametrize("name", ERROR_CASES)
async def test_error_case(
    chat: Chat, mock_provider: MockProvider, settings: Any, name: str
) -> None:
    row = ERROR_CASES[name]
    settings.CHAT_READ_SECONDS = row.read_seconds
    await chat.script(scenario(row.fault))
    handle = await chat.send("Hello", profile=await chat.profile(**profile_columns(mock_provider)))
    if name == "silence":
        await wait_for_timeout(handle, row.text)
    await assert_failed(chat, handle, row.error, row.text)


async def wait_for_timeout(handle: StreamHandle, text: str) -> None:
    """Follow the run and speed up its clock once it has sent the text."""
    events: list[LoggedEvent] = []
    run_loop = await loop.run_on_loop(current_loop())
    async with fast_clock(lambda: text_of(events) == text, loop=run_loop):
        async for event in follow(handle.id):
            events.append(event)


async def current_loop() -> asyncio.AbstractEventLoop:
    return asyncio.get_running_loop()


async def test_ch_nt3_the_provider_answers_401(chat: Chat) -> None:
    await chat.script(
        scenario(fault_answer("http", status=401, message="Incorrect API key provided"))
    )
    await assert_failed(chat, await chat.send("Hello"), ("UNAUTHORIZED", "Invalid API key"), "")


async def test_ch_nt4_the_network_times_out_and_can_be_tried_again(
    chat: Chat, settings: Any
) -> None:
    settings.CHAT_READ_SECONDS = 0.2
    await chat.script(scenario(fault_answer("timeout", hold_ms=60_000), {"text": "At last."}))
    first = await chat.send("Hello")
    await assert_failed(chat, first, CONNECTION_FAILED, "")
    second = await chat.send("Hello", conversation_id=first.conversation_id)
    await events_of(second)
    assert [row.content for row in await messages_of(second)] == ["Hello", "Hello", "At last."]


async def test_refused_connection_fails_the_run(
    chat: Chat, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    settings.MOCKLLM_ENV = "dev"
    settings.CHAT_ALLOWED_HOSTS = [f"127.0.0.1:{port}"]
    monkeypatch.setenv(KEY_VARIABLE, "sk-nobody")
    profile = await chat.profile(base_url=f"http://127.0.0.1:{port}/v1", api_key_env=KEY_VARIABLE)
    await assert_failed(chat, await chat.send("Hello", profile=profile), CONNECTION_FAILED, "")


async def test_forbidden_host_fails_the_run(chat: Chat, settings: Any) -> None:
    settings.MOCKLLM_ENV = "dev"
    profile = await chat.profile(base_url="http://169.254.169.254/v1")
    handle = await chat.send("Hello", profile=profile)
    error = (await events_of(handle))[-1]
    assert isinstance(error, Error)
    assert error.code == "VALIDATION_ERROR"
    assert (await trace_of(handle)).status == Status.FAILED


async def test_a_failed_answer_is_no_part_of_the_next_prompt(chat: Chat) -> None:
    await chat.script(scenario(answer_with_fault("truncate"), {"text": "Whole."}))
    first = await chat.send("Hello")
    await events_of(first)
    second = await chat.send("Again", conversation_id=first.conversation_id)
    await events_of(second)
    call = await in_database((await trace_of(second)).calls.get)
    assert call.request["turns"] == 2
    answers = [(row.content, row.status) for row in await messages_of(second)]
    assert ("one two", "failed") in answers


async def test_thinking_before_a_failure_is_stored(chat: Chat) -> None:
    await chat.script(
        scenario({**answer_with_fault("truncate", after_chunks=4), "reasoning": "Let me think."})
    )
    handle = await chat.send()
    await events_of(handle)
    answer = (await messages_of(handle))[1]
    assert (answer.thinking, answer.content) == ("Let me think.", "one")
    assert answer.status == "failed"


async def test_failed_call_is_stored_with_its_text(chat: Chat) -> None:
    await chat.script(scenario(answer_with_fault("error_event", message="Overloaded.")))
    handle = await chat.send()
    await events_of(handle)
    row = await in_database((await trace_of(handle)).calls.get)
    assert (row.code, row.finish_reason) == ("SERVICE_UNAVAILABLE", "")
    assert row.parts == [{"text": "one two"}]
    assert row.finished_at is not None


@pytest.mark.parametrize("chunks", [1, 3, 5])
async def test_chunks_before_a_simulated_cancel_are_stored(chat: Chat, chunks: int) -> None:
    """Requirement 000, R8: the mock simulates a cancellation."""
    text = " ".join(f"w{number}" for number in range(60))
    block = {"id": "cut", "messages": [{"text": text}], "cancel_after_chunks": chunks}
    handle = await chat.send(f"<|instruction_start|>{json.dumps(block)}<|instruction_end|>")
    events = await events_of(handle)
    log = await log_of(handle.id)
    assert events[-1] == Error("Failed to parse response", "SERVICE_UNAVAILABLE")
    answer = (await messages_of(handle))[1]
    assert (answer.content, answer.status) == (text_of(log), "failed")
    assert sum(event.type == "chunk" for event in log) == chunks
    assert text.startswith(answer.content)


async def test_stream_without_end_marker_fails_the_run(
    chat: Chat, monkeypatch: pytest.MonkeyPatch
) -> None:
    script_client(monkeypatch, TextPart("Half an"))
    await assert_failed(chat, await chat.send("Hello"), UNREADABLE, "Half an")


async def test_unexpected_exception_is_an_internal_error(
    chat: Chat, monkeypatch: pytest.MonkeyPatch
) -> None:
    script_client(monkeypatch, TextPart("Half an"), ZeroDivisionError("oh"))
    handle = await chat.send("Hello")
    await assert_failed(chat, handle, ("INTERNAL_ERROR", "Internal error"), "Half an")


async def test_provider_messages_are_cleaned_and_cut(
    chat: Chat, monkeypatch: pytest.MonkeyPatch
) -> None:
    script_client(monkeypatch, ChatError("SERVICE_UNAVAILABLE", "\0\ud800bad ␄" + "x" * 10_000))
    handle = await chat.send()
    await events_of(handle)
    message = (await trace_of(handle)).error
    assert message.startswith("bad x") and len(message) == 2_000


async def test_long_finish_reason_is_cut_and_stored(
    chat: Chat, monkeypatch: pytest.MonkeyPatch
) -> None:
    script_client(monkeypatch, TextPart("Hi."), Finished("\0because " * 20))
    handle = await chat.send()
    await events_of(handle)
    row = await in_database((await trace_of(handle)).calls.get)
    assert row.finish_reason == ("because " * 20)[:32]


def profile_columns(mock_provider: MockProvider) -> dict[str, str]:
    """Return the profile columns for calls in process or to the live server."""
    if mock_provider.in_process:
        return {}
    return {"base_url": mock_provider.live.openai_base_url, "api_key_env": KEY_VARIABLE}
