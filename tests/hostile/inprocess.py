"""The doors as ASGI applications, asked without a socket: a call in, what was sent out."""

import asyncio
from collections.abc import Mapping
from typing import Any

from tests.hostile.raw import Answer


async def through(
    app: Any, method: str, path: str, body: bytes, *, headers: Mapping[str, str]
) -> Answer:
    """What an application answers to one request whose client waits for the end."""
    sent: list[Any] = []
    pending = [{"type": "http.request", "body": body, "more_body": False}]

    async def receive() -> Any:
        if pending:
            return pending.pop()
        return await asyncio.Event().wait()

    async def send(message: Any) -> None:
        sent.append(message)

    raw = [(name.lower().encode(), value.encode()) for name, value in headers.items()]
    scope = {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": method,
        "scheme": "http",
        "path": path,
        "raw_path": path.encode(),
        "query_string": b"",
        "root_path": "",
        "headers": [(b"host", b"127.0.0.1"), *raw],
        "client": ("127.0.0.1", 1),
        "server": ("127.0.0.1", 80),
    }
    await app(scope, receive, send)
    head, *rest = sent
    found = {name.decode(): value.decode("latin-1") for name, value in head["headers"]}
    return Answer(head["status"], found, b"".join(message.get("body", b"") for message in rest))
