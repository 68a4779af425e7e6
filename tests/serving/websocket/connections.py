"""An in-process server with WebSockets, and a client that sends and receives JSON."""

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator
from typing import Any

import pytest
from websockets.asyncio.client import ClientConnection, connect

from tests.project.guarded import serving
from tests.serving.pipelines import KEY, Harness

PATH = "/v1/responses"
SECONDS = 20.0
LAST = {"response.completed", "response.incomplete", "response.failed", "error"}


class SocketClient:
    """One connection of a client."""

    def __init__(self, connection: ClientConnection) -> None:
        self.connection = connection

    async def send(self, **event: Any) -> None:
        await self.connection.send(json.dumps({"type": "response.create", **event}))

    async def event(self) -> dict[str, Any]:
        """Return the next event."""
        text = await asyncio.wait_for(self.connection.recv(), SECONDS)
        event: dict[str, Any] = json.loads(text)
        return event

    async def answer(self) -> list[dict[str, Any]]:
        """Return the next events, up to one that ends an answer."""
        events = [await self.event()]
        while events[-1]["type"] not in LAST:
            events.append(await self.event())
        return events

    async def ask(self, text: str = "Hello", **fields: Any) -> dict[str, Any]:
        """Send a request and return the last event of its answer."""
        await self.send(**{"model": "gpt-4o", "input": text, **fields})
        return (await self.answer())[-1]

    async def close_code(self) -> int | None:
        """Return the code of the server's close frame, once the connection is closed; 1006 without
        such a frame."""
        await asyncio.wait_for(self.connection.wait_closed(), SECONDS)
        return self.connection.close_code


@contextlib.asynccontextmanager
async def socket_server(
    monkeypatch: pytest.MonkeyPatch, *documents: Any, connections: int = 100, **options: Any
) -> AsyncIterator[tuple[int, Harness]]:
    """Run a server with these scenarios as `serve` does; yield its port and harness."""
    harness = Harness(*documents, **options)
    async with serving(monkeypatch, connections=connections, harness=harness) as port:
        yield port, harness


@contextlib.asynccontextmanager
async def connected(
    port: int, path: str = PATH, *, key: str | None = KEY, **headers: str
) -> AsyncIterator[SocketClient]:
    all_headers = {**({"authorization": f"Bearer {key}"} if key else {}), **headers}
    url = f"ws://127.0.0.1:{port}{path}"
    async with connect(url, additional_headers=all_headers, max_size=None) as connection:
        yield SocketClient(connection)


def text_of(event: dict[str, Any]) -> str:
    """Return the text of the response in an event."""
    assert "response" in event, event
    return "".join(
        part.get("text", "")
        for item in event["response"]["output"]
        for part in item.get("content", ())
    )
