"""Cancelling at every moment of an answer: the run ends once and all stored rows agree."""

import asyncio
from collections import Counter
from functools import partial

import pytest

from chat_app.errors import ChatError
from chat_app.models import Message, ModelProfile
from chat_app.service import StreamHandle, cancel
from mockllm_site.kit.database_thread import in_database
from tests.chat.chat_helpers import Chat, log_of, text_of, trace_of
from traces_app.follow import follow
from traces_app.models import Status

WORDS = 8
TEXT = " ".join(["word"] * WORDS)
# Every event of an answer, and moments before the first and after the last.
MOMENTS = WORDS + 4
BATCH_SIZE = 20


@pytest.mark.parametrize(
    "count",
    [100, pytest.param(10_000, marks=[pytest.mark.long, pytest.mark.timeout(3_600)])],
)
async def test_cancelled_and_complete_answers_are_never_confused(chat: Chat, count: int) -> None:
    answer = {"text": TEXT, "pacing": {"chunk_ms": 1, "words_per_chunk": 1}}
    await chat.script(
        {"name": "race", "steps": [{"consume": False, "produce": answer}]},
    )
    profile = await chat.profile()
    ends: Counter[str] = Counter()
    for first in range(0, count, BATCH_SIZE):
        batch = range(first, min(first + BATCH_SIZE, count))
        ends.update(
            await asyncio.gather(
                *(
                    cancel_at(chat, profile, moment % MOMENTS, double=moment % 3 == 0)
                    for moment in batch
                )
            )
        )
    # Both results must occur, or there was no race.
    assert ends.keys() == {Status.CANCELLED, Status.COMPLETED}


async def cancel_at(chat: Chat, profile: ModelProfile, moment: int, *, double: bool) -> str:
    """Cancel at event `moment`, assert that all stored rows agree, and return the status."""
    handle = await chat.send(profile=profile)
    await wait_for_event(handle, moment)
    cancel_results = await asyncio.gather(*(try_cancel(handle) for _ in range(1 + double)))
    log, again = await log_of(handle.id), await log_of(handle.id)
    trace = await trace_of(handle)
    assert log == again
    assert [event.seq for event in log] == list(range(1, len(log) + 1))
    assert [event.type for event in log if event.is_terminal] == ["done"]
    cancelled = log[-1].payload.get("cancelled", False)
    assert trace.status == (Status.CANCELLED if cancelled else Status.COMPLETED)
    answers = await in_database(
        partial(list, Message.objects.filter(conversation=handle.conversation_id, number=2))
    )
    [answer] = answers
    assert answer.status == ("cancelled" if cancelled else "complete")
    assert answer.content == text_of(log)
    assert TEXT.startswith(answer.content) if cancelled else answer.content == TEXT
    # Every caller got the true result, cancelled or refused.
    assert set(cancel_results) == {cancelled}
    return trace.status


async def wait_for_event(handle: StreamHandle, moment: int) -> None:
    if moment == 0:
        return
    async for event in follow(handle.id):
        if event.seq == moment:
            return


async def try_cancel(handle: StreamHandle) -> bool:
    try:
        await cancel(handle)
    except ChatError as error:
        assert error.code == "CONFLICT"
        return False
    return True
