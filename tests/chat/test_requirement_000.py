"""Requirement 000 as the chat meets it: in test mode it asks the mock alone, by streams, and keeps
what came."""

import socket

import pytest

from chat_app.values.events import Complete
from mockllm_site.kit.database_thread import in_database
from scenarios_app.journal import journal
from scenarios_app.models import ServedRequest
from tests.chat.chatting import Chat, events_of, log_of, messages_of, text_of
from tests.serving.modes import CATCH_ALL

PROVIDERS = ("openai", "anthropic", "google", "openrouter", "ollama", "my-vllm")
REASONED = "Why is the sky blue?\nReason: think of scattered light"


@pytest.fixture
def no_network(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """Every connection and every look-up of a name fails, and is noted."""
    tried: list[object] = []

    def refuse(*args: object, **_: object) -> None:
        tried.append(args)
        raise OSError("the network is out of bounds")

    for name in ("connect", "connect_ex", "sendto"):
        monkeypatch.setattr(socket.socket, name, refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    return tried


async def requests_of(conversation: object) -> list[ServedRequest]:
    assert await in_database(journal.flush)
    rows = ServedRequest.objects.filter(session=f"chat-{conversation}").order_by("pk")
    return await in_database(lambda: list(rows))


@pytest.mark.parametrize("provider_id", PROVIDERS)
async def test_r1_2_whatever_a_profile_names_the_mock_answers_in_process(
    chat: Chat, no_network: list[object], provider_id: str
) -> None:
    await chat.script({**CATCH_ALL, "steps": [{"consume": False, "produce": {"text": "Here."}}]})
    profile = await chat.profile(provider_id=provider_id, base_url="https://llm.example/v1")
    handle = await chat.send(profile=profile)
    assert (await events_of(handle))[-1] == Complete("Here.")
    assert no_network == []
    (row,) = await requests_of(handle.conversation_id)
    assert row.scenario == CATCH_ALL["name"]


async def test_r2_3_the_chat_asks_for_streams_alone(chat: Chat) -> None:
    call = {"tool_calls": [{"name": "add", "arguments": {"a": 1, "b": 2}}]}
    steps = [{"produce": call}, {"produce": {"text": "3"}}]
    await chat.script({"name": "sum", "steps": steps})
    handle = await chat.send(profile=await chat.profile(mcp_servers=["demo"]))
    assert isinstance((await events_of(handle))[-1], Complete)
    rows = await requests_of(handle.conversation_id)
    assert [(row.step, row.streamed) for row in rows] == [("1", True), ("2", True)]


async def test_r2_3_an_answer_that_breaks_off_is_not_asked_for_whole(chat: Chat) -> None:
    answer = {"text": "One two three.", "pacing": {"words_per_chunk": 1}}
    fault = {"kind": "disconnect", "after_chunks": 1}
    await chat.script({"name": "cut", "steps": [{"produce": {**answer, "fault": fault}}]})
    handle = await chat.send()
    await events_of(handle)
    rows = await requests_of(handle.conversation_id)
    assert [row.streamed for row in rows] == [True]


@pytest.mark.parametrize("message", ["Hello", REASONED])
async def test_r8_1_what_is_stored_is_the_streamed_text(chat: Chat, message: str) -> None:
    await chat.script(CATCH_ALL)
    handle = await chat.send(message)
    told = await log_of(handle.id)
    _, answer = await messages_of(handle)
    assert answer.content == text_of(told)
    assert answer.content.endswith(message)
    thought = "".join(e.payload["content"] for e in told if e.type == "thinking")
    assert (answer.thinking or "") == thought
    assert bool(thought) == (message == REASONED)
