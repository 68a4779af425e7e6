"""Summaries of long conversations: created by a run, stored, reused, cleared, or missing."""

from functools import partial
from typing import Any

import pytest

from chat_app.errors import ChatError
from chat_app.models import ContextState
from chat_app.prompt.context import MAX_END_MESSAGES
from chat_app.service import cancel
from chat_app.values.events import Complete, Error
from chat_app.values.model_call import (
    Finished,
    TextPart,
    UserTurn,
)
from mockllm_site.kit.database_thread import in_database
from tests.chat.chat_helpers import Chat, events_of, messages_of, scenario, trace_of
from tests.chat.scripts import ENDLESS
from tests.chat.service.long_conversations import (
    SMALL_LIMIT,
    create_long_conversation,
    record_requests,
    state_of,
)


async def test_the_summary_is_a_call_of_the_run(chat: Chat) -> None:
    await chat.script(scenario({"text": "They spoke of this."}, {"text": "Fine."}))
    conversation = await create_long_conversation(chat, 12)
    profile = await chat.profile(**SMALL_LIMIT)
    handle = await chat.send("And now?", profile=profile, conversation_id=conversation.pk)
    await events_of(handle)
    trace = await trace_of(handle)
    rows = await in_database(lambda: list(trace.calls.order_by("number")))
    assert [(row.number, row.purpose) for row in rows] == [(1, "summary"), (2, "answer")]
    assert rows[0].parts == [{"text": "They spoke of this."}]
    assert trace.model_calls == 2


async def test_stored_summary_is_reused(chat: Chat, monkeypatch: pytest.MonkeyPatch) -> None:
    requests = record_requests(monkeypatch)
    await chat.script(scenario({"text": "They spoke of this."}))
    conversation = await create_long_conversation(chat, 12)
    profile = await chat.profile(**SMALL_LIMIT)
    for text in ("And now?", "And then?"):
        await events_of(await chat.send(text, profile=profile, conversation_id=conversation.pk))
    assert len(requests) == 2
    assert "They spoke of this." in str(requests[1].turns[MAX_END_MESSAGES])


async def test_outdated_summary_is_cleared(chat: Chat, monkeypatch: pytest.MonkeyPatch) -> None:
    record_requests(monkeypatch)
    conversation = await create_long_conversation(chat, 12)
    old = {"strategy": "sandwich", "summary": "Old.", "first": 3, "last": 4, "message_count": 3}
    await in_database(partial(ContextState.objects.create, conversation=conversation, **old))
    await events_of(await chat.send("And now?", conversation_id=conversation.pk))
    assert await state_of(conversation) is None


@pytest.mark.parametrize(
    "summary_answer",
    [{"fault": {"kind": "rate_limit"}}, {"text": "  "}],
    ids=["an error", "nothing"],
)
async def test_answer_is_complete_without_a_summary(
    chat: Chat, monkeypatch: pytest.MonkeyPatch, summary_answer: dict[str, Any]
) -> None:
    requests = record_requests(monkeypatch)
    await chat.script(scenario(summary_answer))
    conversation = await create_long_conversation(chat, 12)
    profile = await chat.profile(**SMALL_LIMIT)
    handle = await chat.send("And now?", profile=profile, conversation_id=conversation.pk)
    assert (await events_of(handle))[-1] == Complete("Fine.")
    assert len(requests[0].turns) == 13
    assert await state_of(conversation) is None


async def test_middle_is_left_out_without_a_summary_beyond_the_limit(
    chat: Chat, monkeypatch: pytest.MonkeyPatch
) -> None:
    requests = record_requests(monkeypatch)
    await chat.script(scenario({"fault": {"kind": "rate_limit"}}))
    conversation = await create_long_conversation(chat, 12)
    profile = await chat.profile(context_limit=400)
    handle = await chat.send("And now?", profile=profile, conversation_id=conversation.pk)
    assert (await events_of(handle))[-1] == Complete("Fine.")
    assert UserTurn("[The messages that came here are left out]") in requests[0].turns
    row = await in_database((await trace_of(handle)).calls.filter(purpose="answer").get)
    assert row.request["estimated_tokens"] <= 400
    assert await state_of(conversation) is None


async def test_summary_from_a_report_is_its_content(
    chat: Chat, monkeypatch: pytest.MonkeyPatch
) -> None:
    record_requests(monkeypatch)
    await chat.script(
        scenario({"text": "Here it is.", "final_report": {"report_content": "They spoke."}})
    )
    conversation = await create_long_conversation(chat, 12)
    profile = await chat.profile(**SMALL_LIMIT)
    await events_of(await chat.send("And?", profile=profile, conversation_id=conversation.pk))
    state = await state_of(conversation)
    assert state is not None and state.summary == "They spoke."


async def test_failure_report_is_not_used_as_summary(
    chat: Chat, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A harness answers so to a message that is no scenario's id."""
    requests = record_requests(monkeypatch)
    conversation = await create_long_conversation(chat, 12)
    profile = await chat.profile(**SMALL_LIMIT, provider_id="test-llm")
    await events_of(await chat.send("And?", profile=profile, conversation_id=conversation.pk))
    assert len(requests[0].turns) == 13
    assert await state_of(conversation) is None


async def test_run_cancelled_while_summarising_has_an_empty_answer(chat: Chat) -> None:
    await chat.script(scenario(ENDLESS, {"text": "never"}))
    conversation = await create_long_conversation(chat, 12)
    profile = await chat.profile(**SMALL_LIMIT)
    handle = await chat.send("And now?", profile=profile, conversation_id=conversation.pk)
    await cancel(handle)
    assert await events_of(handle) == [Complete("")]
    assert (await messages_of(handle))[-1].status == "cancelled"
    assert await state_of(conversation) is None


@pytest.mark.parametrize("end", [ChatError("NETWORK_ERROR", "Connection failed"), Finished("stop")])
async def test_summary_is_stored_only_by_complete_answers(
    chat: Chat, monkeypatch: pytest.MonkeyPatch, end: Any
) -> None:
    record_requests(monkeypatch, TextPart("Fine."), end)
    await chat.script(scenario({"text": "They spoke of this."}))
    conversation = await create_long_conversation(chat, 12)
    profile = await chat.profile(**SMALL_LIMIT)
    handle = await chat.send("And now?", profile=profile, conversation_id=conversation.pk)
    last = (await events_of(handle))[-1]
    assert ((await state_of(conversation)) is None) == isinstance(last, Error)
