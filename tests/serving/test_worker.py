"""Large work keeps nobody waiting: it has a thread, or one turn of the event loop each."""

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
from tests.serving.pipelines import KEY, Playing, chat, says, scenario


async def turns_of(work: Any, number: int) -> list[int]:
    """In which turn of the event loop each of so many things is done."""
    loop, turn, done = asyncio.get_running_loop(), 0, []

    def count() -> None:
        nonlocal turn
        turn += 1
        if len(done) < number:
            loop.call_soon(count)

    loop.call_soon(count)
    await asyncio.gather(*(work(lambda: done.append(turn)) for _ in range(number)))
    return done


async def test_medium_work_is_done_once_in_a_turn() -> None:
    done = await turns_of(run_cooperatively, 5)
    assert len(set(done)) == 5
    assert sorted(done) == done


async def test_small_work_is_done_at_once() -> None:
    assert len(set(await turns_of(run_inline, 5))) == 1


async def test_failed_cooperative_call_frees_its_loop() -> None:
    with pytest.raises(ZeroDivisionError):
        await run_cooperatively(lambda: 1 / 0)
    assert await run_cooperatively(divmod, 7, 2) == (3, 1)


async def test_large_work_is_done_in_another_thread_one_after_another() -> None:
    threads = await asyncio.gather(*(run_in_thread(threading.current_thread) for _ in range(3)))
    assert len(set(threads)) == 1
    assert threads[0] is not threading.current_thread()
    with pytest.raises(ZeroDivisionError):
        await run_in_thread(lambda: 1 / 0)


def test_a_forked_child_has_a_thread_of_its_own() -> None:
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
def test_how_work_is_done_is_a_matter_of_size(size: int, texts: int, work: object) -> None:
    assert work_for(size=size, texts=texts) is work


ECHO = scenario("echo", says("{{ request.last_user_text }}"))
EMBEDDED = Call(
    "POST",
    "/v1/embeddings",
    {},
    {"authorization": f"Bearer {KEY}"},
    b'{"model": "m", "dimensions": 1, "input": [%s]}' % b",".join([b'"x"'] * (MANY_TEXTS + 1)),
)


@pytest.mark.parametrize(
    ("call", "stage", "beside"),
    [
        (chat("x" * LARGE_BYTES), "read", True),
        (chat("x" * LARGE_BYTES), "respond", True),
        (chat("x" * LARGE_BYTES), "choose_in_band", True),
        (chat("x" * MEDIUM_BYTES), "read", False),
        (chat("x"), "respond", False),
    ],
)
async def test_large_requests_are_worked_on_beside_the_loop(
    monkeypatch: pytest.MonkeyPatch, call: Call, stage: str, beside: bool
) -> None:
    threads = []
    done = getattr(pipelines, stage)

    def seen(*given: Any, **more: Any) -> Any:
        threads.append(threading.current_thread())
        return done(*given, **more)

    monkeypatch.setattr(pipelines, stage, seen)
    status, _, _ = await Playing(ECHO).ask(call)
    assert status == 200
    assert [thread is not threading.current_thread() for thread in threads] == [beside]


async def test_many_texts_are_computed_beside_the_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    from scenarios_app.wire.openai import models

    threads = []
    made = models.unit_vector

    def seen(*given: Any) -> Any:
        threads.append(threading.current_thread())
        return made(*given)

    monkeypatch.setattr(models, "unit_vector", seen)
    status, _, body = await Playing().ask(EMBEDDED)
    assert status == 200 and body.count(b'"embedding":[') == MANY_TEXTS + 1
    assert threads and threading.current_thread() not in threads


async def test_an_unmatched_large_request_is_told_its_near_misses() -> None:
    playing = Playing(scenario("one", says("Hi!", match={"messages": ["never"]})))
    status, _, body = await playing.ask(chat("x" * LARGE_BYTES))
    assert status == 404
    assert "scenario “one”" in body.decode()


async def test_the_journal_keeps_no_more_of_a_large_request_than_it_shows() -> None:
    playing = Playing(ECHO, journal_body_bytes=100)
    call = chat("x" * LARGE_BYTES)
    await playing.ask(call)
    (entry,) = playing.journal
    assert (len(entry.request_body), entry.request_bytes) == (100, len(call.body))
    assert entry.model == "gpt-4o"


async def test_error_in_place_of_a_large_answer_has_the_same_ids() -> None:
    """The body that the ids are made of is given up once the answer stands."""
    fault = {"kind": "disconnect", "after_chunks": 1}
    ids = []
    for most in (100, 10_000_000):
        playing = Playing(
            scenario("one", says("Hi!") | {"produce": {"text": "Hi!", "fault": fault}}),
            journal_body_bytes=most,
        )
        answer = await playing.pipeline.answer(chat("x" * LARGE_BYTES, stream=True))
        answer.replace_cut_with_error()
        assert answer.reply.status == 500
        ids.append(dict(answer.reply.headers)["x-request-id"])
        answer.finish()
    assert ids[0] == ids[1]


@pytest.mark.parametrize(
    "body", [b'{"messages": [' + b"1," * 300_000 + b"1]}", b'{"messages": "' + b"x" * 300_000]
)
async def test_a_body_that_is_refused_is_let_go_without_the_garbage_collector(body: bytes) -> None:
    here, before = Playing(journal_body_bytes=100), sys.getrefcount(body)
    gc.disable()
    try:
        call = Call("POST", "/v1/chat/completions", {}, {"authorization": "Bearer k"}, body)
        status, _, _ = await here.ask(call)
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
    here = Playing(scenario("echo", step), journal_body_bytes=100)
    call = chat("x" * 300_000, stream=stream)
    body = call.body
    before = sys.getrefcount(body) - 1
    gc.disable()
    try:
        status, _, _ = await here.ask(call)
        del call
        # The thread releases its last work when it does the next.
        await run_in_thread(int)
        # The journal keeps a beginning, which is a copy.
        assert (status, sys.getrefcount(body)) == (200, before)
    finally:
        gc.enable()


async def test_long_stream_does_not_hold_more_of_its_request_than_the_journal() -> None:
    step = {"consume": False, "produce": {"text": "{{ request.last_user_text }}"}}
    here = Playing(scenario("echo", step), journal_body_bytes=100)
    call = chat("x" * 300_000, stream=True)
    body = call.body
    before = sys.getrefcount(body) - 1
    answer = await here.pipeline.answer(call)
    del call
    await run_in_thread(int)
    assert sys.getrefcount(body) == before
    assert b"".join([piece async for piece in answer.pieces()]).endswith(b"[DONE]\n\n")
