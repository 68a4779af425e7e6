"""Calls an ASGI application without a socket."""

import asyncio
from collections.abc import Mapping
from typing import Any

from tests.hostile.raw import Response


async def call_app(
    app: Any, method: str, path: str, body: bytes, *, headers: Mapping[str, str]
) -> Response:
    """Return the application's response to one request, whose client waits for the end."""
    messages: list[Any] = []
    pending = [{"type": "http.request", "body": body, "more_body": False}]

    async def receive() -> Any:
        if pending:
            return pending.pop()
        return await asyncio.Event().wait()

    async def send(message: Any) -> None:
        messages.append(message)

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
    head, *rest = messages
    response_headers = {name.decode(): value.decode("latin-1") for name, value in head["headers"]}
    return Response(
        head["status"], response_headers, b"".join(message.get("body", b"") for message in rest)
    )
