"""An in-memory connection of the guarded protocol with a client that accepts all data."""

import asyncio
from collections import OrderedDict
from typing import Any

import pytest
import uvicorn
from uvicorn.server import ServerState

from mockllm_site.serve.protocol import GuardedProtocol, Limits
from scenarios_app.serving.transports.asgi_scope import App, Receive, Scope, Send
from scenarios_app.serving.transports.uvicorn_protocol import UvicornProtocol
from tests.serving.pipelines import Harness

HEAD_BYTES = 1_000


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
    harness: Harness, monkeypatch: pytest.MonkeyPatch, *, app: App = fail_on_request
) -> tuple[GuardedProtocol, Client]:
    """Return a connection to a server without cached heads; `app` answers other paths than
    providers'."""
    client = Client()
    monkeypatch.setattr(UvicornProtocol, "_cached_heads", OrderedDict())
    monkeypatch.setattr(GuardedProtocol, "running", (lambda: harness.pipeline,))
    limits = Limits(HEAD_BYTES, 100, fail_on_request)
    monkeypatch.setattr(GuardedProtocol, "limits", limits, raising=False)
    config = uvicorn.Config(app, log_config=None, lifespan="off")
    config.load()
    protocol = GuardedProtocol(config, ServerState(), {}, asyncio.get_running_loop())
    protocol.connection_made(client)
    return protocol, client
