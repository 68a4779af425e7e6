"""Repeated request heads are cached by their bytes and answered like parsed ones."""

import asyncio
import re
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from mockllm_site.serve.connection import HttpConnection
from scenarios_app.serving.fast import heads
from scenarios_app.serving.fast.direct import FastLayer
from scenarios_app.wire.base import Call
from tests.serving.pipelines import Harness, chat, claude, gemini, llama
from tests.serving.transports.protocol_server import (
    DOCUMENT,
    LoopServer,
    encode_call,
    read_answer,
    run_direct_server,
    run_layer_server,
    run_loop_server,
    without_varying_headers,
)

CALLS = [
    *(chat(model=m, stream=s) for m in ("gpt-4o", "paced", "late", "none") for s in (False, True)),
    chat(n=0),
    chat(headers={"authorization": ""}),
    claude(model="gpt-4o", stream=True),
    gemini(model="gpt-4o"),
    llama(model="gpt-4o"),
    Call("POST", "/v1/embeddings", {}, chat().headers, b'{"model": "m", "input": "a"}'),
    Call("POST", "/v1/nowhere", {}, chat().headers, b"{}"),
    Call("GET", "/v1/models", {}, chat().headers, b""),
]


@pytest.fixture
def parsed_packets(monkeypatch: pytest.MonkeyPatch) -> list[bytes]:
    """The packets that parsers got."""
    packets: list[bytes] = []
    feed = HttpToolsProtocol.data_received

    def received(self: HttpToolsProtocol, data: bytes) -> None:
        if isinstance(self, HttpConnection):
            packets.append(data)
        feed(self, data)

    monkeypatch.setattr(HttpToolsProtocol, "data_received", received)
    return packets


def unframed(answer: bytes) -> bytes:
    """Return an answer without chunk sizes and varying headers."""
    return re.sub(rb"\r\n[0-9a-f]+\r\n", b"", without_varying_headers(answer))


def without_ids(answer: bytes) -> bytes:
    """Return an answer without its ids, which depend on the number of a request in its session."""
    return re.sub(rb"[0-9a-f]{24,32}|[0-9a-f-]{36}", b"", unframed(answer))


async def send_in_order(server: LoopServer, *requests: bytes) -> list[bytes]:
    """Send requests in order on one connection and return their answers."""
    reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
    answers = []
    for request in requests:
        writer.write(request)
        answers.append(await read_answer(reader))
    writer.close()
    return answers


@pytest.mark.parametrize("call", CALLS, ids=range(len(CALLS)))
async def test_answer_to_a_cached_head_equals_that_to_a_parsed_one(call: Call) -> None:
    async with run_loop_server(Harness(DOCUMENT), HttpToolsProtocol) as server:
        cycle_answers = await send_in_order(server, *[encode_call(call)] * 4)
    async with run_direct_server() as (server, harness):
        answers = await send_in_order(server, *[encode_call(call)] * 4)
        assert len(harness.journal) == 4
    assert list(map(unframed, answers)) == list(map(unframed, cycle_answers))


async def test_cached_head_is_not_parsed_whatever_the_length_of_its_body(
    parsed_packets: list[bytes],
) -> None:
    request, other = encode_call(chat("Hello")), encode_call(chat("Other"))
    async with run_direct_server() as (server, _):
        await send_in_order(
            server, request, request, other, encode_call(chat("longer than that")), request
        )
        # Other connections use the cached head too.
        await send_in_order(server, other)
    assert b"".join(parsed_packets) == request


async def test_request_with_a_cached_head_is_not_parsed_for_a_delayed_answer(
    parsed_packets: list[bytes],
) -> None:
    request = encode_call(chat(model="late"))
    async with run_direct_server() as (server, harness):
        answers = await send_in_order(server, request, request)
        assert server.cycle_methods == []
        assert len(harness.journal) == 2
    assert b"".join(parsed_packets) == request
    assert without_ids(answers[0]) == without_ids(answers[1])


async def test_cached_head_is_answered_by_its_own_body() -> None:
    texts = ["one", "two", "six", "ten"]
    async with run_direct_server() as (server, harness):
        await send_in_order(server, *(encode_call(chat(text)) for text in texts * 2))
        assert [entry.request_preview for entry in harness.journal] == texts * 2


