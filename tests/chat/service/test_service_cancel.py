"""Cancelling: the answer so far is stored, the run ends once and keeps its status."""

import asyncio
import contextlib
import uuid
from typing import Any

import pytest

from chat_app.errors import ChatError
from chat_app.loop import run_on_loop
from chat_app.service import StreamHandle, cancel
from chat_app.values.events import Complete, Error, TextDelta
from chat_app.values.model_call import TextPart, Usage
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
from tests.chat.mock_provider import KEY_VARIABLE
from tests.chat.raw_provider import HEAD, raw_provider
from tests.chat.scripts import ENDLESS
from traces_app.follow import follow
from traces_app.models import Status

FAST_PACING = {"chunk_ms": 5, "words_per_chunk": 1}
TEXT_EVENT = (
    b'data: {"id":"1","object":"chat.completion.chunk","created":1,"model":"m",'
    b'"choices":[{"index":0,"delta":{"content":"Hi "},"finish_reason":null}]}\n\n'
)


async def error_code(work: Any) -> str:
    with pytest.raises(ChatError) as raised:
        await work
    return raised.value.code


async def wait_for_chunks(handle: StreamHandle, chunks: int) -> None:
    """Wait until `chunks` chunks were sent."""
    async for event in follow(handle.id):
        chunks -= event.type == "chunk"
        if chunks <= 0:
            return


async def test_ch_t5_cancel_emits_complete_with_the_text_so_far(chat: Chat) -> None:
    await chat.script(scenario(ENDLESS))
    handle = await chat.send()
    await wait_for_chunks(handle, 3)
    await cancel(handle)
    *deltas, last = await events_of(handle)
    text = "".join(event.content for event in deltas if isinstance(event, TextDelta))
    assert last == Complete(text)
    assert text.startswith("word word")


async def test_cancelled_answer_is_stored_as_sent(chat: Chat) -> None:
    await chat.script(scenario({**ENDLESS, "reasoning": "Let me see."}))
    handle = await chat.send()
    await wait_for_chunks(handle, 2)
    await cancel(handle)
    log = await log_of(handle.id)
    answer, trace = (await messages_of(handle))[1], await trace_of(handle)
    assert (answer.content, answer.thinking) == (text_of(log), "Let me see.")
    assert answer.status == "cancelled"
    assert (trace.status, trace.code, trace.error) == (Status.CANCELLED, "", "")
    assert trace.message_id == answer.pk
    assert log[-1].payload == {
        "conversation_id": str(handle.conversation_id),
        "message_id": str(answer.pk),
        "trace_id": str(handle.id),
        "cancelled": True,
    }


async def test_cancelled_run_counts_estimated_tokens(chat: Chat) -> None:
    await chat.script(scenario({**ENDLESS, "reasoning": "Let me see."}))
    handle = await chat.send("Hello there")
    await wait_for_chunks(handle, 2)
    await cancel(handle)
    trace, answer = await trace_of(handle), (await messages_of(handle))[1]
    row = await in_database(trace.calls.get)
    answer_chars = len("Let me see.") + len(answer.content)
    assert (row.input_tokens, row.tokens_estimated) == (3, True)
    assert 0 <= row.output_tokens - -(-answer_chars // 4) <= 1, (
        "white space at its end may be held back"
    )
    assert (trace.input_tokens, trace.output_tokens) == (row.input_tokens, row.output_tokens)
    assert trace.tokens_estimated


async def test_run_cancelled_before_the_first_token_counts_its_prompt(chat: Chat) -> None:
    await chat.script(scenario({**ENDLESS, "latency_ms": 600_000}))
    handle = await chat.send("Hello there")
    while not await in_database((await trace_of(handle)).calls.exists):
        await asyncio.sleep(0)
    await cancel(handle)
    trace = await trace_of(handle)
    assert (trace.input_tokens, trace.output_tokens, trace.tokens_estimated) == (3, 0, True)


async def test_early_token_counts_are_kept(chat: Chat, monkeypatch: pytest.MonkeyPatch) -> None:
    failure = ChatError("NETWORK_ERROR", "Connection failed")
    script_client(monkeypatch, Usage(325, 1), TextPart("Hi there"), failure)
    handle = await chat.send("Hello there")
    await events_of(handle)
    trace = await trace_of(handle)
    assert trace.status == Status.FAILED
    assert (trace.input_tokens, trace.output_tokens, trace.tokens_estimated) == (325, 2, True)


async def test_refused_request_counts_no_tokens(chat: Chat) -> None:
    await chat.script(scenario({"fault": {"kind": "rate_limit"}}))
    handle = await chat.send("Hello there")
    await events_of(handle)
    trace = await trace_of(handle)
    assert (trace.input_tokens, trace.output_tokens, trace.tokens_estimated) == (0, 0, False)


async def test_a_run_can_be_cancelled_by_its_id(chat: Chat) -> None:
    await chat.script(scenario(ENDLESS, ENDLESS))
    first, second = await chat.send(), await chat.send()
    await cancel(first.id)
    await cancel(str(second.id))
    assert (await trace_of(first)).status == (await trace_of(second)).status == Status.CANCELLED


async def test_cancelled_end_is_stored_when_cancel_returns(chat: Chat) -> None:
    await chat.script(scenario(ENDLESS))
    handle = await chat.send()
    await cancel(handle)
    assert (await trace_of(handle)).status == Status.CANCELLED


async def test_ch_nt5_a_completed_answer_cannot_be_cancelled(chat: Chat) -> None:
    await chat.script_texts("Hi.")
    handle = await chat.send()
    log = await log_of(handle.id)
    assert await error_code(cancel(handle)) == "CONFLICT"
    assert await log_of(handle.id) == log
    assert (await trace_of(handle)).status == Status.COMPLETED


