"""Direct answers have the same bytes as those of the application, for every use of a connection."""

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
from scenarios_app.serving.fast.delivery import TaskDelivery
from scenarios_app.serving.fast.direct import FastLayer
from scenarios_app.wire.base import Call
from tests.serving.pipelines import Harness, chat, claude, gemini, llama, scenario, text_step
from tests.serving.transports.protocol_server import (
    DOCUMENT,
    encode_call,
    exchange_may_be_cut,
    read_answer,
    run_direct_server,
    run_layer_server,
    run_loop_server,
    skip_streamed_answer,
    wait_for_entries,
    wait_until_reading,
    without_varying_headers,
)

CALLS = [
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
    Call("POST", "/v1/chat/completions", {}, chat().headers, b'{"broken": '),
]


@pytest.mark.parametrize("call", CALLS, ids=range(len(CALLS)))
async def test_answer_is_the_same_to_the_byte_and_uses_no_task(call: Call) -> None:
    options = {"cors_origins": ("*",)}
    async with run_loop_server(Harness(DOCUMENT, **options), HttpToolsProtocol) as server:
        reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
        writer.write(encode_call(call))
        cycle_answer = await read_answer(reader)
        assert server.cycle_methods == ["POST"]
        writer.close()
    async with run_direct_server(**options) as (server, harness):
        reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
        for _ in range(3):
            writer.write(encode_call(call))
            direct_answer = await read_answer(reader)
        writer.close()
        assert server.cycle_methods == []
        assert [entry.outcome for entry in harness.journal][:1] != ["client_gone"]
        assert len(harness.journal) == 3
    async with run_direct_server(**options) as (server, _):
        reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
        writer.write(encode_call(call))
        direct_answer = await read_answer(reader)
        writer.close()
    assert without_varying_headers(direct_answer) == without_varying_headers(cycle_answer)


@pytest.mark.parametrize("model", ["paced", "late", "cut", "long"])
@pytest.mark.parametrize("stream", [False, True])
async def test_delayed_and_cut_answers_have_the_bytes_of_the_application(
    model: str, stream: bool
) -> None:
    request = encode_call(chat(model=model, stream=stream))
    async with run_loop_server(Harness(DOCUMENT), HttpToolsProtocol) as server:
        cycle_answer = await exchange_may_be_cut(server, request)
    async with run_direct_server() as (server, harness):
        direct_answer = await exchange_may_be_cut(server, request)
        assert server.cycle_methods == []
        assert len(harness.journal) == 1
    assert direct_answer == cycle_answer


async def test_requests_in_one_packet_are_answered_in_their_order() -> None:
    async with run_direct_server() as (server, _):
        calls = [chat(model=model, stream=True) for model in ("gpt-4o", "paced", "gpt-4o", "late")]
        last = encode_call(chat(model="gpt-4o"), close=True)
        received = await server.exchange(b"".join(map(encode_call, calls)) + last)
    models = re.findall(rb'"model":"([^"]+)"', received)
    answered_models = [
        model.decode() for at, model in enumerate(models) if at == 0 or models[at - 1] != model
    ]
    assert answered_models == ["gpt-4o", "paced", "gpt-4o", "late", "gpt-4o"]
    assert received.count(b"HTTP/1.1 200 OK") == 5


async def test_body_in_pieces_is_answered() -> None:
    request = encode_call(chat())
    async with run_direct_server() as (server, _):
        reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
        for at in range(0, len(request), 40):
            writer.write(request[at : at + 40])
            await writer.drain()
            await asyncio.sleep(0.001)
        assert (await read_answer(reader)).startswith(b"HTTP/1.1 200")
        assert server.cycle_methods == []
        writer.close()


