"""Summaries of what no longer fits: made by a run, kept, used again, cleared, and done without."""

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
from tests.chat.chatting import Chat, events_of, messages_of, scenario, trace_of
from tests.chat.scripts import ENDLESS
from tests.chat.service.long_talks import SMALL, record_requests, state_of, talked


async def test_the_summary_is_a_call_of_the_run(chat: Chat) -> None:
    await chat.script(scenario({"text": "They spoke of this."}, {"text": "Fine."}))
    conversation = await talked(chat, 12)
    profile = await chat.profile(**SMALL)
    handle = await chat.send("And now?", profile=profile, conversation_id=conversation.pk)
    await events_of(handle)
    trace = await trace_of(handle)
    rows = await in_database(lambda: list(trace.calls.order_by("number")))
    assert [(row.number, row.purpose) for row in rows] == [(1, "summary"), (2, "answer")]
    assert rows[0].parts == [{"text": "They spoke of this."}]
    assert trace.model_calls == 2


async def test_a_kept_summary_is_used_again(chat: Chat, monkeypatch: pytest.MonkeyPatch) -> None:
    requests = record_requests(monkeypatch)
    await chat.script(scenario({"text": "They spoke of this."}))
    conversation = await talked(chat, 12)
    profile = await chat.profile(**SMALL)
    for text in ("And now?", "And then?"):
        await events_of(await chat.send(text, profile=profile, conversation_id=conversation.pk))
    assert len(requests) == 2
    assert "They spoke of this." in str(requests[1].turns[MAX_END_MESSAGES])


async def test_a_summary_that_fits_no_longer_is_cleared(
    chat: Chat, monkeypatch: pytest.MonkeyPatch
) -> None:
    record_requests(monkeypatch)
    conversation = await talked(chat, 12)
    old = {"strategy": "sandwich", "summary": "Old.", "first": 3, "last": 4, "message_count": 3}
    await in_database(partial(ContextState.objects.create, conversation=conversation, **old))
    await events_of(await chat.send("And now?", conversation_id=conversation.pk))
    assert await state_of(conversation) is None


@pytest.mark.parametrize(
    "failing", [{"fault": {"kind": "rate_limit"}}, {"text": "  "}], ids=["an error", "nothing"]
)
async def test_a_summary_that_fails_costs_the_answer_nothing(
    chat: Chat, monkeypatch: pytest.MonkeyPatch, failing: dict[str, Any]
) -> None:
    requests = record_requests(monkeypatch)
    await chat.script(scenario(failing))
    conversation = await talked(chat, 12)
    profile = await chat.profile(**SMALL)
    handle = await chat.send("And now?", profile=profile, conversation_id=conversation.pk)
    assert (await events_of(handle))[-1] == Complete("Fine.")
    assert len(requests[0].turns) == 13
    assert await state_of(conversation) is None


async def test_beyond_the_limit_a_summary_that_fails_costs_the_middle(
    chat: Chat, monkeypatch: pytest.MonkeyPatch
) -> None:
    requests = record_requests(monkeypatch)
    await chat.script(scenario({"fault": {"kind": "rate_limit"}}))
    conversation = await talked(chat, 12)
    profile = await chat.profile(context_limit=400)
    handle = await chat.send("And now?", profile=profile, conversation_id=conversation.pk)
    assert (await events_of(handle))[-1] == Complete("Fine.")
    assert UserTurn("[The messages that came here are left out]") in requests[0].turns
    row = await in_database((await trace_of(handle)).calls.filter(purpose="answer").get)
    assert row.request["estimated_tokens"] <= 400
    assert await state_of(conversation) is None


async def test_a_summary_that_comes_as_a_report_is_its_content(
    chat: Chat, monkeypatch: pytest.MonkeyPatch
) -> None:
    record_requests(monkeypatch)
    await chat.script(
        scenario({"text": "Here it is.", "final_report": {"report_content": "They spoke."}})
    )
    conversation = await talked(chat, 12)
    profile = await chat.profile(**SMALL)
    await events_of(await chat.send("And?", profile=profile, conversation_id=conversation.pk))
    state = await state_of(conversation)
    assert state is not None and state.summary == "They spoke."


async def test_a_report_of_a_failure_is_no_summary(
    chat: Chat, monkeypatch: pytest.MonkeyPatch
) -> None:
    """That is what a harness answers to a message that is no scenario's id."""
    requests = record_requests(monkeypatch)
    conversation = await talked(chat, 12)
    profile = await chat.profile(**SMALL, provider_id="test-llm")
    await events_of(await chat.send("And?", profile=profile, conversation_id=conversation.pk))
    assert len(requests[0].turns) == 13
    assert await state_of(conversation) is None


async def test_a_run_that_is_cancelled_while_it_summarises_says_nothing(chat: Chat) -> None:
    await chat.script(scenario(ENDLESS, {"text": "never"}))
    conversation = await talked(chat, 12)
    profile = await chat.profile(**SMALL)
    handle = await chat.send("And now?", profile=profile, conversation_id=conversation.pk)
    await cancel(handle)
    assert await events_of(handle) == [Complete("")]
    assert (await messages_of(handle))[-1].status == "cancelled"
    assert await state_of(conversation) is None


@pytest.mark.parametrize("end", [ChatError("NETWORK_ERROR", "Connection failed"), Finished("stop")])
async def test_a_summary_is_kept_by_answers_that_complete(
    chat: Chat, monkeypatch: pytest.MonkeyPatch, end: Any
) -> None:
    record_requests(monkeypatch, TextPart("Fine."), end)
    await chat.script(scenario({"text": "They spoke of this."}))
    conversation = await talked(chat, 12)
    profile = await chat.profile(**SMALL)
    handle = await chat.send("And now?", profile=profile, conversation_id=conversation.pk)
    last = (await events_of(handle))[-1]
    assert ((await state_of(conversation)) is None) == isinstance(last, Error)
