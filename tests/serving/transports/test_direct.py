"""The door inside uvicorn's protocol: the same bytes as through uvicorn's own cycle, and all that a
connection may ask of a server."""

import asyncio
import contextlib
import inspect
import json
import re
from typing import Any

import pytest
from msgspec.structs import force_setattr
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from scenarios_app.serving.executor import run_eagerly
from scenarios_app.serving.transports.uvicorn_protocol import UvicornProtocol
from scenarios_app.wire.base import Call
from tests.serving.pipelines import Playing, chat, claude, gemini, llama, says, scenario
from tests.serving.transports.direct_door import (
    DOCUMENT,
    answer_of,
    answer_of_any_size,
    bare,
    direct,
    raw,
    serving,
    until_open,
    whole,
)

ASKED = [
    chat(),
    chat(stream=True),
    chat(model="unknown"),
    chat(headers={"authorization": ""}),
    chat(n=0),
    claude(model="gpt-4o"),
    claude(model="gpt-4o", stream=True),
    gemini(model="gpt-4o"),
    gemini(model="gpt-4o", stream=True),
    llama(model="gpt-4o", stream=True),
    chat(headers={"origin": "http://localhost:3000"}),
    Call("POST", "/v1/embeddings", {}, chat().headers, b'{"model": "m", "input": "a"}'),
    Call("POST", "/v1/nowhere", {}, chat().headers, b"{}"),
    Call("POST", "/v1/chat/completions", {}, chat().headers, b'{"broken": '),
]


@pytest.mark.parametrize("asked", ASKED, ids=range(len(ASKED)))
async def test_an_answer_is_the_same_to_the_byte_and_takes_no_task(asked: Call) -> None:
    options = {"origins": ("*",)}
    async with serving(Playing(DOCUMENT, **options), HttpToolsProtocol) as running:
        reader, writer = await asyncio.open_connection("127.0.0.1", running.port)
        writer.write(raw(asked))
        cycled = await answer_of(reader)
        assert running.taken == ["POST"]
        writer.close()
    async with direct(**options) as (running, playing):
        reader, writer = await asyncio.open_connection("127.0.0.1", running.port)
        for _ in range(3):
            writer.write(raw(asked))
            answered = await answer_of(reader)
        writer.close()
        assert running.taken == []
        assert [entry.outcome for entry in playing.journal][:1] != ["client_gone"]
        assert len(playing.journal) == 3
    async with direct(**options) as (running, _):
        reader, writer = await asyncio.open_connection("127.0.0.1", running.port)
        writer.write(raw(asked))
        answered = await answer_of(reader)
        writer.close()
    assert bare(answered) == bare(cycled)


@pytest.mark.parametrize("model", ["paced", "late", "cut", "long"])
@pytest.mark.parametrize("stream", [False, True])
async def test_delayed_and_cut_replies_are_sent_by_the_cycle(model: str, stream: bool) -> None:
    asked = raw(chat(model=model, stream=stream))
    async with serving(Playing(DOCUMENT), HttpToolsProtocol) as running:
        cycled = await whole(running, asked)
    async with direct() as (running, playing):
        answered = await whole(running, asked)
        assert running.taken == []
        assert len(playing.journal) == 1
    assert answered == cycled


async def test_requests_in_one_packet_are_answered_in_their_order() -> None:
    async with direct() as (running, _):
        asked = [chat(model=model, stream=True) for model in ("gpt-4o", "paced", "gpt-4o", "late")]
        last = raw(chat(model="gpt-4o"), close=True)
        said = await running.say(b"".join(map(raw, asked)) + last)
    models = re.findall(rb'"model":"([^"]+)"', said)
    told = [model.decode() for at, model in enumerate(models) if at == 0 or models[at - 1] != model]
    assert told == ["gpt-4o", "paced", "gpt-4o", "late", "gpt-4o"]
    assert said.count(b"HTTP/1.1 200 OK") == 5


