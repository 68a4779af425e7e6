"""An in-memory connection of `serve` with a client that accepts all data."""

import asyncio
from typing import Any

import uvicorn
from uvicorn.server import ServerState

from mockllm_site.serve.connection import HttpConnection, Settings
from scenarios_app.serving.transports.asgi_scope import App, Receive, Scope, Send
from tests.serving.pipelines import Harness

HEAD_BYTES = 1_000
IDLE_SECONDS = 75


class Client(asyncio.Transport):
    """A transport that collects written data until it is closed."""

    def __init__(self) -> None:
        super().__init__()
        self.received: list[bytes] = []
        self.closed = False
        self.paused = False
        self.unread = 0
        # How often the server ended its half of the connection.
        self.ended = 0
        self.protocol: asyncio.BaseProtocol

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        return ("127.0.0.1", 1) if name in ("peername", "sockname") else default

    def write(self, data: Any) -> None:
        self.received.append(bytes(data))

    def set_protocol(self, protocol: asyncio.BaseProtocol) -> None:
        self.protocol = protocol

    def write_eof(self) -> None:
        self.ended += 1

    def get_write_buffer_size(self) -> int:
        return self.unread

    def pause_reading(self) -> None:
        self.paused = True

    def resume_reading(self) -> None:
        self.paused = False

    def abort(self) -> None:
        self.closed = True

    def is_closing(self) -> bool:
        return self.closed

    def close(self) -> None:
        self.closed = True


async def fail_on_request(scope: Scope, receive: Receive, send: Send) -> None:
    raise AssertionError("it is answered in the protocol")


def open_connection(
    harness: Harness,
    *,
    app: App = fail_on_request,
    server_state: ServerState | None = None,
    **settings: Any,
) -> tuple[HttpConnection, Client]:
    """Return a connection to a server with these settings; `app` answers what is not answered
    directly."""
    client = Client()
    layer = settings.pop("layer", None) or harness.layer
    config = uvicorn.Config(app, log_config=None, lifespan="off", timeout_keep_alive=IDLE_SECONDS)
    config.load()
    all_settings = Settings(
        **{
            "head_bytes": HEAD_BYTES,
            "connections": 100,
            "refuse": fail_on_request,
            "layer": layer,
            **settings,
        }
    )
    loop = asyncio.get_running_loop()
    connection = HttpConnection(
        config, server_state or ServerState(), {}, loop, settings=all_settings
    )
    connection.connection_made(client)
    return connection, client
