"""Connections whose request heads are cached have the same limits as others."""

import asyncio
import time

import pytest

from mockllm_site.serve.client_limits import HEAD_SECONDS
from mockllm_site.serve.connection import HttpConnection
from scenarios_app.serving.fast.direct import FastLayer
from scenarios_app.serving.transports.asgi_scope import Receive, Scope, Send
from tests.project.guarded import send_response
from tests.serving.pipelines import Harness, chat, scenario, text_step
from tests.serving.transports import guarded
from tests.serving.transports.guarded import HEAD_BYTES, IDLE_SECONDS, Client
from tests.serving.transports.protocol_server import encode_call

Opened = tuple[HttpConnection, Client]
HARNESS = Harness(scenario("s", text_step("Hi!")))


@pytest.fixture
def layer() -> FastLayer:
    return FastLayer(lambda: HARNESS.pipeline)


@pytest.fixture
async def connection(layer: FastLayer) -> Opened:
    """Return a connection on which one request was answered, so that its head is cached."""
    protocol, client = guarded.open_connection(HARNESS, layer=layer)
    protocol.data_received(encode_call(chat()))
    assert len(layer.heads) == 1
    return protocol, client


async def test_repeated_heads_do_not_add_up(connection: Opened) -> None:
    protocol, client = connection
    for _ in range(50):
        protocol.data_received(encode_call(chat()))
    assert len(client.received) == 51
    assert all(response.startswith(b"HTTP/1.1 200 ") for response in client.received)


async def test_idle_connection_is_closed_after_the_keep_alive_timeout(
    connection: Opened,
) -> None:
    protocol, client = connection
    protocol.data_received(encode_call(chat()))
    protocol.close_if_stalled(time.monotonic())
    assert not client.closed
    protocol.close_if_stalled(time.monotonic() + IDLE_SECONDS + 1)
    assert client.closed


async def test_new_connection_with_a_cached_head_has_no_head_timeout(
    connection: Opened, layer: FastLayer
) -> None:
    protocol, client = guarded.open_connection(HARNESS, layer=layer)
    protocol.data_received(encode_call(chat()))
    # Longer than a head may take, shorter than the idle limit.
    protocol.close_if_stalled(time.monotonic() + HEAD_SECONDS + 1)
    assert not client.closed
    assert len(client.received) == 1


async def test_endless_head_is_refused_after_cached_ones(connection: Opened) -> None:
    protocol, client = connection
    protocol.data_received(encode_call(chat()))
    protocol.data_received(b"POST /v1/chat/completions HTTP/1.1\r\nx-endless: ")
    protocol.data_received(b"a" * (HEAD_BYTES + 1))
    assert client.received[-1].startswith(b"HTTP/1.1 431 ")


async def test_connection_beyond_the_cap_does_not_use_cached_heads(
    connection: Opened, layer: FastLayer
) -> None:
    refused: list[str] = []

    async def refuse(scope: Scope, receive: Receive, send: Send) -> None:
        refused.append(scope["path"])
        await send_response(send, 503, b"")

    protocol, client = guarded.open_connection(HARNESS, layer=layer, connections=0, refuse=refuse)
    protocol.data_received(encode_call(chat()))
    while not client.received:
        await asyncio.sleep(0)
    assert refused == [chat().path]
    assert client.received[0].startswith(b"HTTP/1.1 503 ")