async def test_a_body_may_come_in_pieces() -> None:
    asked = raw(chat())
    async with direct() as (running, _):
        reader, writer = await asyncio.open_connection("127.0.0.1", running.port)
        for at in range(0, len(asked), 40):
            writer.write(asked[at : at + 40])
            await writer.drain()
            await asyncio.sleep(0.001)
        assert (await answer_of(reader)).startswith(b"HTTP/1.1 200")
        assert running.taken == []
        writer.close()


CYCLED = {
    "expects": (raw(chat(), expect="100-continue"), b"HTTP/1.1 100 Continue"),
    "chunked": (
        raw(chat()).replace(b"content-length", b"x-length").partition(b"\r\n\r\n")[0]
        + b"\r\ntransfer-encoding: chunked\r\n\r\n%x\r\n%b\r\n0\r\n\r\n"
        % (len(chat().body), chat().body),
        b"HTTP/1.1 200 OK",
    ),
    "old": (raw(chat()).replace(b"HTTP/1.1", b"HTTP/1.0"), b"HTTP/1.1 200 OK"),
    "absolute": (raw(chat()).replace(b"POST /", b"POST http://a/"), b"HTTP/1.1 200 OK"),
    "large": (raw(chat("a" * 70_000)), b"HTTP/1.1 200 OK"),
    "no POST": (raw(Call("GET", "/v1/models", {}, chat().headers, b"")), b"HTTP/1.1 200 OK"),
    "HEAD": (raw(Call("HEAD", "/v1/models", {}, chat().headers, b"")), b"HTTP/1.1 "),
    "no length": (raw(chat(), **{"content-length": ""}), b"HTTP/1.1 "),
}


@pytest.mark.parametrize("name", CYCLED)
async def test_connection_headers_go_through_the_cycle(name: str) -> None:
    asked, opening = CYCLED[name]
    async with direct() as (running, _):
        reader, writer = await asyncio.open_connection("127.0.0.1", running.port)
        writer.write(asked)
        said = await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), 60)
        writer.close()
        assert said.startswith(opening)
        assert len(running.taken) == (name != "no length")


@pytest.mark.parametrize("asked", [chat(), chat(stream=True), chat(model="late")])
async def test_last_request_of_a_connection_is_answered_without_a_task(asked: Call) -> None:
    data = raw(asked, close=True)
    async with serving(Playing(DOCUMENT), HttpToolsProtocol) as running:
        cycled = await running.say(data)
    async with direct() as (running, playing):
        assert bare(await running.say(data)) == bare(cycled)
        # The second request uses its cached head.
        again = await running.say(data)
        assert again.startswith(b"HTTP/1.1 200") and b"\r\nconnection: close\r\n" in again
        assert running.taken == []
        assert [entry.outcome for entry in playing.journal] == ["complete"] * 2


async def test_paced_stream_ends_the_connection_of_a_last_request() -> None:
    async with direct() as (running, playing):
        said = await running.say(raw(chat(model="paced", stream=True), close=True))
        assert said.endswith(b"0\r\n\r\n") and b"\r\nconnection: close\r\n" in said
        assert running.taken == []
        assert [entry.outcome for entry in playing.journal] == ["complete"]


async def test_request_after_the_last_of_a_connection_is_ignored() -> None:
    async with direct() as (running, playing):
        said = await running.say(raw(chat(), close=True) + raw(chat()))
        assert said.count(b"HTTP/1.1 ") == 1
        assert len(playing.journal) == 1


async def test_a_reader_that_never_reads_does_not_fill_the_memory() -> None:
    times = 400
    async with direct(scenario("s", says("word " * 4_000))) as (running, playing):
        reader, writer = await asyncio.open_connection("127.0.0.1", running.port, limit=1024)
        one = raw(chat(stream=True))
        writer.write(one * times)
        (connection,) = running.connections
        most = 0
        for _ in range(200):
            await asyncio.sleep(0.001)
            assert connection.transport is not None
            most = max(most, connection.transport.get_write_buffer_size())
        assert len(playing.journal) < times
        assert most < 2_000_000
        for _ in range(times):
            assert (await answer_of_any_size(reader)).startswith(b"HTTP/1.1 200")
        writer.close()
    assert len(playing.journal) == times


