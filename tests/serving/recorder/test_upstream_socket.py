"""The connection to a provider's WebSocket API: one per client, with lanes, errors and closes."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from typing import Any
from unittest.mock import AsyncMock, Mock

import httpcore2
import pytest
from websockets.asyncio.server import ServerConnection, serve

from scenarios_app.serving.recorder.upstream import Outgoing, UpstreamFailed
from scenarios_app.serving.recorder.upstream_socket import SocketCut, UpstreamSocket
from scenarios_app.wire.openai.responses.socket import ResponsesSocket
from scenarios_app.wire.sockets import ServerMessage
from tests.chat.raw_provider import raw_provider
from tests.serving.recorder.upstreams import response_bytes

BODY = b'{"model":"gpt-5","input":"Hi","store":false,"stream":true}'
DONE = {"type": "response.completed", "response": {"id": "resp_1"}}
Provider = Callable[[ServerConnection], Coroutine[Any, Any, None]]


def outgoing(port: int) -> Outgoing:
    headers = (("authorization", "Bearer sk-real"), ("accept-encoding", "gzip"))
    return Outgoing("openai", "POST", f"http://127.0.0.1:{port}/v1/responses", headers, BODY, "/v1")


@asynccontextmanager
async def connected(provider: Provider) -> AsyncIterator[UpstreamSocket]:
    """Yield a socket that is connected to a provider."""
    async with serve(provider, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        socket = UpstreamSocket(ResponsesSocket({}))
        assert await socket.open(outgoing(port), seconds=5)
        yield socket
        socket.close()


async def messages(
    socket: UpstreamSocket, stream_id: str | None = None, *, seconds: float = 5
) -> list[ServerMessage]:
    return [each async for each in socket.answer(BODY, stream_id, seconds=seconds)]


async def test_requests_of_a_client_share_one_connection_with_its_key() -> None:
    requests: list[tuple[ServerConnection, dict[str, Any]]] = []

    async def provider(connection: ServerConnection) -> None:
        async for text in connection:
            requests.append((connection, json.loads(text)))
            await connection.send(json.dumps({"type": "response.created"}))
            await connection.send(json.dumps(DONE))

    async with connected(provider) as socket:
        first, second = await messages(socket), await messages(socket)
    assert [each.ends for each in first] == [each.ends for each in second] == [False, True]
    assert requests[0][0] is requests[1][0]
    request = requests[0][0].request
    assert request is not None and request.headers["authorization"] == "Bearer sk-real"
    assert requests[0][1] == {
        "type": "response.create",
        "model": "gpt-5",
        "input": "Hi",
        "store": False,
    }


async def test_messages_of_lanes_that_alternate_reach_their_lane() -> None:
    async def provider(connection: ServerConnection) -> None:
        lanes = [json.loads(await connection.recv())["stream_id"] for _ in range(2)]
        for kind in ("response.created", "response.completed"):
            for lane in lanes:
                await connection.send(json.dumps({"type": kind, "stream_id": lane}))

    async with connected(provider) as socket:
        messages_by_lane = await asyncio.gather(messages(socket, "a"), messages(socket, "b"))
    assert [[each.stream_id for each in lane_messages] for lane_messages in messages_by_lane] == [
        ["a", "a"],
        ["b", "b"],
    ]


async def test_connection_that_ends_in_an_answer_cuts_it() -> None:
    async def provider(connection: ServerConnection) -> None:
        await connection.recv()
        await connection.send(json.dumps({"type": "response.created"}))

    async with connected(provider) as socket:
        received = []
        with pytest.raises(SocketCut):
            async for each in socket.answer(BODY, None, seconds=5):
                received.append(each)
        assert len(received) == 1
        with pytest.raises(SocketCut):
            await messages(socket)


async def test_silence_of_a_provider_is_a_timeout() -> None:
    async def provider(connection: ServerConnection) -> None:
        await connection.wait_closed()

    async with connected(provider) as socket:
        with pytest.raises(TimeoutError):
            await messages(socket, seconds=0.05)


async def wait_until_closed(connection: ServerConnection) -> None:
    await connection.wait_closed()


async def test_request_while_the_connection_is_closed_is_cut() -> None:
    async with connected(wait_until_closed) as socket:
        socket._protocol.send_close(1000)
        with pytest.raises(SocketCut):
            await messages(socket)


@pytest.mark.parametrize("error", [httpcore2.WriteError("reset"), OSError("reset")])
async def test_request_on_a_broken_connection_is_cut(error: Exception) -> None:
    async with connected(wait_until_closed) as socket:
        socket._stream = Mock(write=AsyncMock(side_effect=error))
        with pytest.raises(SocketCut):
            await messages(socket)


async def test_provider_that_reads_nothing_is_a_timeout() -> None:
    async with connected(wait_until_closed) as socket:
        socket._stream = Mock(write=lambda _: asyncio.sleep(3))
        with pytest.raises(TimeoutError):
            await messages(socket, seconds=0.05)


async def test_large_and_unreadable_messages_and_pings_do_no_harm() -> None:
    async def provider(connection: ServerConnection) -> None:
        await connection.recv()
        await connection.send("no JSON")
        await connection.send(b"\x00")
        await (await connection.ping())
        await connection.send(["{", '"type":"response.completed","x":"', "y" * 200_000, '"}'])

    async with connected(provider) as socket:
        (message,) = await messages(socket)
    assert message.ends and len(message.event) > 200_000


async def test_provider_without_a_websocket_opens_none() -> None:
    async with raw_provider(response_bytes(b"{}", status=b"426 Upgrade Required")) as upstream:
        port = int(upstream.address.rpartition(":")[2])
        assert not await UpstreamSocket(ResponsesSocket({})).open(outgoing(port), seconds=5)


async def test_provider_that_cannot_be_reached_is_an_error() -> None:
    socket = UpstreamSocket(ResponsesSocket({}))
    for _ in range(2):
        with pytest.raises(UpstreamFailed, match="cannot be reached"):
            await socket.open(outgoing(1), seconds=5)
