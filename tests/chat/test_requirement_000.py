"""Requirement 000 for the chat: in test mode it streams from the mock alone."""

import socket

import pytest

from chat_app.values.events import Complete
from mockllm_site.kit.database_thread import in_database
from scenarios_app.journal import journal
from scenarios_app.models import ServedRequest
from tests.chat.chat_helpers import Chat, events_of, log_of, messages_of, text_of
from tests.serving.modes import CATCH_ALL

PROVIDERS = ("openai", "anthropic", "google", "openrouter", "ollama", "my-vllm")
REASONED = "Why is the sky blue?\nReason: think of scattered light"


@pytest.fixture
def no_network(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """Make every connection and name look-up fail; return the attempts."""
    attempts: list[object] = []

    def refuse(*args: object, **_: object) -> None:
        attempts.append(args)
        raise OSError("the network is out of bounds")

    for name in ("connect", "connect_ex", "sendto"):
        monkeypatch.setattr(socket.socket, name, refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    return attempts


async def requests_of(conversation: object) -> list[ServedRequest]:
    assert await in_database(journal.flush)
    rows = ServedRequest.objects.filter(session=f"chat-{conversation}").order_by("pk")
    return await in_database(lambda: list(rows))


@pytest.mark.parametrize("provider_id", PROVIDERS)
async def test_r1_2_mock_answers_every_provider_in_process(
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


async def test_r2_3_interrupted_answer_is_not_requested_without_a_stream(chat: Chat) -> None:
    answer = {"text": "One two three.", "pacing": {"words_per_chunk": 1}}
    fault = {"kind": "disconnect", "after_chunks": 1}
    await chat.script({"name": "cut", "steps": [{"produce": {**answer, "fault": fault}}]})
    handle = await chat.send()
    await events_of(handle)
    rows = await requests_of(handle.conversation_id)
    assert [row.streamed for row in rows] == [True]


@pytest.mark.parametrize("message", ["Hello", REASONED])
async def test_r8_1_stored_text_is_the_streamed_text(chat: Chat, message: str) -> None:
    await chat.script(CATCH_ALL)
    handle = await chat.send(message)
    log = await log_of(handle.id)
    _, answer = await messages_of(handle)
    assert answer.content == text_of(log)
    assert answer.content.endswith(message)
    thinking = "".join(e.payload["content"] for e in log if e.type == "thinking")
    assert (answer.thinking or "") == thinking
    assert bool(thinking) == (message == REASONED)
