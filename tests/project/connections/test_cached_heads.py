"""Connections whose request heads are cached have the same limits as others."""

import time

import pytest

from mockllm_site.serve.protocol import GuardedProtocol
from tests.serving.pipelines import Harness, chat, scenario, text_step
from tests.serving.transports import guarded
from tests.serving.transports.guarded import HEAD_BYTES, Client, fail_on_request
from tests.serving.transports.protocol_server import encode_call

Connection = tuple[GuardedProtocol, Client]


@pytest.fixture
async def connection(monkeypatch: pytest.MonkeyPatch) -> Connection:
    """Return a connection on which one request was answered, so that its head is cached."""
    protocol, client = guarded.open_connection(
        Harness(scenario("s", text_step("Hi!"))), monkeypatch
    )
    protocol.data_received(encode_call(chat()))
    return protocol, client


async def test_repeated_heads_do_not_add_up(connection: Connection) -> None:
    protocol, client = connection
    for _ in range(50):
        protocol.data_received(encode_call(chat()))
    assert len(client.received) == 51
    assert all(response.startswith(b"HTTP/1.1 200 ") for response in client.received)


async def test_idle_connection_is_closed_after_the_keep_alive_timeout(
    connection: Connection,
) -> None:
    protocol, client = connection
    protocol.data_received(encode_call(chat()))
    protocol.close_if_stalled(time.monotonic())
    assert not client.closed
    protocol.close_if_stalled(time.monotonic() + protocol.timeout_keep_alive + 1)
    assert client.closed


async def test_new_connection_with_a_cached_head_has_no_head_timeout(
    connection: Connection,
) -> None:
    first, _ = connection
    client = Client()
    protocol = GuardedProtocol(first.config, first.server_state, {}, first.loop)
    protocol.connection_made(client)
    protocol.data_received(encode_call(chat()))
    # Longer than a head may take, shorter than the idle limit.
    protocol.timeout_keep_alive = 3_600
    protocol.close_if_stalled(time.monotonic() + 60)
    assert not client.closed
    assert len(client.received) == 1


async def test_endless_head_is_refused_after_cached_ones(connection: Connection) -> None:
    protocol, client = connection
    protocol.data_received(encode_call(chat()))
    protocol.data_received(b"POST /v1/chat/completions HTTP/1.1\r\nx-endless: ")
    protocol.data_received(b"a" * (HEAD_BYTES + 1))
    assert client.received[-1].startswith(b"HTTP/1.1 431 ")


async def test_connection_beyond_the_cap_does_not_use_cached_heads(connection: Connection) -> None:
    protocol, client = connection
    protocol._beyond_limit = True
    protocol.app = fail_on_request
    parsed: list[bytes] = []
    protocol.parser = type("Parser", (), {"feed_data": lambda self, data: parsed.append(data)})()
    protocol.data_received(encode_call(chat()))
    assert b"".join(parsed) == encode_call(chat())
    assert len(client.received) == 1
