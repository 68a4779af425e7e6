"""Limits the size of bodies and the number of connections.

A body is counted while it arrives, since Django would first spool all of it to disk. Large bodies
wait for memory. A connection beyond the maximum gets a 503.

Connections are accepted only while file descriptors are left. An event loop would accept all and
reset those without a descriptor; here they wait in the socket's queue.
"""

import asyncio
import logging
import resource
import socket
from collections.abc import Callable, Sized
from contextlib import AsyncExitStack

from django.conf import settings

from mockllm_site.kit.api.errors import API_PREFIXES, error_response
from mockllm_site.middleware.provider_requests import is_for_provider
from scenarios_app.engine.canonical import ErrorAnswer
from scenarios_app.serving.services import running_pipeline
from scenarios_app.serving.transports.asgi_scope import (
    App,
    Message,
    Receive,
    Scope,
    Send,
    announced_length,
    call_of_scope,
    response_start,
)
from scenarios_app.serving.transports.body_memory import NoBodyMemory, body_memory
from scenarios_app.serving.transports.request_body import NO_BODY_MEMORY

log = logging.getLogger(__name__)

# Descriptors for files, databases, tools, provider calls and refused connections.
RESERVED_DESCRIPTORS = 256


def with_body_limit(app: App) -> App:
    """Return the application for pages with 413 for large bodies, and 503 if there is no memory for
    them."""

    async def guarded(scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, unless its body is too large or there is no memory for it."""
        max_bytes: int = settings.MOCKLLM_MAX_BODY_BYTES
        announced = announced_length(scope, unknown=max_bytes)
        if announced > max_bytes:
            await _refuse(scope, send, 413, message=_too_large_message(max_bytes))
            return
        async with AsyncExitStack() as reservation:
            try:
                await reservation.enter_async_context(body_memory.reserve(announced))
            except NoBodyMemory:
                await _refuse(scope, send, 503, message=NO_BODY_MEMORY)
                return
            body = _CountedBody(receive, send, max_bytes, reservation)
            await app(scope, body.receive, body.send)
            if body.size > max_bytes and not body.answered:
                await _refuse(scope, send, 413, message=_too_large_message(max_bytes))

    return guarded


class _CountedBody:
    """Wraps `receive` and `send` of a request: counts the body's bytes, and reports a disconnect to
    the application after `max_bytes`. `reservation` of memory ends when the body is read."""

    def __init__(
        self, receive: Receive, send: Send, max_bytes: int, reservation: AsyncExitStack
    ) -> None:
        self._receive, self._send = receive, send
        self._max_bytes, self._reservation = max_bytes, reservation
        self.size = 0
        self.answered = False

    async def receive(self) -> Message:
        """Return the next message, `http.disconnect` after too many bytes."""
        if self.size > self._max_bytes:
            return {"type": "http.disconnect"}
        message = await self._receive()
        self.size += len(message.get("body", b""))
        if self.size > self._max_bytes:
            # The application sees a disconnect; this module sends the response.
            return {"type": "http.disconnect"}
        if not message.get("more_body", False):
            await self._reservation.aclose()
        return message

    async def send(self, message: Message) -> None:
        """Pass a message on, and set `answered`."""
        self.answered = True
        await self._send(message)


def _too_large_message(max_bytes: int) -> str:
    return f"The body is larger than {max_bytes} bytes."


async def _refuse(
    scope: Scope, send: Send, status: int, *, message: str, end: str = "", close: bool = False
) -> None:
    """Send an error as JSON below API_PREFIXES, else as text with `end` after it."""
    if scope["path"].startswith(API_PREFIXES):
        body, kind = error_response(status, message).content, b"application/json"
    else:
        body, kind = f"{message}{end}".encode(), b"text/plain; charset=utf-8"
    headers = [(b"content-type", kind), (b"content-length", b"%d" % len(body))]
    if status == 503:
        headers.append((b"retry-after", b"1"))
    # Not while the client still sends: it would see a reset instead of the response.
    if close:
        headers.append(CLOSE)
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})


TOO_MANY_CONNECTIONS = "This server has reached its maximum number of connections; try again."
RETRY_MS = 1000
CLOSE = (b"connection", b"close")


async def refuse_connection(scope: Scope, receive: Receive, send: Send) -> None:
    """An ASGI application for connections beyond the maximum: answers 503 and closes them."""
    if is_for_provider(scope):
        pipeline = await running_pipeline()
        error = ErrorAnswer(503, TOO_MANY_CONNECTIONS, retry_after_ms=RETRY_MS)
        answer = pipeline.refuse(call_of_scope(scope, b""), error)
        opening = response_start(answer.reply)
        opening["headers"].append(CLOSE)
        await send(opening)
        await send({"type": "http.response.body", "body": answer.immediate_body()})
        answer.finish()
        return
    await _refuse(scope, send, 503, message=TOO_MANY_CONNECTIONS, end="\n", close=True)


def cap_connections(wanted: int) -> int:
    """Raise the descriptor limit for `wanted` connections; return fewer if it stays too low."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    needed = wanted + RESERVED_DESCRIPTORS
    if soft < needed:
        soft = _raise_descriptor_limit(needed, hard)
    if soft >= needed:
        return wanted
    cap = max(soft - RESERVED_DESCRIPTORS, 1)
    log.warning(
        "this process may open %d files, so it accepts %d connections instead of %d: "
        "raise the limit (ulimit -n %d) or lower MOCKLLM_MAX_CONNECTIONS",
        *(soft, cap, wanted, needed),
    )
    return cap


def _raise_descriptor_limit(needed: int, hard: int) -> int:
    """Try to raise the descriptor limit, as root also the hard one; return the resulting limit."""
    for top in (max(hard, needed) if hard != resource.RLIM_INFINITY else hard, hard):
        soft = needed if top == resource.RLIM_INFINITY else min(needed, top)
        try:
            resource.setrlimit(resource.RLIMIT_NOFILE, (soft, top))
        except (ValueError, OSError):
            continue
        return soft
    return resource.getrlimit(resource.RLIMIT_NOFILE)[0]


ACCEPTS_PER_TURN = 16
PAUSE_SECONDS = 0.05


class Acceptor:
    """Accepts connections while fewer than `max_open` are open, `per_turn` a turn of the loop."""

    def __init__(
        self,
        listening: socket.socket,
        protocol: Callable[[], asyncio.Protocol],
        *,
        open: Sized,
        max_open: int,
        per_turn: int = ACCEPTS_PER_TURN,
    ) -> None:
        self._listening = listening
        self._protocol = protocol
        self._open = open
        self._max_open = max_open
        self._per_turn = per_turn
        self._loop = asyncio.get_running_loop()
        self._accepting: set[asyncio.Task[None]] = set()
        self._pause: asyncio.TimerHandle | None = None

    def start(self) -> None:
        """Accept connections from now on; also ends a pause."""
        self._listening.setblocking(False)
        self._pause = None
        self._loop.add_reader(self._listening, self._accept_connections)

    def stop(self) -> None:
        """Accept no more connections; those being accepted are kept."""
        if self._pause is not None:
            self._pause.cancel()
        self._loop.remove_reader(self._listening)

    def _accept_connections(self) -> None:
        """Accept the waiting connections; pause at the limit or without descriptors."""
        for _ in range(self._per_turn):
            if len(self._open) + len(self._accepting) >= self._max_open:
                return self._pause_accepting()
            try:
                connection, _ = self._listening.accept()
            except (BlockingIOError, InterruptedError, ConnectionAbortedError):
                return None
            except OSError:
                # No file descriptor is left.
                return self._pause_accepting()
            task = self._loop.create_task(self._connect(connection))
            self._accepting.add(task)
            task.add_done_callback(self._accepting.discard)
        return None

    async def _connect(self, connection: socket.socket) -> None:
        """Give an accepted connection a new protocol; close the connection if that fails."""
        connection.setblocking(False)
        try:
            await self._loop.connect_accepted_socket(self._protocol, connection)
        except OSError:
            connection.close()

    def _pause_accepting(self) -> None:
        """Accept nothing for PAUSE_SECONDS."""
        self._loop.remove_reader(self._listening)
        self._pause = self._loop.call_later(PAUSE_SECONDS, self.start)
