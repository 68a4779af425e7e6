"""Streams that timers write on a connection of `serve`."""

import asyncio
import math

from tests.serving.pipelines import chat, scenario, text_step
from tests.serving.transports.protocol_server import (
    encode_call,
    read_answer,
    run_direct_server,
    skip_streamed_answer,
    wait_for_entries,
    wait_until_reading,
)


async def test_paced_answer_to_a_request_half_read_at_shutdown_ends_its_connection() -> None:
    request = encode_call(chat(model="paced", stream=True))
    async with run_direct_server() as (server, _):
        reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
        writer.write(request[:-10])
        (connection,) = await wait_until_reading(server)
        connection.shutdown()
        writer.write(request[-10:])
        received = await asyncio.wait_for(reader.read(), 60)
        assert b"\r\nconnection: close\r\n" in received
        assert received.endswith(b"data: [DONE]\n\n\r\n0\r\n\r\n")
        writer.close()


ENDLESS = text_step("slow " * 100)
ENDLESS["produce"]["pacing"] = {"chunk_ms": 60_000, "words_per_chunk": 1}


async def test_an_open_stream_takes_no_task_and_ends_with_its_client() -> None:
    async with run_direct_server(scenario("s", ENDLESS)) as (server, harness):
        tasks = len(asyncio.all_tasks())
        connections = [await asyncio.open_connection("127.0.0.1", server.port) for _ in range(5)]
        for reader, writer in connections:
            writer.write(encode_call(chat(stream=True)))
            assert b"200 OK" in await reader.readuntil(b"\r\n\r\n")
        assert len(asyncio.all_tasks()) == tasks
        assert harness.pipeline.streams.taken == 5
        for _, writer in connections:
            writer.close()
        await wait_for_entries(harness, 5)
        assert {entry.outcome for entry in harness.journal} == {"client_gone"}
        assert harness.pipeline.streams.taken == 0
        assert not server.connections


async def test_connection_is_reused_after_a_stream() -> None:
    async with run_direct_server() as (server, harness):
        reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
        for model in ("paced", "gpt-4o", "paced"):
            writer.write(encode_call(chat(model=model, stream=True)))
            answer = await read_answer(reader)
            assert answer.endswith(b"data: [DONE]\n\n\r\n0\r\n\r\n")
        writer.close()
        assert server.cycle_methods == []
        assert [entry.outcome for entry in harness.journal] == ["complete"] * 3


async def test_a_server_that_shuts_down_ends_a_stream_properly() -> None:
    drain_at = [math.inf]
    async with run_direct_server(scenario("s", ENDLESS)) as (server, harness):
        harness.pipeline.drain_at = lambda: drain_at[0]
        reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
        writer.write(encode_call(chat(stream=True)))
        await reader.readuntil(b"\r\n\r\n")
        drain_at[0] = 0.0
        (connection,) = server.connections
        connection.shutdown()
        connection.direct.current.go_on()
        received = await asyncio.wait_for(reader.read(), 60)
        assert b"The server is shutting down." in received and received.endswith(b"\r\n0\r\n\r\n")
        assert [entry.outcome for entry in harness.journal] == ["fault"]
        writer.close()


async def test_a_stream_waits_for_a_client_that_does_not_read() -> None:
    step = text_step("word " * 4_000)
    step["produce"]["pacing"] = {"first_ms": 1, "words_per_chunk": 1}
    async with run_direct_server(scenario("s", step)) as (server, harness):
        reader, writer = await asyncio.open_connection("127.0.0.1", server.port, limit=1024)
        request = encode_call(chat(stream=True))
        for _ in range(3):
            writer.write(request)
            await skip_streamed_answer(reader)
        writer.write(request * 30)
        (connection,) = server.connections
        max_buffered = 0
        for _ in range(200):
            await asyncio.sleep(0.001)
            max_buffered = max(max_buffered, connection.transport.get_write_buffer_size())
        assert 0 < max_buffered < 2_000_000
        assert len(harness.journal) < 33
        for _ in range(30):
            await skip_streamed_answer(reader)
        writer.close()
    assert [entry.outcome for entry in harness.journal] == ["complete"] * 33
