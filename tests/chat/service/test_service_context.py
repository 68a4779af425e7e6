"""What a run sends to its model: the profile's prompt and parameters, and the conversation as its
strategy has it."""

from collections.abc import Sequence
from functools import partial
from typing import Any

import pytest

from chat_app.conversations import append_message
from chat_app.errors import ChatError
from chat_app.models import ContextState, Conversation, Sender
from chat_app.prompt.context import END
from chat_app.service import cancel
from chat_app.values.events import Complete, Error
from chat_app.values.model_call import (
    AssistantTurn,
    Finished,
    ModelRequest,
    Result,
    Text,
    TextPiece,
    ToolResults,
    Turn,
    UserTurn,
)
from mockllm_site.kit.database_thread import in_database
from tests.chat.chatting import Chat, events_of, messages_of, scenario, scripted, trace_of
from tests.chat.scripts import ENDLESS, calls
from traces_app.models import Trace

LONG = "Tell me more about this, please. " * 4
# Twelve such messages have some 400 tokens: above 70 % of this, and ten of them below 60 %.
SMALL = {"context_limit": 550}


def talk(conversation: Conversation, count: int) -> None:
    """So many messages, of user and model by turns, each with its number."""
    for number in range(1, count + 1):
        sender = Sender.USER if number % 2 else Sender.ASSISTANT
        append_message(conversation, sender, content=f"{number}: {LONG}")


async def talked(chat: Chat, count: int) -> Conversation:
    conversation = await chat.conversation()
    await in_database(partial(talk, conversation, count))
    return conversation


async def state_of(conversation: Conversation) -> ContextState | None:
    return await in_database(ContextState.objects.filter(conversation=conversation).first)


def heard(monkeypatch: pytest.MonkeyPatch, *events: Any) -> list[ModelRequest]:
    """The requests that the answering client gets."""
    requests: list[ModelRequest] = []

    async def asked(request: ModelRequest) -> None:
        requests.append(request)

    scripted(monkeypatch, *(events or ("Fine.",)), asked=asked)
    return requests


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
    requests = heard(monkeypatch)
    profile = await chat.profile(
        model_id="m-1", temperature=0.5, max_tokens=99, enable_thinking=True, thinking_budget=2_048
    )
    await events_of(await chat.send("Hello", profile=profile))
    assert requests == [
        ModelRequest(
            "m-1", (UserTurn("Hello"),), temperature=0.5, max_tokens=99, thinking_budget=2_048
        )
    ]


async def test_a_run_keeps_the_profile_that_it_began_with(
    chat: Chat, monkeypatch: pytest.MonkeyPatch
) -> None:
    requests = heard(monkeypatch)
    profile = await chat.profile(model_id="m-1")
    handle = await chat.send(profile=profile)
    profile.model_id = "m-2"
    await events_of(handle)
    assert [request.model for request in requests] == ["m-1"]


async def test_ch_t7_a_short_conversation_is_sent_whole(
    chat: Chat, monkeypatch: pytest.MonkeyPatch
) -> None:
    requests = heard(monkeypatch)
    conversation = await talked(chat, 12)
    handle = await chat.send("And now?", conversation_id=conversation.pk)
    await events_of(handle)
    [request] = requests
    assert len(request.turns) == 13
    assert request.turns[1] == AssistantTurn((Text(f"2: {LONG}"),))
    assert request.turns[-1] == UserTurn("And now?")
    assert await state_of(conversation) is None


async def test_ch_t7_a_long_conversation_is_sent_as_a_sandwich(
    chat: Chat, monkeypatch: pytest.MonkeyPatch
) -> None:
    requests = heard(monkeypatch)
    await chat.script(scenario({"text": "They spoke of this."}))
    conversation = await talked(chat, 12)
    profile = await chat.profile(**SMALL)
    handle = await chat.send("And now?", profile=profile, conversation_id=conversation.pk)
    assert (await events_of(handle))[-1] == Complete("Fine.")
    [request] = requests
    turns = request.turns
    assert len(turns) == END + 1 + END
    assert "They spoke of this." in str(turns[END])
    assert turns[0] == UserTurn(f"1: {LONG}") and turns[-1] == UserTurn("And now?")
    state = await state_of(conversation)
    assert state is not None
    assert (state.summary, state.strategy) == ("They spoke of this.", "sandwich")
    assert (state.first, state.last, state.message_count) == (6, 8, 8)


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
    requests = heard(monkeypatch)
    await chat.script(scenario({"text": "They spoke of this."}))
    conversation = await talked(chat, 12)
    profile = await chat.profile(**SMALL)
    for text in ("And now?", "And then?"):
        await events_of(await chat.send(text, profile=profile, conversation_id=conversation.pk))
    assert len(requests) == 2
    assert "They spoke of this." in str(requests[1].turns[END])