CYCLE_REQUESTS = {
    "expects": (encode_call(chat(), expect="100-continue"), b"HTTP/1.1 100 Continue"),
    "chunked": (
        encode_call(chat()).replace(b"content-length", b"x-length").partition(b"\r\n\r\n")[0]
        + b"\r\ntransfer-encoding: chunked\r\n\r\n%x\r\n%b\r\n0\r\n\r\n"
        % (len(chat().body), chat().body),
        b"HTTP/1.1 200 OK",
    ),
    "old": (encode_call(chat()).replace(b"HTTP/1.1", b"HTTP/1.0"), b"HTTP/1.1 200 OK"),
    "absolute": (encode_call(chat()).replace(b"POST /", b"POST http://a/"), b"HTTP/1.1 200 OK"),
    "large": (encode_call(chat("a" * 70_000)), b"HTTP/1.1 200 OK"),
    "no POST": (
        encode_call(Call("GET", "/v1/models", {}, chat().headers, b"")),
        b"HTTP/1.1 200 OK",
    ),
    "HEAD": (encode_call(Call("HEAD", "/v1/models", {}, chat().headers, b"")), b"HTTP/1.1 "),
    "another origin": (encode_call(chat(), origin="http://a.example"), b"HTTP/1.1 200 OK"),
    "embeddings": (
        encode_call(
            Call("POST", "/v1/embeddings", {}, chat().headers, b'{"model":"m","input":"a"}')
        ),
        b"HTTP/1.1 200 OK",
    ),
    "unknown path": (
        encode_call(Call("POST", "/v1/nowhere", {}, chat().headers, b"{}")),
        b"HTTP/1.1 404 ",
    ),
    "no length": (encode_call(chat(), **{"content-length": ""}), b"HTTP/1.1 "),
}


@pytest.mark.parametrize("name", CYCLE_REQUESTS)
async def test_other_requests_go_to_the_application(name: str) -> None:
    request, opening = CYCLE_REQUESTS[name]
    async with run_direct_server() as (server, _):
        reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
        writer.write(request)
        received = await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), 60)
        writer.close()
        assert received.startswith(opening)
        assert len(server.cycle_methods) == (name != "no length")


@pytest.mark.parametrize("call", [chat(), chat(stream=True), chat(model="late")])
async def test_last_request_of_a_connection_is_answered_without_a_task(call: Call) -> None:
    data = encode_call(call, close=True)
    async with run_loop_server(Harness(DOCUMENT), HttpToolsProtocol) as server:
        cycle_answer = await server.exchange(data)
    async with run_direct_server() as (server, harness):
        assert without_varying_headers(await server.exchange(data)) == without_varying_headers(
            cycle_answer
        )
        # The second request uses its cached head.
        second_answer = await server.exchange(data)
        assert (
            second_answer.startswith(b"HTTP/1.1 200")
            and b"\r\nconnection: close\r\n" in second_answer
        )
        assert server.cycle_methods == []
        assert [entry.outcome for entry in harness.journal] == ["complete"] * 2


async def test_paced_stream_ends_the_connection_of_a_last_request() -> None:
    async with run_direct_server() as (server, harness):
        received = await server.exchange(encode_call(chat(model="paced", stream=True), close=True))
        assert received.endswith(b"0\r\n\r\n") and b"\r\nconnection: close\r\n" in received
        assert server.cycle_methods == []
        assert [entry.outcome for entry in harness.journal] == ["complete"]


async def test_request_after_the_last_of_a_connection_is_ignored() -> None:
    async with run_direct_server() as (server, harness):
        received = await server.exchange(encode_call(chat(), close=True) + encode_call(chat()))
        assert received.count(b"HTTP/1.1 ") == 1
        assert len(harness.journal) == 1


async def test_a_reader_that_never_reads_does_not_fill_the_memory() -> None:
    times = 400
    async with run_direct_server(scenario("s", text_step("word " * 4_000))) as (server, harness):
        reader, writer = await asyncio.open_connection("127.0.0.1", server.port, limit=1024)
        request = encode_call(chat(stream=True))
        writer.write(request * times)
        (connection,) = server.connections
        max_buffered = 0
        for _ in range(200):
            await asyncio.sleep(0.001)
            assert connection.transport is not None
            max_buffered = max(max_buffered, connection.transport.get_write_buffer_size())
        assert len(harness.journal) < times
        assert max_buffered < 2_000_000
        for _ in range(times):
            assert (await skip_streamed_answer(reader)).startswith(b"HTTP/1.1 200")
        writer.close()
    assert len(harness.journal) == times


async def test_client_that_ends_its_side_gets_its_answer() -> None:
    async with run_direct_server() as (server, _):
        reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
        writer.write(encode_call(chat()))
        writer.write_eof()
        assert (await asyncio.wait_for(reader.read(), 60)).startswith(b"HTTP/1.1 200")
        writer.close()


