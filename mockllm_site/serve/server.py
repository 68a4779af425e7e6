"""The ASGI server of `serve`: binds its socket, prints the ready line, and ends on signals."""

import asyncio
import gc
import logging
import os
import signal
import socket
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any

import uvicorn
from django.conf import settings

from mockllm_site.kit.api.locality import is_loopback, set_listening_address
from mockllm_site.serve import chat, limits
from mockllm_site.serve.connection import HttpConnection, Settings, close_stalled_connections
from mockllm_site.serve.limits import RESERVED_DESCRIPTORS, Acceptor
from mockllm_site.serve.page_socket import MAX_MESSAGE_BYTES as PAGE_MESSAGE_BYTES
from mockllm_site.serve.page_socket import PageSocket
from scenarios_app.serving.transports.websocket import MAX_MESSAGE_BYTES as PROVIDER_MESSAGE_BYTES

if TYPE_CHECKING:
    from scenarios_app.serving.fast.direct import FastLayer

# Where clients of this machine reach a server on all addresses.
LOCAL_HOSTS = {"0.0.0.0": "127.0.0.1", "::": "::1"}
# uvicorn ticks ten times a second.
TICKS_PER_CHECK = 5
# Allowance for the request line and separators, which the size of a complete head lacks.
REQUEST_LINE_BYTES = 16_384
# uvicorn waits this much longer than our deadline, at which the last streams are ended.
MARGIN_SECONDS = 2.0
# After a second signal, answers have this time to end properly.
ABORT_SECONDS = 0.5
# Thresholds of Python's garbage collector. With the default (700) it ran in every turn of the event
# loop, and a full collection each second stopped thousands of open streams for 50 ms.
GC_THRESHOLDS = (2_000, 10, 100)


REACHABLE = (
    "listening on %s: everyone may use the providers' routes; the control API, the chat, "
    "traces and /metrics require a token or a login"
)

log = logging.getLogger(__name__)


class StartFailed(Exception):
    """The server did not start; the message says why in one line."""


class Stop:
    """Handles SIGTERM and SIGINT: sets `requested`; before the server runs, exits the process."""

    def __init__(self) -> None:
        self.requested = False
        self._running = False
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self._handle)

    def mark_running(self) -> None:
        """Let signals only set `requested` from now on."""
        self._running = True

    def _handle(self, number: int, frame: FrameType | None) -> None:
        """Set `requested`; exit the process with code 0 if the server does not run yet."""
        self.requested = True
        if not self._running:
            sys.exit(0)


class Parent:
    """The process with this PID, whose end ends the server; its parent or any other process."""

    def __init__(self, pid: int) -> None:
        self._pid = pid
        # If it has ended before this line, `os.kill` in `is_gone` shows that.
        self._started_us = os.getppid() == pid

    @property
    def is_gone(self) -> bool:
        """True if the process has ended."""
        if self._started_us:
            return os.getppid() != self._pid
        try:
            os.kill(self._pid, 0)
        except OSError as error:
            return isinstance(error, ProcessLookupError)
        return False


