"""WebSockets of providers as an ASGI application, for every ASGI server."""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Sequence

from scenarios_app.serving.pipeline import Pipeline
from scenarios_app.serving.services import running_pipeline
from scenarios_app.serving.transports.asgi_scope import (
    Message,
    Receive,
    Scope,
    Send,
    call_of_scope,
    response_start,
)
from scenarios_app.serving.transports.websocket import SocketSession, refuse_handshake

_RESPONSE = "websocket.http.response"
AGE_CHECK_SECONDS = 1.0


class SocketApp:
    """ASGI application that answers every WebSocket handshake of a provider's path."""

    def __init__(self, pipeline: Callable[[], Awaitable[Pipeline]] = running_pipeline) -> None:
        self._pipeline = pipeline

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        pipeline = await self._pipeline()
        await receive()
        scheme = "https" if scope.get("scheme") == "wss" else "http"
        call = call_of_scope({**scope, "method": "GET", "scheme": scheme}, b"")
        head, answer = await refuse_handshake(pipeline, call)
        if answer is None:
            connection = AsgiConnection(send)
            session = SocketSession(pipeline, call, head, connection)
            await send({"type": "websocket.accept"})
            await connection.play(session, receive)
            return
        body = answer.immediate_body()
        answer.finish()
        if _RESPONSE not in (scope.get("extensions") or {}):
            # ASGI servers can only refuse a WebSocket with their own 403.
            await send({"type": "websocket.close"})
            return
        await send({**response_start(answer.reply), "type": f"{_RESPONSE}.start"})
        await send({"type": f"{_RESPONSE}.body", "body": body})


class AsgiConnection:
    """One WebSocket of an ASGI server. Messages of the session are queued here for the server."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self._outgoing: deque[Message] = deque()
        self._has_outgoing = asyncio.Event()
        self._is_empty = asyncio.Event()
        self._is_empty.set()

    async def play(self, session: SocketSession, receive: Receive) -> None:
        """Pass messages both ways until the connection ends."""
        reading = asyncio.create_task(self._read(session, receive))
        checking = asyncio.create_task(_check_age_regularly(session))
        try:
            await self._write()
        finally:
            session.leave()
            reading.cancel()
            checking.cancel()
            await asyncio.gather(reading, checking, return_exceptions=True)

    def send(self, messages: Sequence[bytes]) -> None:
        """Send text messages."""
        for message in messages:
            self._enqueue({"type": "websocket.send", "text": message.decode("utf-8", "replace")})

    @property
    def is_writable(self) -> bool:
        return self._is_empty.is_set()

    async def wait_until_writable(self) -> None:
        await self._is_empty.wait()

    def close(self, code: int, reason: str) -> None:
        self._enqueue({"type": "websocket.close", "code": code, "reason": reason})

    def ignore_pings(self) -> None:
        """Do nothing: pings are the server's."""

    def cut(self, half_of: bytes = b"") -> None:
        """Close with code 1011; ASGI can neither omit the close frame nor send half a message."""
        self._enqueue({"type": "websocket.close", "code": 1011, "reason": ""})

    def _enqueue(self, message: Message) -> None:
        """Queue a message for `_write`."""
        self._outgoing.append(message)
        self._is_empty.clear()
        self._has_outgoing.set()

    async def _write(self) -> None:
        """Send queued messages in order until the connection is closed."""
        while True:
            await self._has_outgoing.wait()
            while self._outgoing:
                message = self._outgoing.popleft()
                if message["type"] == "websocket.disconnect":
                    return
                await self._send(message)
                if message["type"] == "websocket.close":
                    return
            self._has_outgoing.clear()
            self._is_empty.set()

    async def _read(self, session: SocketSession, receive: Receive) -> None:
        """Pass received messages to the session while no sent one waits, until the client
        leaves."""
        while True:
            message = await receive()
            if message["type"] == "websocket.disconnect":
                self._enqueue(message)
                return
            # Do not read from a client that reads no answers.
            await self._is_empty.wait()
            text: str | None = message.get("text")
            if text is None:
                session.refuse_binary()
            else:
                session.receive(text.encode())
            # A server that has queued thousands of messages returns each immediately.
            await asyncio.sleep(0)


async def _check_age_regularly(session: SocketSession) -> None:
    """Close the session's connection once it is too old."""
    while True:
        await asyncio.sleep(AGE_CHECK_SECONDS)
        session.close_if_too_old()
