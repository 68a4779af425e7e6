"""A message and its answer: events, their order, and the stored rows."""

import asyncio
from contextlib import closing
from functools import partial
from typing import Any

import pytest
from django.db import connection

from chat_app.models import Conversation, Message
from chat_app.runs.registry import RunRegistry
from chat_app.service import send_message
from chat_app.values.events import Complete, TextDelta, ThinkingDelta
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
from tests.chat.gates import CallWatcher
from traces_app.follow import follow
from traces_app.models import Status, Trace


async def test_a_message_is_answered(chat: Chat) -> None:
    await chat.script_texts("Hi there, reader.")
    handle = await chat.send("Hello")
    *deltas, last = await events_of(handle)
    assert all(isinstance(event, TextDelta) for event in deltas)
    assert last == Complete("Hi there, reader.")
    assert "".join(event.content for event in deltas if isinstance(event, TextDelta)) == last.text


async def test_the_log_begins_with_started_and_ends_with_done(chat: Chat) -> None:
    await chat.script_texts("Hi there, reader.")
    handle = await chat.send("Hello")
    log = await log_of(handle.id)
    _, answer = await messages_of(handle)
    assert [event.seq for event in log] == list(range(1, len(log) + 1))
    assert {event.type for event in log[1:-1]} == {"chunk"}
    assert (log[0].type, log[0].payload) == (
        "started",
        {
            "conversation_id": str(handle.conversation_id),
            "trace_id": str(handle.id),
            "message_id": str(handle.user_message_id),
        },
    )
    assert (log[-1].type, log[-1].payload) == (
        "done",
        {
            "conversation_id": str(handle.conversation_id),
            "message_id": str(answer.pk),
            "trace_id": str(handle.id),
        },
    )


async def test_live_events_equal_the_stored_ones(chat: Chat) -> None:
    await chat.script_texts("One two three four five six.", reasoning="I count.")
    handle = await chat.send()
    live = await log_of(handle.id)
    again = await log_of(handle.id)
    assert live == again
    _, answer = await messages_of(handle)
    assert (answer.content, answer.thinking) == ("One two three four five six.", "I count.")
    assert answer.content == text_of(live)


async def test_thinking_comes_first_and_is_no_part_of_the_text(chat: Chat) -> None:
    await chat.script_texts("Four.", reasoning="Two and two.")
    events = await events_of(await chat.send())
    event_types = [type(event) for event in events]
    assert event_types.index(ThinkingDelta) < event_types.index(TextDelta)
    assert events[-1] == Complete("Four.", "Two and two.")


async def test_both_messages_are_in_the_conversation(chat: Chat) -> None:
    await chat.script_texts("Hi.")
    handle = await chat.send("Hello")
    await events_of(handle)
    user, answer = await messages_of(handle)
    assert (user.pk, user.number, user.sender, user.content) == (
        handle.user_message_id,
        1,
        "user",
        "Hello",
    )
    assert (answer.number, answer.sender, answer.status) == (2, "assistant", "complete")
    assert (answer.provider_id, answer.model_id) == ("openai", "gpt-4o")
    assert answer.rounds == [{"parts": [{"text": "Hi."}], "results": []}]


async def test_message_is_stored_unchanged(chat: Chat) -> None:
    await chat.script_texts("Hi.")
    text = "  naïve 😀\n\ttext ␄ \x07 "
    handle = await chat.send(text)
    await events_of(handle)
    assert (await messages_of(handle))[0].content == text


async def test_the_first_message_begins_a_conversation(chat: Chat) -> None:
    await chat.script_texts("Hi.")
    handle = await chat.send("What is the weather?")
    conversation = await in_database(partial(Conversation.objects.get, pk=handle.conversation_id))
    assert (conversation.client_id, conversation.title) == ("reader", "What is the weather?")
    await events_of(handle)


async def test_next_message_continues_the_conversation(chat: Chat) -> None:
    await chat.script(
        scenario({"text": "Hi, Ann."}, {"text": "You are Ann."}),
        {
            "name": "memory",
            "priority": 1,
            "steps": [
                {
                    "match": {
                        "messages": [
                            {"role": "user", "which": "first", "equals": "I am Ann"},
                            {"role": "assistant", "equals": "Hi, Ann."},
                            {"role": "user", "equals": "Who am I?"},
                        ]
                    },
                    "produce": {"text": "Ann, as you said."},
                }
            ],
        },
    )
    first = await chat.send("I am Ann")
    await events_of(first)
    second = await chat.send("Who am I?", conversation_id=first.conversation_id)
    assert (await events_of(second))[-1] == Complete("Ann, as you said.")
    assert [message.number for message in await messages_of(second)] == [1, 2, 3, 4]


async def test_trace_has_profile_and_totals(chat: Chat) -> None:
    await chat.script_texts("Hi.", usage={"input_tokens": 64, "output_tokens": 32})
    handle = await chat.send(profile=await chat.profile(name="careful", model_id="gpt-4o-mini"))
    await events_of(handle)
    trace = await trace_of(handle)
    assert (trace.status, trace.code, trace.error) == (Status.COMPLETED, "", "")
    assert (trace.profile_name, trace.provider_id, trace.model_id) == (
        "careful",
        "openai",
        "gpt-4o-mini",
    )
    assert (trace.model_calls, trace.tool_calls) == (1, 0)
    assert (trace.input_tokens, trace.output_tokens) == (64, 32)
    assert trace.first_token_at is not None and trace.finished_at is not None
    assert trace.started_at <= trace.first_token_at <= trace.finished_at
    assert trace.user_message_id == handle.user_message_id
    assert trace.message is not None