class Server(uvicorn.Server):
    """One process that serves until a signal or the end of `parent`, and calls `ready` once it
    listens. The first signal lets answers finish; a second one stops them. With `max_connections`,
    `one_per_turn` accepts one connection a turn of the loop, so that processes share a socket."""

    def __init__(
        self,
        config: uvicorn.Config,
        *,
        ready: Callable[[], None],
        stop: Stop,
        max_connections: int | None = None,
        one_per_turn: bool = False,
        parent: Parent | None = None,
    ) -> None:
        super().__init__(config)
        self._parent = parent
        self._max_connections = max_connections
        self._one_per_turn = one_per_turn
        self._acceptors: list[Acceptor] = []
        self._ready = ready
        self._stop = stop

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start the application, listen on the sockets, and call `ready`."""
        max_open = self._max_connections
        await super().startup(sockets=sockets if max_open is None else [])
        if max_open is not None:
            self._acceptors = [self._start_acceptor(bound, max_open) for bound in sockets or []]
        if self._stop.requested:
            self.should_exit = True
        else:
            # Exclude the existing objects from collection: scanning them takes a tenth of a second
            # each time, during which no request is answered.
            gc.collect()
            gc.freeze()
            gc.set_threshold(*GC_THRESHOLDS)
            self._ready()
            chat.warm_up()

    async def on_tick(self, counter: int) -> bool:
        """Every TICKS_PER_CHECK close stalled connections, and exit if the parent has ended."""
        if counter % TICKS_PER_CHECK == 0:
            close_stalled_connections(self.server_state.connections)
            if self._parent is not None and self._parent.is_gone:
                self.should_exit = True
        return await super().on_tick(counter)

    def _start_acceptor(self, bound: socket.socket, max_open: int) -> Acceptor:
        """Return a started acceptor of at most `max_open` connections at a time."""
        # uvicorn declares a class, but calls it only.
        protocol: Any = self.config.http_protocol_class
        acceptor = Acceptor(
            bound,
            partial(protocol, self.config, self.server_state, self.lifespan.state),
            open=self.server_state.connections,
            max_open=max_open,
            per_turn=1 if self._one_per_turn else limits.ACCEPTS_PER_TURN,
        )
        acceptor.start()
        return acceptor

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Stop accepting, wait for answers, and end the application, which stores its data."""
        for acceptor in self._acceptors:
            acceptor.stop()
        await super().shutdown(sockets=sockets)
        if self.force_exit:
            # Also after a second signal: ends of runs and journal rows must be stored.
            await self.lifespan.shutdown()

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Handle a signal as uvicorn does; after a second one, abort the connections soon."""
        if self.should_exit:
            asyncio.get_running_loop().call_soon_threadsafe(self._abort_soon)
        else:
            super().handle_exit(sig, frame)

    def _abort_soon(self) -> None:
        """Abort all connections after ABORT_SECONDS."""
        asyncio.get_running_loop().call_later(ABORT_SECONDS, self._abort_connections)

    def _abort_connections(self) -> None:
        """Abort all connections, and let the server end without waiting."""
        # Without connections and tasks, the shutdown has already begun.
        self.force_exit = bool(self.server_state.connections or self.server_state.tasks)
        for connection in tuple(self.server_state.connections):
            if connection.transport is not None:
                connection.transport.abort()


def bind(host: str, port: int) -> socket.socket:
    """Return a listening socket for a host and port, 0 for a free one. Raise StartFailed."""
    try:
        addresses = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
        # `localhost` can be IPv4 and IPv6; clients try IPv4 first.
        family, kind, protocol, _, address = min(addresses, key=lambda a: a[0] != socket.AF_INET)
        bound = socket.socket(family, kind, protocol)
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        bound.bind(address)
        bound.listen()
    except (OSError, UnicodeError) as error:
        reason = getattr(error, "strerror", None) or error
        raise StartFailed(f"cannot listen on {host}:{port}: {reason}") from None
    return bound


def announce_ready(host: str, bound: socket.socket) -> None:
    """Write the address to MOCKLLM_READY_FILE, and print the ready line; raise StartFailed."""
    port = bound.getsockname()[1]
    write_ready_file(f"{_format_url(LOCAL_HOSTS.get(host, host), port)}\n")
    print(f"mockllm ready on {_format_url(host, port)}", flush=True)


def write_ready_file(text: str) -> None:
    """Write a text to the file MOCKLLM_READY_FILE, if that is set; raise StartFailed."""
    if file := settings.MOCKLLM_READY_FILE:
        try:
            Path(file).write_text(text, encoding="utf-8")
        except OSError as error:
            raise StartFailed(f"MOCKLLM_READY_FILE: {file}: {error.strerror or error}") from None


def _format_url(host: str, port: int) -> str:
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def store_bound_address(bound: socket.socket) -> None:
    """Store the bound address for `locality`; warn if other machines can reach it."""
    address: str = bound.getsockname()[0]
    set_listening_address(address)
    if not is_loopback(address):
        log.warning(REACHABLE, address)


def run(
    bound: socket.socket,
    *,
    stop: Stop,
    ready: Callable[[], None],
    one_per_turn: bool = False,
    parent: Parent | None = None,
    fast: bool = True,
) -> None:
    """Serve until a signal or the end of `parent`. Raise StartFailed if the application fails.
    Without `fast` all requests go through the application."""
    wanted: int = settings.MOCKLLM_MAX_CONNECTIONS
    cap = limits.cap_connections(wanted)
    idle: int = settings.MOCKLLM_KEEP_ALIVE_SECONDS
    connection_settings = Settings(
        head_bytes=settings.MOCKLLM_MAX_HEADER_BYTES + REQUEST_LINE_BYTES,
        connections=cap,
        refuse=limits.refuse_connection,
        keep_alive_headers=((b"keep-alive", b"timeout=%d" % idle),),
        layer=_make_layer() if fast else None,
    )
    protocol: Any = partial(HttpConnection, settings=connection_settings)
    # uvicorn declares int, but accepts a float.
    seconds: Any = settings.MOCKLLM_DRAIN_SECONDS + MARGIN_SECONDS
    config = uvicorn.Config(
        "mockllm_site.asgi:application",
        http=protocol,
        ws=PageSocket,
        ws_max_size=PAGE_MESSAGE_BYTES if fast else PROVIDER_MESSAGE_BYTES,
        # Servers of tests use the same loop with and without the extra `server`.
        loop="asyncio" if settings.MOCKLLM_LIGHT else "auto",
        log_config=None,
        access_log=False,
        lifespan="on",
        server_header=False,
        proxy_headers=False,
        timeout_graceful_shutdown=seconds,
        timeout_keep_alive=idle,
    )
    server = Server(
        config,
        ready=ready,
        stop=stop,
        max_connections=cap + RESERVED_DESCRIPTORS // 2 if one_per_turn or cap < wanted else None,
        one_per_turn=one_per_turn,
        parent=parent,
    )
    stop.mark_running()
    try:
        server.run(sockets=[bound])
    except SystemExit:
        raise StartFailed("the server did not start; the lines above say why") from None


def _make_layer() -> "FastLayer":
    """Return the layer of direct answers of this process, which is imported only if it is used."""
    from scenarios_app.serving.fast.direct import make_layer

    return make_layer()