async def test_cached_heads_are_not_shared_with_another_pipeline(
    parsed_packets: list[bytes],
) -> None:
    request, harnesses = encode_call(chat()), [Harness(DOCUMENT), Harness(DOCUMENT)]
    current = harnesses[0]
    layer = FastLayer(lambda: current.pipeline)
    async with run_layer_server(harnesses[0], layer) as server:
        for harness in harnesses:
            current = harness
            await send_in_order(server, *[request] * 4)
            assert len(harness.journal) == 4
    assert b"".join(parsed_packets) == request * 2


HEAD, _, BODY = encode_call(chat()).partition(b"\r\n\r\n")
# Beginnings that a parser treats differently, or that are not certainly a head.
UNUSUAL_HEADS = {
    "blank lines first": b"\r\n\r\n" + HEAD,
    "one blank line first": b"\r\n" + HEAD,
    "folded": HEAD + b"\r\nx-long: a\r\n b",
    "long": HEAD + b"\r\nx-long: " + b"a" * heads.MAX_HEAD_BYTES,
    "a cut": HEAD.replace(b"\r\n", b"\n", 1),
}


@pytest.mark.parametrize("name", UNUSUAL_HEADS)
async def test_unusual_heads_are_not_cached(name: str) -> None:
    request = UNUSUAL_HEADS[name] + b"\r\n\r\n" + BODY
    async with run_loop_server(Harness(DOCUMENT), HttpToolsProtocol) as server:
        cycle_answer = await server.exchange(
            request.replace(b"host:", b"connection: close\r\nhost:")
        )
    harness = Harness(DOCUMENT)
    layer = FastLayer(lambda: harness.pipeline)
    async with run_layer_server(harness, layer) as server:
        direct_answer = await server.exchange(
            request.replace(b"host:", b"connection: close\r\nhost:")
        )
        assert without_varying_headers(direct_answer) == without_varying_headers(cycle_answer)
        reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
        writer.write(request)
        await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), 60)
        writer.close()
    # The blank lines are parsed by themselves, and both heads after them are usual ones.
    assert len(layer.heads) == (2 if name == "blank lines first" else 0)


async def test_second_request_in_a_packet_of_a_cached_head_is_answered() -> None:
    request = encode_call(chat())
    async with run_direct_server() as (server, harness):
        await send_in_order(server, request)
        reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
        writer.write(request * 3 + request[:50])
        for _ in range(3):
            await read_answer(reader)
        writer.write(request[50:])
        await read_answer(reader)
        writer.close()
        assert len(harness.journal) == 5


async def test_cached_request_after_an_open_stream_waits_for_its_end() -> None:
    paced, request = encode_call(chat(model="paced", stream=True)), encode_call(chat())
    async with run_direct_server() as (server, harness):
        await send_in_order(server, request, paced)
        reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
        writer.write(paced)
        head = await reader.readuntil(b"\r\n\r\n")
        writer.write(request)
        rest = await reader.readuntil(b"0\r\n\r\n")
        assert b"chunked" in head
        assert b"[DONE]" in rest
        assert (await read_answer(reader)).startswith(b"HTTP/1.1 200")
        writer.close()
        assert [entry.streamed for entry in harness.journal] == [False, True, True, False]


async def test_number_of_cached_heads_is_limited() -> None:
    harness = Harness(DOCUMENT)
    layer = FastLayer(lambda: harness.pipeline)
    layer.heads = heads.HeadCache(max_heads=3)
    async with run_layer_server(harness, layer) as server:
        await send_in_order(
            server, *(encode_call(chat(), **{"x-number": str(number)}) for number in range(6))
        )
    assert len(layer.heads) == 3


@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    st.lists(
        st.sampled_from([chat(), chat("Other", stream=True), chat(n=0), claude(model="gpt-4o")]),
        max_size=8,
    ),
    st.data(),
)
async def test_packets_may_be_cut_anywhere(calls: list[Call], data: Any) -> None:
    request_bytes = b"".join(map(encode_call, calls))
    cuts = sorted(data.draw(st.sets(st.integers(0, len(request_bytes)), max_size=6)))
    async with run_direct_server() as (server, harness):
        expected = await send_in_order(server, *map(encode_call, calls))
        reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
        for start, end in zip([0, *cuts], [*cuts, len(request_bytes)], strict=True):
            writer.write(request_bytes[start:end])
            await writer.drain()
            await asyncio.sleep(0)
        answers = [await read_answer(reader) for _ in calls]
        writer.close()
        assert len(harness.journal) == 2 * len(calls)
    assert list(map(without_ids, answers)) == list(map(without_ids, expected))