async def test_each_call_of_the_model_has_a_row(chat: Chat) -> None:
    await chat.script_texts("Hi.", reasoning="Hm.", usage={"input_tokens": 64, "output_tokens": 32})
    handle = await chat.send("Hello there")
    await events_of(handle)
    row = await in_database((await trace_of(handle)).calls.get)
    assert (row.number, row.purpose, row.provider_id, row.model_id) == (
        1,
        "answer",
        "openai",
        "gpt-4o",
    )
    assert row.request == {"turns": 1, "estimated_tokens": 3}
    assert row.parts == [{"thinking": "Hm.", "signature": "", "redacted": ""}, {"text": "Hi."}]
    assert (row.finish_reason, row.input_tokens, row.output_tokens) == ("stop", 64, 32)
    assert not row.tokens_estimated
    assert row.started_at <= row.first_token_at <= row.finished_at


async def test_message_is_committed_before_the_provider_is_called(
    chat: Chat, monkeypatch: pytest.MonkeyPatch
) -> None:
    row_counts: list[tuple[int, int]] = []

    def count_rows() -> tuple[int, int]:
        with closing(connection):
            return Message.objects.count(), Trace.objects.count()

    async def on_request(_: Any) -> None:
        # Another thread has another connection.
        row_counts.append(await asyncio.to_thread(count_rows))

    script_client(monkeypatch, "Hi.", on_request=on_request)
    handle = await chat.send()
    await events_of(handle)
    assert row_counts == [(1, 1)]


async def test_started_is_sent_before_the_provider_is_called(
    chat: Chat, monkeypatch: pytest.MonkeyPatch
) -> None:
    may_answer = asyncio.Event()
    loop = asyncio.get_running_loop()

    async def on_request(_: Any) -> None:
        await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(may_answer.wait(), loop))

    script_client(monkeypatch, "Hi.", on_request=on_request)
    handle = await chat.send()
    async for event in follow(handle.id):
        assert event.type == "started"
        break
    may_answer.set()
    assert (await events_of(handle))[-1] == Complete("Hi.")


async def test_done_is_sent_after_everything_is_stored(chat: Chat) -> None:
    await chat.script_texts(*["Hi."] * 10)
    for _ in range(10):
        handle = await chat.send()
        async for event in follow(handle.id):
            if event.type == "done":
                trace, messages = await trace_of(handle), await messages_of(handle)
                assert trace.status == Status.COMPLETED
                assert str(messages[1].pk) == event.payload["message_id"]


async def test_answer_goes_on_without_followers(chat: Chat) -> None:
    await chat.script_texts("Hi there.", pacing={"chunk_ms": 5, "words_per_chunk": 1})
    handle = await chat.send()
    follower = follow(handle.id)
    await anext(follower)
    await follower.aclose()
    assert (await events_of(handle))[-1] == Complete("Hi there.")


async def test_answer_goes_on_when_its_event_loop_ends(chat: Chat) -> None:
    """The event loop that sent the message has ended."""
    await chat.script_texts("Hi there.", pacing={"chunk_ms": 20, "words_per_chunk": 1})
    profile = await chat.profile()
    handle = await asyncio.to_thread(asyncio.run, chat.send(profile=profile))
    assert (await events_of(handle))[-1] == Complete("Hi there.")


async def test_cancelled_send_still_stores_the_message(
    chat: Chat, monkeypatch: pytest.MonkeyPatch
) -> None:
    start = CallWatcher(monkeypatch, RunRegistry, "start")
    await chat.script_texts("Hi there.")
    profile = await chat.profile()
    conversation = await chat.conversation()
    send_task = asyncio.create_task(send_message(conversation.pk, "Hello", profile))
    await asyncio.sleep(0)
    send_task.cancel()
    await start.wait_for_call()
    await asyncio.gather(send_task, return_exceptions=True)
    trace = await in_database(partial(Trace.objects.get, conversation=conversation))
    assert (await log_of(trace.pk))[-1].type == "done"


async def test_two_conversations_are_answered_at_the_same_time(chat: Chat) -> None:
    await chat.script_texts(*["word " * 20] * 20, pacing={"chunk_ms": 5, "words_per_chunk": 1})
    profile = await chat.profile()
    handles = await asyncio.gather(*(chat.send(profile=profile) for _ in range(20)))
    ends = await asyncio.gather(*(events_of(handle) for handle in handles))
    assert [end[-1] for end in ends] == [Complete(("word " * 20).strip())] * 20


async def test_stored_run_has_the_same_events(chat: Chat) -> None:
    await chat.script_texts("Four.", reasoning="Two and two.")
    handle = await chat.send(client_message_id="m-1")
    live = await events_of(handle)
    again = await chat.send(client_message_id="m-1")
    assert again.replayed
    assert await events_of(again) == live
