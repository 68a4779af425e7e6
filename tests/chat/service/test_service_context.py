"""The request that a run sends: the profile's prompt and parameters, and the conversation."""

from collections.abc import Sequence
from functools import partial

import pytest

from chat_app.conversations import append_message
from chat_app.models import Conversation, Sender
from chat_app.prompt.context import MAX_END_MESSAGES
from chat_app.values.events import Complete
from chat_app.values.model_call import (
    AssistantTurn,
    ModelRequest,
    TextPart,
    ToolOutput,
    ToolResults,
    Turn,
    UserTurn,
)
from mockllm_site.kit.database_thread import in_database
from tests.chat.chat_helpers import Chat, events_of, messages_of, scenario
from tests.chat.scripts import call_tool
from tests.chat.service.long_conversations import (
    LONG_TEXT,
    SMALL_LIMIT,
    create_long_conversation,
    record_requests,
    state_of,
)
from traces_app.models import Trace


async def test_ch_t8_the_system_prompt_is_sent(chat: Chat) -> None:
    await chat.script(
        {
            "name": "pirate",
            "steps": [
                {
                    "match": {"messages": [{"role": "system", "equals": "Talk like a pirate."}]},
                    "produce": {"text": "Arr."},
                }
            ],
        }
    )
    handle = await chat.send(profile=await chat.profile(system_prompt="Talk like a pirate."))
    assert (await events_of(handle))[-1] == Complete("Arr.")


async def test_the_profiles_parameters_are_sent(
    chat: Chat, monkeypatch: pytest.MonkeyPatch
) -> None:
    requests = record_requests(monkeypatch)
    profile = await chat.profile(
        model_id="m-1", temperature=0.5, max_tokens=99, enable_thinking=True, thinking_budget=2_048
    )
    await events_of(await chat.send("Hello", profile=profile))
    assert requests == [
        ModelRequest(
            "m-1", (UserTurn("Hello"),), temperature=0.5, max_tokens=99, thinking_budget=2_048
        )
    ]


async def test_run_uses_the_profile_of_its_start(
    chat: Chat, monkeypatch: pytest.MonkeyPatch
) -> None:
    requests = record_requests(monkeypatch)
    profile = await chat.profile(model_id="m-1")
    handle = await chat.send(profile=profile)
    profile.model_id = "m-2"
    await events_of(handle)
    assert [request.model for request in requests] == ["m-1"]


async def test_ch_t7_short_conversation_is_sent_completely(
    chat: Chat, monkeypatch: pytest.MonkeyPatch
) -> None:
    requests = record_requests(monkeypatch)
    conversation = await create_long_conversation(chat, 12)
    handle = await chat.send("And now?", conversation_id=conversation.pk)
    await events_of(handle)
    [request] = requests
    assert len(request.turns) == 13
    assert request.turns[1] == AssistantTurn((TextPart(f"2: {LONG_TEXT}"),))
    assert request.turns[-1] == UserTurn("And now?")
    assert await state_of(conversation) is None


async def test_ch_t7_a_long_conversation_is_sent_as_a_sandwich(
    chat: Chat, monkeypatch: pytest.MonkeyPatch
) -> None:
    requests = record_requests(monkeypatch)
    await chat.script(scenario({"text": "They spoke of this."}))
    conversation = await create_long_conversation(chat, 12)
    profile = await chat.profile(**SMALL_LIMIT)
    handle = await chat.send("And now?", profile=profile, conversation_id=conversation.pk)
    assert (await events_of(handle))[-1] == Complete("Fine.")
    [request] = requests
    turns = request.turns
    assert len(turns) == MAX_END_MESSAGES + 1 + MAX_END_MESSAGES
    assert "They spoke of this." in str(turns[MAX_END_MESSAGES])
    assert turns[0] == UserTurn(f"1: {LONG_TEXT}") and turns[-1] == UserTurn("And now?")
    state = await state_of(conversation)
    assert state is not None
    assert (state.summary, state.strategy) == ("They spoke of this.", "sandwich")
    assert (state.first, state.last, state.message_count) == (6, 8, 8)


async def test_the_full_strategy_sends_everything(
    chat: Chat, monkeypatch: pytest.MonkeyPatch
) -> None:
    requests = record_requests(monkeypatch)
    conversation = await create_long_conversation(chat, 12)
    profile = await chat.profile(**SMALL_LIMIT, context_strategy="full")
    await events_of(await chat.send("And now?", profile=profile, conversation_id=conversation.pk))
    assert len(requests[0].turns) == 13


def append_tool_answers(conversation: Conversation, sizes: Sequence[int]) -> None:
    """Append questions and answers, each after a tool result of `size` characters."""
    for number, size in enumerate(sizes, 1):
        append_message(conversation, Sender.USER, content=f"question {number}")
        call = {"id": f"call_{number}", "name": "look", "arguments": "{}"}
        result = {"tool_call_id": call["id"], "name": "look", "content": "x" * size}
        append_message(
            conversation,
            Sender.ASSISTANT,
            content="Found.",
            rounds=[
                {"parts": [{"tool_call": call}], "results": [result]},
                {"parts": [{"text": "Found."}], "results": []},
            ],
        )


def tool_results(turns: Sequence[Turn]) -> list[ToolOutput]:
    return [result for turn in turns if isinstance(turn, ToolResults) for result in turn.results]


async def test_four_messages_with_long_results_keep_to_the_limit(
    chat: Chat, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Unshortened they are four times the limit."""
    requests = record_requests(monkeypatch)
    conversation = await chat.conversation()
    await in_database(partial(append_tool_answers, conversation, (8_000, 8_000)))
    profile = await chat.profile(context_limit=1_000)
    handle = await chat.send("And now?", profile=profile, conversation_id=conversation.pk)
    assert (await events_of(handle))[-1] == Complete("Fine.")
    [call] = await in_database(lambda: list(Trace.objects.get().calls.all()))
    assert (call.purpose, call.request["estimated_tokens"]) == ("answer", 700)
    results = tool_results(requests[0].turns)
    assert [result.tool_call_id for result in results] == ["call_1", "call_2"]
    assert all("characters left out …]" in result.content for result in results)
    # The stored result is complete.
    stored_results = (await messages_of(handle))[1].rounds[0]["results"]
    assert stored_results[0]["content"] == "x" * 8_000


async def test_results_of_the_answer_itself_keep_to_the_limit(chat: Chat) -> None:
    await chat.script(
        {
            "name": "long",
            "steps": [
                {"turn": turn, "produce": call_tool("long", length=20_000)} for turn in range(1, 5)
            ],
        },
        scenario({"text": "Long."}, name="then", priority=-1),
    )
    profile = await chat.profile(context_limit=2_000, mcp_servers=["demo"])
    handle = await chat.send(profile=profile)
    assert isinstance((await events_of(handle))[-1], Complete)
    rows = await in_database(lambda: list(Trace.objects.get().calls.order_by("number")))
    assert [row.request["turns"] for row in rows] == [1, 3, 5, 7, 9]
    assert all(1_700 < row.request["estimated_tokens"] <= 1_800 for row in rows[1:])
    answer = (await messages_of(handle))[1]
    assert [len(stored_round["results"][0]["content"]) for stored_round in answer.rounds[:4]] == [
        20_000
    ] * 4
