"""Large work runs in a thread, and medium work takes one turn of the event loop each."""

import asyncio
import gc
import os
import signal
import sys
import threading
from typing import Any

import pytest

from scenarios_app.serving import pipeline as pipelines
from scenarios_app.serving.executor import (
    LARGE_BYTES,
    MANY_TEXTS,
    MEDIUM_BYTES,
    run_cooperatively,
    run_in_thread,
    run_inline,
    work_for,
)
from scenarios_app.wire.base import Call
from tests.serving.pipelines import KEY, Harness, chat, scenario, text_step


async def turns_of(work: Any, number: int) -> list[int]:
    """Return the turns of the event loop in which `number` calls run."""
    loop, turn, call_turns = asyncio.get_running_loop(), 0, []

    def count() -> None:
        nonlocal turn
        turn += 1
        if len(call_turns) < number:
            loop.call_soon(count)

    loop.call_soon(count)
    await asyncio.gather(*(work(lambda: call_turns.append(turn)) for _ in range(number)))
    return call_turns


async def test_medium_work_is_done_once_in_a_turn() -> None:
    turns = await turns_of(run_cooperatively, 5)
    assert len(set(turns)) == 5
    assert sorted(turns) == turns


async def test_small_work_runs_in_the_same_turn() -> None:
    assert len(set(await turns_of(run_inline, 5))) == 1


async def test_failed_cooperative_call_frees_its_loop() -> None:
    with pytest.raises(ZeroDivisionError):
        await run_cooperatively(lambda: 1 / 0)
    assert await run_cooperatively(divmod, 7, 2) == (3, 1)


async def test_large_work_runs_sequentially_in_one_other_thread() -> None:
    threads = await asyncio.gather(*(run_in_thread(threading.current_thread) for _ in range(3)))
    assert len(set(threads)) == 1
    assert threads[0] is not threading.current_thread()
    with pytest.raises(ZeroDivisionError):
        await run_in_thread(lambda: 1 / 0)


def test_forked_child_has_its_own_thread() -> None:
    assert asyncio.run(run_in_thread(divmod, 7, 2)) == (3, 1)
    child = os.fork()
    if not child:
        # Ends the wait if the thread is missing.
        signal.alarm(10)
        os._exit(0 if asyncio.run(run_in_thread(divmod, 7, 2)) == (3, 1) else 1)
    assert os.waitpid(child, 0)[1] == 0


@pytest.mark.parametrize(
    ("size", "texts", "work"),
    [
        (0, 0, run_inline),
        (MEDIUM_BYTES, MANY_TEXTS, run_inline),
        (MEDIUM_BYTES + 1, 0, run_cooperatively),
        (LARGE_BYTES, 0, run_cooperatively),
        (LARGE_BYTES + 1, 0, run_in_thread),
        (0, MANY_TEXTS + 1, run_in_thread),
    ],
)
def test_executor_is_chosen_by_size(size: int, texts: int, work: object) -> None:
    assert work_for(size=size, texts=texts) is work


ECHO = scenario("echo", text_step("{{ request.last_user_text }}"))
MANY_EMBEDDINGS = Call(
    "POST",
    "/v1/embeddings",
    {},
    {"authorization": f"Bearer {KEY}"},
    b'{"model": "m", "dimensions": 1, "input": [%s]}' % b",".join([b'"x"'] * (MANY_TEXTS + 1)),
)


@pytest.mark.parametrize(
    ("call", "stage", "in_thread"),
    [
        (chat("x" * LARGE_BYTES), "read", True),
        (chat("x" * LARGE_BYTES), "respond", True),
        (chat("x" * LARGE_BYTES), "choose_in_band", True),
        (chat("x" * MEDIUM_BYTES), "read", False),
        (chat("x"), "respond", False),
    ],
)
async def test_large_requests_are_processed_in_a_thread(
    monkeypatch: pytest.MonkeyPatch, call: Call, stage: str, in_thread: bool
) -> None:
    threads = []
    original = getattr(pipelines, stage)

    def record_thread(*arguments: Any, **options: Any) -> Any:
        threads.append(threading.current_thread())
        return original(*arguments, **options)

    monkeypatch.setattr(pipelines, stage, record_thread)
    status, _, _ = await Harness(ECHO).ask(call)
    assert status == 200
    assert [thread is not threading.current_thread() for thread in threads] == [in_thread]


