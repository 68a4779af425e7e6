"""Idle connections stay open and say for how long; a crowded server closes the longest idle."""

import asyncio
import time

import pytest
from uvicorn.server import ServerState

from mockllm_site.serve.client_limits import CROWDED_SECONDS
from mockllm_site.serve.connection import HttpConnection
from scenarios_app.serving.transports.asgi_scope import Receive, Scope, Send
from tests.project.guarded import send_response
from tests.serving.pipelines import Harness, chat, scenario, text_step
from tests.serving.transports import guarded
from tests.serving.transports.guarded import Client
from tests.serving.transports.protocol_server import encode_call

OTHER_REQUEST = b"GET /livez HTTP/1.1\r\nhost: any\r\n"
KEEP_ALIVE = b"\r\nkeep-alive: timeout=75\r\n"


async def answer_ok(scope: Scope, receive: Receive, send: Send) -> None:
    await send_response(send, 200, b"ok")


class Server:
    """Connections of one server, with a limit on their number."""

    def __init__(self, *, limit: int = 100) -> None:
        self._state = ServerState()
        self._harness = Harness(scenario("s", text_step("Hi!")))
        self._limit = limit

    def connect(self) -> tuple[HttpConnection, Client]:
        return guarded.open_connection(
            self._harness,
            app=answer_ok,
            server_state=self._state,
            connections=self._limit,
            keep_alive_headers=((b"keep-alive", b"timeout=75"),),
        )

    async def ask(self, protocol: HttpConnection, client: Client, request: bytes) -> bytes:
        """Return the response to a request."""
        client.received.clear()
        protocol.data_received(request)
        while not protocol.limits.is_free:
            await asyncio.sleep(0)
        return b"".join(client.received)

    async def connect_idle(self, *, seconds: float) -> Client:
        """Return a client whose connection waits for a second request for these seconds."""
        protocol, client = self.connect()
        await self.ask(protocol, client, encode_call(chat()))
        protocol.limits.end_answer(time.monotonic() - seconds)
        return client


async def test_every_answer_says_how_long_the_connection_stays_open() -> None:
    server = Server()
    connection = server.connect()
    requests = [encode_call(chat())] * 3 + [OTHER_REQUEST + b"\r\n"]
    for request in requests:
        response = await server.ask(*connection, request)
        assert response.startswith(b"HTTP/1.1 200 ") and response.count(KEEP_ALIVE) == 1


@pytest.mark.parametrize(
    "request_data",
    [
        encode_call(chat()).replace(b"\r\n", b"\r\nconnection: close\r\n", 1),
        OTHER_REQUEST + b"connection: close\r\n\r\n",
    ],
    ids=["answered in the protocol", "answered by the application"],
)
async def test_answer_that_ends_the_connection_names_no_time(
    request_data: bytes,
) -> None:
    server = Server()
    response = await server.ask(*server.connect(), request_data)
    assert b"connection: close\r\n" in response and b"keep-alive" not in response


async def test_crowded_server_closes_the_longest_idle_connection_for_a_new_one() -> None:
    server = Server(limit=4)
    busy, busy_client = server.connect()
    busy.data_received(encode_call(chat())[:-1])
    idle = [await server.connect_idle(seconds=seconds) for seconds in (20, 60, 40)]
    assert not any(client.closed for client in idle)
    new = server.connect()
    assert b"Hi!" in await server.ask(*new, encode_call(chat()))
    assert [client.closed for client in idle] == [False, True, False]
    another = server.connect()
    assert b"Hi!" in await server.ask(*another, encode_call(chat()))
    assert [client.closed for client in idle] == [False, True, True]
    assert b"Hi!" in await server.ask(busy, busy_client, encode_call(chat())[-1:])


async def test_crowded_server_keeps_connections_that_were_used_a_moment_ago() -> None:
    server = Server(limit=2)
    used = [await server.connect_idle(seconds=CROWDED_SECONDS / 2) for _ in range(2)]
    protocol, _ = server.connect()
    assert protocol.direct is None and not any(client.closed for client in used)


async def test_idle_connections_are_closed_at_once_when_the_server_ends() -> None:
    server = Server()
    protocol, client = server.connect()
    await server.ask(protocol, client, encode_call(chat()))
    protocol.shutdown()
    assert client.closed