async def test_request_half_read_at_shutdown_is_answered_as_the_last() -> None:
    request = encode_call(chat())
    async with run_direct_server() as (server, _):
        reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
        writer.write(request[:-10])
        (connection,) = await wait_until_reading(server)
        connection.shutdown()
        writer.write(request[-10:])
        received = await asyncio.wait_for(reader.read(), 60)
        assert received.startswith(b"HTTP/1.1 200")
        assert b"\r\nconnection: close\r\n" in received
        writer.close()


@pytest.mark.parametrize("layer", [None, FastLayer(lambda: None)], ids=["off", "not started"])
async def test_without_the_layer_everything_goes_to_the_application(
    layer: FastLayer | None,
) -> None:
    async with run_layer_server(Harness(DOCUMENT), layer) as server:
        received = await server.exchange(encode_call(chat(), close=True))
        assert received.startswith(b"HTTP/1.1 200")
        assert server.cycle_methods == ["POST"]


async def test_answer_that_is_computed_in_a_thread_is_sent_directly() -> None:
    text = "word " * 4_000
    async with run_direct_server(scenario("s", text_step(text))) as (server, harness):
        request = encode_call(chat("a" * 10_000), close=True)
        first = asyncio.create_task(server.exchange(request))
        received = await asyncio.gather(first, *[server.exchange(request) for _ in range(3)])
        assert all(answer.startswith(b"HTTP/1.1 200") for answer in received)
        assert server.cycle_methods == [] and len(harness.journal) == 4


async def test_delayed_answer_ends_with_its_client() -> None:
    late = text_step("late")
    late["produce"]["latency_ms"] = 60_000
    async with run_direct_server(scenario("s", late)) as (server, harness):
        _, writer = await asyncio.open_connection("127.0.0.1", server.port)
        writer.write(encode_call(chat()))
        while not any(type(c.direct.current) is TaskDelivery for c in server.connections):
            await asyncio.sleep(0.001)
        writer.close()
        await wait_for_entries(harness, 1)
        assert [entry.outcome for entry in harness.journal] == ["client_gone"]


async def test_delayed_answer_at_shutdown_is_the_last_of_its_connection() -> None:
    async with run_direct_server() as (server, harness):
        reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
        writer.write(encode_call(chat(model="late")))
        while not any(type(c.direct.current) is TaskDelivery for c in server.connections):
            await asyncio.sleep(0.001)
        (connection,) = server.connections
        connection.shutdown()
        received = await asyncio.wait_for(reader.read(), 60)
        assert b"\r\nconnection: close\r\n" in received and b"late" in received
        assert [entry.outcome for entry in harness.journal] == ["complete"]
        writer.close()


async def test_body_beyond_the_limit_is_a_413_of_the_application() -> None:
    async with run_direct_server(max_body_bytes=1_000) as (server, _):
        reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
        writer.write(encode_call(chat("a" * 2_000)))
        assert (await read_answer(reader)).startswith(b"HTTP/1.1 413")
        assert server.cycle_methods == ["POST"]
        writer.close()


async def test_an_answer_with_a_broken_header_reaches_no_client() -> None:
    echo = text_step("Hi!", side_effects={"headers": {"x-extra": "1"}})
    async with run_direct_server(scenario("s", echo)) as (server, harness):
        step = harness.catalog.index.by_name["s"].steps[0]
        force_setattr(step.side_effects, "headers", (("x-extra", "1\r\nx-forged: 2"),))
        reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
        writer.write(encode_call(chat()))
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

    async def await_rest() -> Any:
        return await rest

    assert await asyncio.create_task(await_rest()) == 2


async def test_waiting_coroutine_can_be_cancelled_and_can_fail() -> None:
    events: list[str] = []

    async def waiting() -> None:
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            events.append("cancelled")
            raise

    async def failing() -> None:
        raise LookupError("at once")

    async def await_rest(rest: Any) -> Any:
        return await rest

    task = asyncio.create_task(await_rest(run_eagerly(waiting())))
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert events == ["cancelled"]
    with pytest.raises(LookupError, match="at once"):
        await await_rest(run_eagerly(failing()))


def test_coroutine_that_does_not_wait_returns_its_result() -> None:
    async def decode_json() -> dict[str, Any]:
        answer: dict[str, Any] = json.loads("{}")
        return answer

    assert run_eagerly(decode_json()) == {}
