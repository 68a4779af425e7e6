"""Requirement 002 from a message to the stored answer; its parts are tested elsewhere."""

from functools import partial
from typing import Any

import pytest

from chat_app.conversations import delete
from chat_app.models import ContextState
from chat_app.values.events import Complete, TextDelta, ThinkingDelta
from chat_app.values.model_call import Finished, ModelRequest, TextPart, ThinkingPart
from mockllm_site.kit.database_thread import in_database
from tests.chat.chat_helpers import Chat, events_of, messages_of, script_client

END = "\N{SYMBOL FOR END OF TRANSMISSION}"
PIECES = (
    ThinkingPart(f" Hm{END}m\x00"),
    TextPart("\n Hel"),
    TextPart("lo,\x07 "),
    TextPart(f"world {END} and what nobody hears"),
    TextPart(END),
    Finished("stop"),
)


async def test_ch_t3_streamed_and_stored_text_are_equal_and_clean(
    chat: Chat, monkeypatch: pytest.MonkeyPatch
) -> None:
    script_client(monkeypatch, *PIECES)
    handle = await chat.send()
    *deltas, last = await events_of(handle)
    text = "".join(event.content for event in deltas if isinstance(event, TextDelta))
    thinking = "".join(event.content for event in deltas if isinstance(event, ThinkingDelta))
    assert (text, thinking) == ("Hello, world", "Hmm")
    assert last == Complete(text, thinking)
    _, answer = await messages_of(handle)
    assert (answer.content, answer.thinking, answer.status) == (text, thinking, "complete")


@pytest.mark.parametrize(("columns", "budget"), [({"enable_thinking": True}, 10_000), ({}, None)])
async def test_thinking_has_a_budget_of_10000_unless_the_profile_gives_another(
    chat: Chat, monkeypatch: pytest.MonkeyPatch, columns: dict[str, Any], budget: int | None
) -> None:
    requests: list[ModelRequest] = []

    async def record_request(request: ModelRequest) -> None:
        requests.append(request)

    script_client(monkeypatch, "Hi.", on_request=record_request)
    await events_of(await chat.send(profile=await chat.profile(**columns)))
    assert [request.thinking_budget for request in requests] == [budget]


async def test_deleting_a_conversation_deletes_its_context_state(chat: Chat) -> None:
    conversation = await chat.conversation()
    columns = {
        "strategy": "sandwich",
        "summary": "Old.",
        "first": 3,
        "last": 4,
        "message_count": 11,
    }
    await in_database(partial(ContextState.objects.create, conversation=conversation, **columns))
    await in_database(partial(delete, conversation))
    assert await in_database(ContextState.objects.count) == 0
