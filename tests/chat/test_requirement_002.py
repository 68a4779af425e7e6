"""Requirement 002 from a message to what is stored, where the parts have tests of their own."""

from functools import partial
from typing import Any

import pytest

from chat_app.conversations import delete
from chat_app.models import ContextState
from chat_app.values.events import Complete, TextDelta, ThinkingDelta
from chat_app.values.model_call import Finished, ModelRequest, TextPart, ThinkingPart
from mockllm_site.kit.database_thread import in_database
from tests.chat.chatting import Chat, events_of, messages_of, scripted

END = "\N{SYMBOL FOR END OF TRANSMISSION}"
PIECES = (
    ThinkingPart(f" Hm{END}m\x00"),
    TextPart("\n Hel"),
    TextPart("lo,\x07 "),
    TextPart(f"world {END} and what nobody hears"),
    TextPart(END),
    Finished("stop"),
)


async def test_ch_t3_what_is_told_and_what_is_stored_is_one_clean_text(
    chat: Chat, monkeypatch: pytest.MonkeyPatch
) -> None:
    scripted(monkeypatch, *PIECES)
    handle = await chat.send()
    *said, last = await events_of(handle)
    text = "".join(event.content for event in said if isinstance(event, TextDelta))
    thought = "".join(event.content for event in said if isinstance(event, ThinkingDelta))
    assert (text, thought) == ("Hello, world", "Hmm")
    assert last == Complete(text, thought)
    _, answer = await messages_of(handle)
    assert (answer.content, answer.thinking, answer.status) == (text, thought, "complete")


@pytest.mark.parametrize(("columns", "budget"), [({"enable_thinking": True}, 10_000), ({}, None)])
async def test_thinking_has_a_budget_of_10000_unless_the_profile_gives_another(
    chat: Chat, monkeypatch: pytest.MonkeyPatch, columns: dict[str, Any], budget: int | None
) -> None:
    asked: list[ModelRequest] = []

    async def read_answer(request: ModelRequest) -> None:
        asked.append(request)

    scripted(monkeypatch, "Hi.", on_request=read_answer)
    await events_of(await chat.send(profile=await chat.profile(**columns)))
    assert [request.thinking_budget for request in asked] == [budget]


async def test_a_deleted_conversation_takes_its_context_state_along(chat: Chat) -> None:
    conversation = await chat.conversation()
    kept = {"strategy": "sandwich", "summary": "Old.", "first": 3, "last": 4, "message_count": 11}
    await in_database(partial(ContextState.objects.create, conversation=conversation, **kept))
    await in_database(partial(delete, conversation))
    assert await in_database(ContextState.objects.count) == 0
