"""Closing a client's connection in mid-answer, which ASGI has no word for: one way per server."""

import functools
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any, TypeAlias

Message: TypeAlias = MutableMapping[str, Any]
Scope: TypeAlias = MutableMapping[str, Any]
Receive: TypeAlias = Callable[[], Awaitable[Message]]
Send: TypeAlias = Callable[[Message], Awaitable[None]]
App: TypeAlias = Callable[[Scope, Receive, Send], Awaitable[None]]
Close: TypeAlias = Callable[[], None]

EXTENSION = "mockllm.close"


def close_of(send: Send) -> Close | None:
    """How to close the connection behind `send` once all that was sent has left; None on a server
    whose connections are out of reach.

    Never an abort: that drops bytes which were sent but have not left yet, so how much of the
    answer a client sees would be chance.
    """
    cycle = getattr(send, "__self__", None)
    if type(cycle).__module__.startswith("uvicorn."):
        transport = getattr(cycle, "transport", None)
        return getattr(transport, "close", None)
    if isinstance(send, functools.partial) and send.args:
        request = send.args[0]
        if type(request).__module__.startswith("daphne."):
            return functools.partial(_lose, request)
    return None


def _lose(request: Any) -> None:
    # A daphne request loses its channel when the client has gone first.
    if request.channel is not None:
        request.channel.transport.loseConnection()


def with_close(app: App) -> App:
    """The application, its scope telling how to close the connection."""

    async def outer(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and (close := close_of(send)):
            extensions = {**(scope.get("extensions") or {}), EXTENSION: close}
            scope = {**scope, "extensions": extensions}
        await app(scope, receive, send)

    return outer
