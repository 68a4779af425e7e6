"""Streams that are written inside uvicorn's protocol, by timers."""

import asyncio
import math

from tests.serving.pipelines import chat, says, scenario
from tests.serving.transports.direct_door import (
    answer_of,
    answer_of_any_size,
    direct,
    gone,
    raw,
    until_open,
)


async def test_a_paced_answer_to_such_a_request_ends_its_connection_too() -> None:
    asked = raw(chat(model="paced", stream=True))
    async with direct() as (running, _):
        reader, writer = await asyncio.open_connection("127.0.0.1", running.port)
        writer.write(asked[:-10])
        (connection,) = await until_open(running)
        connection.shutdown()
        writer.write(asked[-10:])
        said = await asyncio.wait_for(reader.read(), 60)
        assert b"\r\nconnection: close\r\n" in said
        assert said.endswith(b"data: [DONE]\n\n\r\n0\r\n\r\n")
        writer.close()


ENDLESS = says("slow " * 100)
ENDLESS["produce"]["pacing"] = {"chunk_ms": 60_000, "words_per_chunk": 1}


async def test_an_open_stream_takes_no_task_and_ends_with_its_client() -> None:
    async with direct(scenario("s", ENDLESS)) as (running, playing):
        tasks = len(asyncio.all_tasks())
        opened = [await asyncio.open_connection("127.0.0.1", running.port) for _ in range(5)]
        for reader, writer in opened:
            writer.write(raw(chat(stream=True)))
            assert b"200 OK" in await reader.readuntil(b"\r\n\r\n")
        assert len(asyncio.all_tasks()) == tasks
        assert playing.pipeline.streams.open == 5
        for _, writer in opened:
            writer.close()
        await gone(playing, 5)
        assert {entry.outcome for entry in playing.journal} == {"client_gone"}
        assert playing.pipeline.streams.open == 0
        assert not running.connections


async def test_a_connection_goes_on_after_a_stream() -> None:
    async with direct() as (running, playing):
        reader, writer = await asyncio.open_connection("127.0.0.1", running.port)
        for model in ("paced", "gpt-4o", "paced"):
            writer.write(raw(chat(model=model, stream=True)))
            said = await answer_of(reader)
            assert said.endswith(b"data: [DONE]\n\n\r\n0\r\n\r\n")
        writer.close()
        assert running.taken == []
        assert [entry.outcome for entry in playing.journal] == ["complete"] * 3


async def test_a_server_that_shuts_down_ends_a_stream_properly() -> None:
    drain_at = [math.inf]
    async with direct(scenario("s", ENDLESS)) as (running, playing):
        playing.pipeline.drain_at = lambda: drain_at[0]
        reader, writer = await asyncio.open_connection("127.0.0.1", running.port)
        writer.write(raw(chat(stream=True)))
        await reader.readuntil(b"\r\n\r\n")
        drain_at[0] = 0.0
        (connection,) = running.connections
        connection.shutdown()
        connection._stream.go_on()
        said = await asyncio.wait_for(reader.read(), 60)
        assert b"The server is shutting down." in said and said.endswith(b"\r\n0\r\n\r\n")
        assert [entry.outcome for entry in playing.journal] == ["fault"]
        writer.close()


async def test_a_stream_waits_for_a_client_that_does_not_read() -> None:
    step = says("word " * 4_000)
    step["produce"]["pacing"] = {"first_ms": 1, "words_per_chunk": 1}
    async with direct(scenario("s", step)) as (running, playing):
        reader, writer = await asyncio.open_connection("127.0.0.1", running.port, limit=1024)
        one = raw(chat(stream=True))
        for _ in range(3):
            writer.write(one)
            await answer_of_any_size(reader)
        writer.write(one * 30)
        (connection,) = running.connections
        most = 0
        for _ in range(200):
            await asyncio.sleep(0.001)
            most = max(most, connection.transport.get_write_buffer_size())
        assert 0 < most < 2_000_000
        assert len(playing.journal) < 33
        for _ in range(30):
            await answer_of_any_size(reader)
        writer.close()
    assert [entry.outcome for entry in playing.journal] == ["complete"] * 33