async def test_a_summary_that_fits_no_longer_is_cleared(
    chat: Chat, monkeypatch: pytest.MonkeyPatch
) -> None:
    heard(monkeypatch)
    conversation = await talked(chat, 12)
    old = {"strategy": "sandwich", "summary": "Old.", "first": 3, "last": 4, "message_count": 3}
    await in_database(partial(ContextState.objects.create, conversation=conversation, **old))
    await events_of(await chat.send("And now?", conversation_id=conversation.pk))
    assert await state_of(conversation) is None


async def test_the_full_strategy_sends_everything(
    chat: Chat, monkeypatch: pytest.MonkeyPatch
) -> None:
    requests = heard(monkeypatch)
    conversation = await talked(chat, 12)
    profile = await chat.profile(**SMALL, context_strategy="full")
    await events_of(await chat.send("And now?", profile=profile, conversation_id=conversation.pk))
    assert len(requests[0].turns) == 13


@pytest.mark.parametrize(
    "failing", [{"fault": {"kind": "rate_limit"}}, {"text": "  "}], ids=["an error", "nothing"]
)
async def test_a_summary_that_fails_costs_the_answer_nothing(
    chat: Chat, monkeypatch: pytest.MonkeyPatch, failing: dict[str, Any]
) -> None:
    requests = heard(monkeypatch)
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
    requests = heard(monkeypatch)
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
    heard(monkeypatch)
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
    requests = heard(monkeypatch)
    conversation = await talked(chat, 12)
    profile = await chat.profile(**SMALL, provider_id="test-llm")
    await events_of(await chat.send("And?", profile=profile, conversation_id=conversation.pk))
    assert len(requests[0].turns) == 13
    assert await state_of(conversation) is None


def looked_up(conversation: Conversation, sizes: Sequence[int]) -> None:
    """Questions and answers, each after a tool's result of that many characters."""
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


def results_in(turns: Sequence[Turn]) -> list[Result]:
    return [result for turn in turns if isinstance(turn, ToolResults) for result in turn.results]


async def test_four_messages_with_long_results_keep_to_the_limit(
    chat: Chat, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They stood at four times the limit."""
    requests = heard(monkeypatch)
    conversation = await chat.conversation()
    await in_database(partial(looked_up, conversation, (8_000, 8_000)))
    profile = await chat.profile(context_limit=1_000)
    handle = await chat.send("And now?", profile=profile, conversation_id=conversation.pk)
    assert (await events_of(handle))[-1] == Complete("Fine.")
    [call] = await in_database(lambda: list(Trace.objects.get().calls.all()))
    assert (call.purpose, call.request["estimated_tokens"]) == ("answer", 700)
    sent = results_in(requests[0].turns)
    assert [result.tool_call_id for result in sent] == ["call_1", "call_2"]
    assert all("characters left out …]" in result.content for result in sent)
    # What is stored is whole.
    stored = (await messages_of(handle))[1].rounds[0]["results"]
    assert stored[0]["content"] == "x" * 8_000


async def test_results_of_the_answer_itself_keep_to_the_limit(chat: Chat) -> None:
    await chat.script(
        {
            "name": "long",
            "steps": [
                {"turn": turn, "produce": calls("long", length=20_000)} for turn in range(1, 5)
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
    assert [len(one["results"][0]["content"]) for one in answer.rounds[:4]] == [20_000] * 4


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
    heard(monkeypatch, TextPiece("Fine."), end)
    await chat.script(scenario({"text": "They spoke of this."}))
    conversation = await talked(chat, 12)
    profile = await chat.profile(**SMALL)
    handle = await chat.send("And now?", profile=profile, conversation_id=conversation.pk)
    last = (await events_of(handle))[-1]
    assert ((await state_of(conversation)) is None) == isinstance(last, Error)