async def test_the_wait_for_a_next_request_ends_with_its_coming() -> None:
    async with direct() as (running, _):
        reader, writer = await asyncio.open_connection("127.0.0.1", running.port)
        writer.write(raw(chat()) + raw(chat(model="late")))
        await answer_of(reader)
        (connection,) = running.connections
        assert connection.timeout_keep_alive_task is None
        await answer_of(reader)
        assert connection.timeout_keep_alive_task is not None
        writer.close()


async def test_a_client_that_has_said_all_gets_its_answer() -> None:
    async with direct() as (running, _):
        reader, writer = await asyncio.open_connection("127.0.0.1", running.port)
        writer.write(raw(chat()))
        writer.write_eof()
        assert (await asyncio.wait_for(reader.read(), 60)).startswith(b"HTTP/1.1 200")
        writer.close()


async def test_a_request_half_read_at_the_end_is_the_last_that_is_answered() -> None:
    asked = raw(chat())
    async with direct() as (running, _):
        reader, writer = await asyncio.open_connection("127.0.0.1", running.port)
        writer.write(asked[:-10])
        (connection,) = await until_open(running)
        connection.shutdown()
        writer.write(asked[-10:])
        said = await asyncio.wait_for(reader.read(), 60)
        assert said.startswith(b"HTTP/1.1 200")
        assert b"\r\nconnection: close\r\n" in said
        writer.close()


async def test_without_a_pipeline_everything_goes_through_the_cycle() -> None:
    async with serving(Playing(DOCUMENT), UvicornProtocol) as running:
        said = await running.say(raw(chat(), close=True))
        assert said.startswith(b"HTTP/1.1 200")
        assert running.taken == ["POST"]


async def test_a_body_beyond_the_limit_is_refused_as_ever() -> None:
    async with direct(max_body_bytes=1_000) as (running, _):
        reader, writer = await asyncio.open_connection("127.0.0.1", running.port)
        writer.write(raw(chat("a" * 2_000)))
        assert (await answer_of(reader)).startswith(b"HTTP/1.1 413")
        assert running.taken == ["POST"]
        writer.close()


async def test_an_answer_with_a_broken_header_reaches_no_client() -> None:
    echo = says("Hi!", side_effects={"headers": {"x-extra": "1"}})
    async with direct(scenario("s", echo)) as (running, playing):
        step = playing.catalog.index.by_name["s"].steps[0]
        force_setattr(step.side_effects, "headers", (("x-extra", "1\r\nx-forged: 2"),))
        reader, writer = await asyncio.open_connection("127.0.0.1", running.port)
        writer.write(raw(chat()))
        assert await asyncio.wait_for(reader.read(), 60) == b""
        writer.close()


async def test_eager_coroutine_continues_where_it_waited() -> None:
    future: asyncio.Future[int] = asyncio.get_running_loop().create_future()

    async def waiting() -> int:
        await asyncio.sleep(0)
        first = await future
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(0):
                await asyncio.sleep(10)
        return first + 1

    rest = run_eagerly(waiting())
    assert inspect.isawaitable(rest)
    asyncio.get_running_loop().call_soon(future.set_result, 1)

    async def both() -> Any:
        return await rest

    assert await asyncio.create_task(both()) == 2


async def test_waiting_coroutine_can_be_cancelled_and_can_fail() -> None:
    ended: list[str] = []

    async def waiting() -> None:
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            ended.append("cancelled")
            raise

    async def failing() -> None:
        raise LookupError("at once")

    async def both(rest: Any) -> Any:
        return await rest

    task = asyncio.create_task(both(run_eagerly(waiting())))
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert ended == ["cancelled"]
    with pytest.raises(LookupError, match="at once"):
        await both(run_eagerly(failing()))


def test_coroutine_that_does_not_wait_returns_its_result() -> None:
    async def nothing() -> dict[str, Any]:
        answer: dict[str, Any] = json.loads("{}")
        return answer

    assert run_eagerly(nothing()) == {}