async def test_an_answer_is_cancelled_once(chat: Chat) -> None:
    await chat.script(scenario(ENDLESS))
    handle = await chat.send()
    await cancel(handle)
    assert await error_code(cancel(handle)) == "CONFLICT"


async def test_a_failed_answer_cannot_be_cancelled(chat: Chat) -> None:
    await chat.script(scenario({"fault": {"kind": "model_error"}}))
    handle = await chat.send()
    await events_of(handle)
    assert await error_code(cancel(handle)) == "CONFLICT"


@pytest.mark.parametrize("run", [uuid.UUID(int=7), "run-1", ""])
async def test_cancelling_an_unknown_run_is_not_found(chat: Chat, run: Any) -> None:
    assert await error_code(cancel(run)) == "NOT_FOUND"


async def test_run_cancelled_before_its_first_event_has_an_empty_answer(chat: Chat) -> None:
    await chat.script(scenario({**ENDLESS, "latency_ms": 600_000}))
    handle = await chat.send()
    await cancel(handle)
    assert await events_of(handle) == [Complete("")]
    answer = (await messages_of(handle))[1]
    assert (answer.content, answer.status) == ("", "cancelled")


async def test_a_cancelled_answer_is_no_part_of_the_next_prompt(chat: Chat) -> None:
    await chat.script(scenario(ENDLESS, {"text": "Whole."}))
    first = await chat.send()
    await wait_for_chunks(first, 1)
    await cancel(first)
    second = await chat.send("Again", conversation_id=first.conversation_id)
    await events_of(second)
    assert (await in_database((await trace_of(second)).calls.get)).request["turns"] == 2


async def test_all_followers_get_the_same_events(chat: Chat) -> None:
    await chat.script(scenario(ENDLESS))
    handle = await chat.send()
    followers = [asyncio.create_task(log_of(handle.id)) for _ in range(5)]
    await wait_for_chunks(handle, 2)
    await cancel(handle)
    logs = await asyncio.gather(*followers)
    assert all(log == logs[0] for log in logs)
    assert [event.type for event in logs[0]].count("done") == 1


async def test_the_providers_socket_is_closed(
    chat: Chat, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with raw_provider(HEAD, TEXT_EVENT, hold=True) as provider:
        settings.MOCKLLM_ENV = "dev"
        settings.CHAT_ALLOWED_HOSTS = [provider.address]
        monkeypatch.setenv(KEY_VARIABLE, "sk-a-key")
        profile = await chat.profile(
            base_url=f"http://{provider.address}/v1", api_key_env=KEY_VARIABLE
        )
        handle = await chat.send(profile=profile)
        await wait_for_chunks(handle, 1)
        assert not provider.client_closed.is_set()
        await cancel(handle)
        await provider.client_closed.wait()


async def test_cancel_does_not_wait_for_a_stuck_provider(
    chat: Chat, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("chat_app.runs.run.RELEASE_SECONDS", 0.05)
    is_stuck, may_end = asyncio.Event(), asyncio.Event()
    loop = asyncio.get_running_loop()
    run_loops: list[asyncio.AbstractEventLoop] = []

    async def on_request(_: Any) -> None:
        run_loops.append(asyncio.get_running_loop())
        loop.call_soon_threadsafe(is_stuck.set)
        while not may_end.is_set():
            with contextlib.suppress(asyncio.CancelledError):
                await may_end.wait()

    script_client(monkeypatch, "Too late.", on_request=on_request)
    handle = await chat.send()
    await is_stuck.wait()
    await cancel(handle)
    run_loops[0].call_soon_threadsafe(may_end.set)
    assert await events_of(handle) == [Complete("")]
    assert (await trace_of(handle)).status == Status.CANCELLED


async def test_unrequested_cancellation_fails_the_run(
    chat: Chat, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Libraries raise CancelledError for lost servers."""

    async def on_request(_: Any) -> None:
        raise asyncio.CancelledError

    script_client(monkeypatch, "Hi.", on_request=on_request)
    handle = await chat.send()
    assert (await events_of(handle))[-1] == Error("interrupted", "SERVICE_UNAVAILABLE")
    assert (await trace_of(handle)).status == Status.FAILED


async def test_concurrent_cancels_of_one_run_all_succeed(chat: Chat) -> None:
    await chat.script(scenario(ENDLESS))
    handle = await chat.send()
    await wait_for_chunks(handle, 1)

    async def cancel_by_ten() -> list[None]:
        return await asyncio.gather(*(cancel(handle) for _ in range(10)))

    # On the chat's event loop all ten are queued before the first one runs.
    assert await run_on_loop(cancel_by_ten()) == [None] * 10
    assert [event.type for event in await log_of(handle.id)].count("done") == 1


async def test_cancelling_one_answer_leaves_the_others(chat: Chat) -> None:
    endless_step = {"match": {"messages": [{"equals": "Cancelled"}]}, "produce": ENDLESS}
    await chat.script(
        scenario(*[{"text": "word " * 10, "pacing": FAST_PACING}] * 3),
        {"name": "cancelled", "priority": 1, "steps": [endless_step]},
    )
    cancelled_handle = await chat.send("Cancelled")
    others = [await chat.send() for _ in range(3)]
    await cancel(cancelled_handle)
    ends = [(await events_of(handle))[-1] for handle in others]
    assert ends == [Complete(("word " * 10).strip())] * 3
    assert (await trace_of(cancelled_handle)).status == Status.CANCELLED