async def test_embeddings_of_many_texts_are_computed_in_a_thread(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from scenarios_app.wire.openai import models

    threads = []
    original = models.unit_vector

    def record_thread(*arguments: Any) -> Any:
        threads.append(threading.current_thread())
        return original(*arguments)

    monkeypatch.setattr(models, "unit_vector", record_thread)
    status, _, body = await Harness().ask(MANY_EMBEDDINGS)
    assert status == 200 and body.count(b'"embedding":[') == MANY_TEXTS + 1
    assert threads and threading.current_thread() not in threads


async def test_unmatched_large_request_has_near_misses() -> None:
    harness = Harness(scenario("one", text_step("Hi!", match={"messages": ["never"]})))
    status, _, body = await harness.ask(chat("x" * LARGE_BYTES))
    assert status == 404
    assert "scenario “one”" in body.decode()


async def test_the_journal_keeps_no_more_of_a_large_request_than_it_shows() -> None:
    harness = Harness(ECHO, journal_body_bytes=100)
    call = chat("x" * LARGE_BYTES)
    await harness.ask(call)
    (entry,) = harness.journal
    assert (len(entry.request_body), entry.request_bytes) == (100, len(call.body))
    assert entry.model == "gpt-4o"


async def test_error_in_place_of_a_large_answer_has_the_same_ids() -> None:
    """The ids depend on the body, which is released once the answer is encoded."""
    fault = {"kind": "disconnect", "after_chunks": 1}
    ids = []
    for body_limit in (100, 10_000_000):
        harness = Harness(
            scenario("one", text_step("Hi!") | {"produce": {"text": "Hi!", "fault": fault}}),
            journal_body_bytes=body_limit,
        )
        answer = await harness.pipeline.answer(chat("x" * LARGE_BYTES, stream=True))
        answer.replace_cut_with_error()
        assert answer.reply.status == 500
        ids.append(dict(answer.reply.headers)["x-request-id"])
        answer.finish()
    assert ids[0] == ids[1]


@pytest.mark.parametrize(
    "body", [b'{"messages": [' + b"1," * 300_000 + b"1]}", b'{"messages": "' + b"x" * 300_000]
)
async def test_refused_body_is_freed_without_the_garbage_collector(body: bytes) -> None:
    harness, before = Harness(journal_body_bytes=100), sys.getrefcount(body)
    gc.disable()
    try:
        call = Call("POST", "/v1/chat/completions", {}, {"authorization": "Bearer k"}, body)
        status, _, _ = await harness.ask(call)
        del call
        # The thread releases its last work when it does the next.
        await run_in_thread(int)
        assert (status, sys.getrefcount(body)) == (400, before)
    finally:
        gc.enable()


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize(
    "produce",
    [
        {"text": "{{ request.last_user_text }}"},
        {"tool_calls": [{"name": "f", "arguments": {"text": "{{ request.last_user_text }}"}}]},
    ],
    ids=["text", "arguments"],
)
async def test_echoed_body_is_freed_without_the_garbage_collector(
    produce: dict[str, Any], stream: bool
) -> None:
    step = {"consume": False, "produce": produce}
    harness = Harness(scenario("echo", step), journal_body_bytes=100)
    call = chat("x" * 300_000, stream=stream)
    body = call.body
    before = sys.getrefcount(body) - 1
    gc.disable()
    try:
        status, _, _ = await harness.ask(call)
        del call
        # The thread releases its last work when it does the next.
        await run_in_thread(int)
        # The journal keeps a beginning, which is a copy.
        assert (status, sys.getrefcount(body)) == (200, before)
    finally:
        gc.enable()


async def test_long_stream_does_not_hold_more_of_its_request_than_the_journal() -> None:
    step = {"consume": False, "produce": {"text": "{{ request.last_user_text }}"}}
    harness = Harness(scenario("echo", step), journal_body_bytes=100)
    call = chat("x" * 300_000, stream=True)
    body = call.body
    before = sys.getrefcount(body) - 1
    answer = await harness.pipeline.answer(call)
    del call
    await run_in_thread(int)
    assert sys.getrefcount(body) == before
    assert b"".join([piece async for piece in answer.pieces()]).endswith(b"[DONE]\n\n")
