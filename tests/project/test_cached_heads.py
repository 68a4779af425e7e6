"""A connection whose requests are known by their heads is guarded as any other."""

import time

import pytest

from mockllm_site.serve.protocol import GuardedProtocol
from tests.serving.pipelines import Playing, chat, says, scenario
from tests.serving.transports import guarded
from tests.serving.transports.direct_door import raw
from tests.serving.transports.guarded import HEAD_BYTES, Client, nothing

Connection = tuple[GuardedProtocol, Client]


@pytest.fixture
async def connection(monkeypatch: pytest.MonkeyPatch) -> Connection:
    """A connection on which one request was answered, so that its head is known."""
    protocol, client = guarded.connection(Playing(scenario("s", says("Hi!"))), monkeypatch)
    protocol.data_received(raw(chat()))
    return protocol, client


async def test_heads_that_are_known_do_not_add_up(connection: Connection) -> None:
    protocol, client = connection
    for _ in range(50):
        protocol.data_received(raw(chat()))
    assert len(client.heard) == 51
    assert all(said.startswith(b"HTTP/1.1 200 ") for said in client.heard)


async def test_it_may_be_idle_so_long(connection: Connection) -> None:
    protocol, client = connection
    protocol.data_received(raw(chat()))
    protocol.close_if_stalled(time.monotonic())
    assert not client.closed
    protocol.close_if_stalled(time.monotonic() + protocol.timeout_keep_alive + 1)
    assert client.closed


async def test_another_connection_that_begins_with_a_known_head_is_not_waited_for(
    connection: Connection,
) -> None:
    first, _ = connection
    client = Client()
    protocol = GuardedProtocol(first.config, first.server_state, {}, first.loop)
    protocol.connection_made(client)
    protocol.data_received(raw(chat()))
    # Longer than a head may take, shorter than the idle limit.
    protocol.timeout_keep_alive = 3_600
    protocol.close_if_stalled(time.monotonic() + 60)
    assert not client.closed
    assert len(client.heard) == 1


async def test_a_head_that_does_not_end_is_refused_after_known_ones(connection: Connection) -> None:
    protocol, client = connection
    protocol.data_received(raw(chat()))
    protocol.data_received(b"POST /v1/chat/completions HTTP/1.1\r\nx-endless: ")
    protocol.data_received(b"a" * (HEAD_BYTES + 1))
    assert client.heard[-1].startswith(b"HTTP/1.1 431 ")


async def test_beyond_the_most_connections_nobody_is_known(connection: Connection) -> None:
    protocol, client = connection
    protocol._beyond = True
    protocol.app = nothing
    parsed: list[bytes] = []
    protocol.parser = type("Parser", (), {"feed_data": lambda self, data: parsed.append(data)})()
    protocol.data_received(raw(chat()))
    assert b"".join(parsed) == raw(chat())
    assert len(client.heard) == 1
