"""Limits the size of bodies and the number of connections.

A body is counted while it arrives, since Django would first spool all of it to disk. Large bodies
wait for memory. A connection beyond the maximum gets a 503.

Connections are accepted only while the process has file descriptors. An event loop would accept all
and reset those without a descriptor; here they wait in the socket's queue.
"""

import asyncio
import logging
import resource
import socket
from collections.abc import Callable, Sized
from contextlib import AsyncExitStack

from django.conf import settings

from mockllm_site.kit.api.errors import PREFIXES, error_response
from scenarios_app.engine.canonical import ErrorAnswer
from scenarios_app.serving.services import running_pipeline
from scenarios_app.serving.transports.asgi import response_start
from scenarios_app.serving.transports.asgi_scope import (
    App,
    Message,
    Receive,
    Scope,
    Send,
    announced_length,
    call_of_scope,
    path_of,
)
from scenarios_app.serving.transports.body_memory import NoBodyMemory, body_memory
from scenarios_app.wire.registry import is_provider_path

BUSY = "The server is reading other large requests; try again."
log = logging.getLogger(__name__)

# Descriptors for files, databases, tools, provider calls and refused connections.
RESERVE = 256


def with_body_limit(app: App) -> App:
    """Return the application with 413 for large bodies, and 503 if there is no memory for them."""

    async def guarded(scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request; answer 413 for a body that is too large, and 503 if there is no memory
        for it."""
        most: int = settings.MOCKLLM_MAX_BODY_BYTES
        announced = announced_length(scope, unknown=most)
        if announced > most:
            await _refuse(scope, send, 413, message=_too_large_message(most))
            return
        async with AsyncExitStack() as reading:
            try:
                await reading.enter_async_context(body_memory.reserve(announced))
            except NoBodyMemory:
                await _refuse(scope, send, 503, message=BUSY)
                return
            body = _CountedBody(receive, send, most, reading)
            await app(scope, body.receive, body.send)
            if body.size > most and not body.answered:
                await _refuse(scope, send, 413, message=_too_large_message(most))

    return guarded


class _CountedBody:
    """Wraps `receive` and `send` of a request: counts the body's bytes, and tells the application
    of a disconnect after `most`. `reading` reserves memory until the body is read."""

    def __init__(self, receive: Receive, send: Send, most: int, reading: AsyncExitStack) -> None:
        self._receive, self._send = receive, send
        self._most, self._reading = most, reading
        self.size = 0
        self.answered = False

    async def receive(self) -> Message:
        """Return the next message; after too many bytes, that the client disconnected."""
        if self.size > self._most:
            return {"type": "http.disconnect"}
        message = await self._receive()
        self.size += len(message.get("body", b""))
        if self.size > self._most:
            # The application sees a disconnect; this module sends the response.
            return {"type": "http.disconnect"}
        if not message.get("more_body", False):
            await self._reading.aclose()
        return message

    async def send(self, message: Message) -> None:
        """Pass a message on, and note that the application answers."""
        self.answered = True
        await self._send(message)


def _too_large_message(most: int) -> str:
    return f"The body is larger than {most} bytes."


async def _refuse(
    scope: Scope, send: Send, status: int, *, message: str, end: str = "", close: bool = False
) -> None:
    """Answer with an error: as JSON below the API paths, else as text that ends with `end`."""
    if scope["path"].startswith(PREFIXES):
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


MESSAGE = "This server has reached its maximum number of connections; try again."
RETRY_MS = 1000
CLOSE = (b"connection", b"close")


async def busy(scope: Scope, receive: Receive, send: Send) -> None:
    """Answer 503 without reading the body, and close the connection: there are too many."""
    if is_provider_path(path_of(scope)):
        pipeline = await running_pipeline()
        error = ErrorAnswer(503, MESSAGE, retry_after_ms=RETRY_MS)
        answer = pipeline.refuse(call_of_scope(scope, b""), error)
        opening = response_start(answer.reply)
        opening["headers"].append(CLOSE)
        await send(opening)
        await send({"type": "http.response.body", "body": answer.immediate_body()})
        answer.finish()
        return
    await _refuse(scope, send, 503, message=MESSAGE, end="\n", close=True)


def connection_cap(wanted: int) -> int:
    """Return `wanted`, or fewer connections, with a warning, if the descriptor limit is too low."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    needed = wanted + RESERVE
    if soft < needed:
        soft = _raise_descriptor_limit(needed, hard)
    if soft >= needed:
        return wanted
    cap = max(soft - RESERVE, 1)
    log.warning(
        "this process may open %d files, so it accepts %d connections instead of %d: "
        "raise the limit (ulimit -n %d) or lower MOCKLLM_MAX_CONNECTIONS",
        *(soft, cap, wanted, needed),
    )
    return cap


def _raise_descriptor_limit(needed: int, hard: int) -> int:
    """Return the descriptor limit after an attempt to raise it; root may raise the hard limit."""
    for top in (max(hard, needed) if hard != resource.RLIM_INFINITY else hard, hard):
        soft = needed if top == resource.RLIM_INFINITY else min(needed, top)
        try:
            resource.setrlimit(resource.RLIMIT_NOFILE, (soft, top))
        except (ValueError, OSError):
            continue
        return soft
    return resource.getrlimit(resource.RLIMIT_NOFILE)[0]


AT_ONCE = 16
PAUSE_SECONDS = 0.05


class Acceptor:
    """Accepts connections while fewer than `most` are open, `at_once` per turn of the event
    loop."""

    def __init__(
        self,
        listening: socket.socket,
        protocol: Callable[[], asyncio.Protocol],
        *,
        open: Sized,
        most: int,
        at_once: int = AT_ONCE,
    ) -> None:
        self._listening = listening
        self._protocol = protocol
        self._open = open
        self._most = most
        self._at_once = at_once
        self._loop = asyncio.get_running_loop()
        self._taking: set[asyncio.Task[None]] = set()
        self._pause: asyncio.TimerHandle | None = None

    def start(self) -> None:
        """Accept connections from now on."""
        self._listening.setblocking(False)
        self._pause = None
        self._loop.add_reader(self._listening, self._accept_connections)

    def stop(self) -> None:
        """Accept no more connections; those being accepted are kept."""
        if self._pause is not None:
            self._pause.cancel()
        self._loop.remove_reader(self._listening)

    def _accept_connections(self) -> None:
        """Accept the waiting connections of this turn; pause at the limit, or without
        descriptors."""
        for _ in range(self._at_once):
            if len(self._open) + len(self._taking) >= self._most:
                return self._pause_accepting()
            try:
                connection, _ = self._listening.accept()
            except (BlockingIOError, InterruptedError, ConnectionAbortedError):
                return None
            except OSError:
                # No file descriptor is left.
                return self._pause_accepting()
            task = self._loop.create_task(self._connect(connection))
            self._taking.add(task)
            task.add_done_callback(self._taking.discard)
        return None

    async def _connect(self, connection: socket.socket) -> None:
        """Give an accepted connection a new protocol; close the connection if that fails."""
        connection.setblocking(False)
        try:
            await self._loop.connect_accepted_socket(self._protocol, connection)
        except OSError:
            connection.close()

    def _pause_accepting(self) -> None:
        """Accept nothing for some seconds."""
        self._loop.remove_reader(self._listening)
        self._pause = self._loop.call_later(PAUSE_SECONDS, self.start)
