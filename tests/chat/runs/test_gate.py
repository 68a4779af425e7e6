"""The answer gate: during a burst of messages all are stored before the first is answered."""

import asyncio
from uuid import UUID

import pytest

from chat_app import loop
from chat_app.clients.registry import get_client as client_of
from chat_app.clients.sdk import SdkClient
from chat_app.models import ModelProfile
from chat_app.runs import answer as answers
from chat_app.runs import registry as gate_module
from chat_app.runs.registry import AnswerGate, run_registry
from tests.chat.chat_helpers import Chat, log_of, scenario, text_of
from traces_app.log import live_logs

# Enough turns for everything that is ready.
LOOP_TURNS = 20


async def run_ready_tasks() -> None:
    for _ in range(LOOP_TURNS):
        await asyncio.sleep(0)


async def start_waiting(gate: AnswerGate) -> "asyncio.Task[None]":
    """Return a task that waits at the gate."""
    task = asyncio.create_task(gate.wait_open())
    await run_ready_tasks()
    return task


async def test_gate_is_open_without_messages() -> None:
    assert (await start_waiting(AnswerGate())).done()


async def test_answer_waits_until_a_message_is_stored() -> None:
    gate = AnswerGate()
    with gate.hold():
        task = await start_waiting(gate)
        assert not task.done()
    await run_ready_tasks()
    assert task.done()


async def test_answer_waits_for_all_messages() -> None:
    gate = AnswerGate()
    with gate.hold():
        with gate.hold():
            task = await start_waiting(gate)
        await run_ready_tasks()
        assert not task.done()
    await task


@pytest.mark.parametrize(("gap", "is_open"), [(60.0, False), (0.0, True)])
async def test_gate_opens_the_gap_of_a_burst_after_its_last_message(
    monkeypatch: pytest.MonkeyPatch, gap: float, is_open: bool
) -> None:
    monkeypatch.setattr(gate_module, "BURST_GAP_SECONDS", 60.0)
    gate = AnswerGate()
    with gate.hold():
        pass
    # The messages are a burst at any speed of the machine; only the wait differs.
    monkeypatch.setattr(gate, "_last_arrival", float("inf"))
    monkeypatch.setattr(gate_module, "BURST_GAP_SECONDS", gap)
    with gate.hold():
        pass
    task = await start_waiting(gate)
    assert task.done() is is_open
    task.cancel()


async def test_messages_far_apart_are_no_burst(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gate_module, "BURST_GAP_SECONDS", -1.0)
    gate = AnswerGate()
    for _ in range(2):
        with gate.hold():
            pass
    assert (await start_waiting(gate)).done()


async def test_gate_opens_after_the_maximum_hold(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(gate_module, "MAX_HOLD_SECONDS", 0.0)
    gate = AnswerGate()
    with gate.hold():
        assert (await start_waiting(gate)).done()


@pytest.mark.django_db(transaction=True)
async def test_run_calls_no_model_while_messages_arrive(
    chat: Chat, monkeypatch: pytest.MonkeyPatch
) -> None:
    model_calls: list[str] = []

    def get_client(profile: ModelProfile, *, session: str) -> SdkClient:
        model_calls.append(session)
        return client_of(profile, session=session)

    monkeypatch.setattr(answers, "get_client", get_client)
    await chat.script(scenario({"text": "Hello."}))

    async def send_while_held() -> UUID:
        with run_registry().gate.hold():
            handle = await chat.send()
            await run_ready_tasks()
            log = live_logs.get(handle.id)
            assert log is not None and not model_calls
            assert (await anext(log.follow())).type == "started"
        return handle.id

    trace_id = await loop.run_on_loop(send_while_held())
    assert text_of(await log_of(trace_id)) == "Hello."
    assert model_calls
