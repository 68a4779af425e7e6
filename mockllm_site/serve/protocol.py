"""uvicorn's HTTP protocol with limits on time, memory and the number of connections.

uvicorn collects a header line or trailers that never end, waits without end for the rest of a
request, queues all requests that a client sends ahead, and takes connections until the process has
no descriptors left.
"""

import asyncio
import time
from collections.abc import Awaitable, Iterable, MutableSet
from dataclasses import dataclass
from heapq import nsmallest
from typing import Any, ClassVar

from uvicorn.protocols.http.httptools_impl import STATUS_LINE

from mockllm_site.serve.request_queue import SerialProtocol
from scenarios_app.serving.exchange import RequestHead
from scenarios_app.serving.executor import run_eagerly
from scenarios_app.serving.pipeline import Pipeline
from scenarios_app.serving.playback import Answer
from scenarios_app.serving.transports.asgi_scope import (
    BLANKS,
    App,
    announced_length,
    make_call,
    read_headers,
)
from scenarios_app.serving.transports.body_memory import SMALL_BODY
from scenarios_app.serving.transports.uvicorn_protocol import PlainHead
from scenarios_app.serving.transports.websocket import head_of_upgrade, upgrade_error
from scenarios_app.serving.transports.websocket_protocol import WebSocketProtocol
from scenarios_app.wire.base import Call
from scenarios_app.wire.registry import find_intended_path, is_provider_path

# Time limit of a request's head, and of a pause within its body.
HEAD_SECONDS = 10.0
BODY_SECONDS = 25.0
# Time limit for a client that reads none of the written bytes.
UNREAD_SECONDS = 60.0
# The same time limits while no more connections are accepted, and the time after which idle
# connections are closed for new ones.
CROWDED_SECONDS = 3.0
# Idle connections that are closed at a time, as a part of the limit of connections.
CLOSED_PART = 16


@dataclass(slots=True)
class Limits:
    """Limits of a process: bytes of a head, connections, and the application beyond them."""

    head_bytes: int
    connections: int
    refuse: App


class GuardedProtocol(SerialProtocol):
    """One connection with limits. `limits` are set once, before the first connection."""

    limits: ClassVar[Limits]
    # Bytes of an incomplete head, or of a chunked body since its last content; and since when this
    # server waits for the client (None while it does not).
    _head_bytes = 0
    _in_head = True
    _refused = False
    _waiting_since: float | None = None
    # Since when no request is being answered.
    _idle_since: float | None = None
    # True if this head is parsed again without its upgrade.
    _declined = False
    # Unread bytes at the last `_is_unread`, and since when the client reads none.
    _unread_bytes = 0
    _unread_since = 0.0

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Start the time limit of the first head, and compare the number of connections."""
        super().connection_made(transport)
        self._waiting_since = time.monotonic()
        if len(self.connections) > self.limits.connections:
            close_longest_idle(self.connections, self.limits.connections, now=self._waiting_since)
        self._beyond_limit = len(self.connections) > self.limits.connections

    def _parse(self, data: bytes) -> None:
        """Parse received bytes; ignore them after a refused request."""
        if not self._refused:
            super()._parse(data)

    def _feed(self, data: bytes) -> None:
        """Parse bytes of one request; refuse too large heads, and pause reading if a body waits."""
        if not self._body_left:
            self._head_bytes += len(data)
        if not self._in_head and self._waiting_since is not None:
            self._waiting_since = time.monotonic()
        super()._feed(data)
        if self.transport.is_closing():
            return
        if self._head_bytes > self.limits.head_bytes and not self._is_between_requests:
            self._refuse(431, "The request's headers or trailers are too large.")
        elif not self._in_head and self._waiting_since is not None and self._waits_for_room():
            # The application resumes reading when it reads the rest.
            self.flow.pause_reading()

    def _begin(self, plain: PlainHead) -> None:
        """Begin to answer a request that was read without the parser."""
        if self._is_between_requests:
            # The request is complete, as after `on_message_complete`.
            self._in_head, self._waiting_since, self._idle_since = False, None, None
        super()._begin(plain)

    def on_message_begin(self) -> None:
        """Start the time limit of a request's head."""
        super().on_message_begin()
        # An earlier request in the same packet may have been answered meanwhile.
        self._idle_since = None
        if not self._in_head:
            self._in_head, self._head_bytes = True, 0
            self._waiting_since = time.monotonic()

    def on_header(self, name: bytes, value: bytes) -> None:
        """Pass on a header without trailing blanks; ignore trailers."""
        if self._in_head:
            super().on_header(name, value.rstrip(BLANKS))
        else:
            # A trailer. Trailers are ignored, so that none can act as a header.
            self._head_bytes += len(name) + len(value) + 4

    def on_headers_complete(self) -> None:
        """Choose the application: `limits.refuse` beyond the limit of connections."""
        self._in_head, self._head_bytes = False, 0
        self._waiting_since = time.monotonic()
        self._declined = self._declines_upgrade()
        if not self._declined:
            self.app = self.limits.refuse if self._beyond_limit else self.config.loaded_app
            super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        """Pass on a piece of a body; bytes before it no longer count as trailers."""
        self._head_bytes = 0
        super().on_body(body)

    def on_message_complete(self) -> None:
        """End the time limit of a request; start the idle time if it is answered already."""
        if self._declined:
            return
        self._waiting_since = None
        super().on_message_complete()
        if self.cycle is not None and self.cycle.response_complete:
            # The response was sent before the body was complete.
            self._idle_since = time.monotonic()

    def _declines_upgrade(self) -> bool:
        """Return True if the client offers an upgrade that the server does not support."""
        if not self.parser.should_upgrade() or self.parser.get_method() == b"CONNECT":
            return False
        return not self._should_upgrade()

    def _should_upgrade(self) -> bool:
        """Return True for a WebSocket handshake that uvicorn supports, within the limit."""
        # Only a GET starts a WebSocket; a connection beyond the limit gets an HTTP response.
        is_get = self.parser.get_method() == b"GET" and not self._beyond_limit
        return is_get and super()._should_upgrade()

    def _unsupported_upgrade_warning(self) -> None:
        """Parse the head again without its unsupported Upgrade, which would hide the body."""
        if not self._declined:
            return
        method, version = self.parser.get_method(), self.parser.get_http_version().encode()
        lines = [b"%b: %b\r\n" % pair for pair in self.headers if pair[0] != b"upgrade"]
        head = b"%b %b HTTP/%b\r\n%b\r\n" % (method, self.url, version, b"".join(lines))
        self.parser = type(self.parser)(self)
        self.parser.set_dangerous_leniencies(lenient_data_after_close=True)
        self._raw = None
        super()._feed(head)

    def handle_websocket_upgrade(self) -> None:
        """Open a WebSocket of a provider; leave any other to uvicorn and the application."""
        # Further bytes belong to the new protocol.
        self._refused = True
        if not self._open_websocket():
            super().handle_websocket_upgrade()

    def _open_websocket(self) -> bool:
        """Open or refuse a WebSocket of a provider; return False for any other."""
        pipeline, (path, _, query) = self._pipeline(), self.url.partition(b"?")
        raw = path.decode("latin-1")
        if pipeline is None or not (is_provider_path(raw) or find_intended_path("POST", raw)):
            return False
        headers = read_headers(self.headers)
        call = make_call("GET", raw, query=query, headers=headers, body=b"")
        head = head_of_upgrade(call)
        error = upgrade_error(pipeline, call, head)
        if error is not None:
            self._end_handshake(pipeline, call, head, pipeline.refuse(call, error, head))
            return True
        refusal = run_eagerly(pipeline.refuse_upgrade(call, head))
        if refusal is None or isinstance(refusal, Answer):
            self._end_handshake(pipeline, call, head, refusal)
        else:
            task = self.loop.create_task(self._await_handshake(pipeline, call, head, refusal))
            self.tasks.add(task)
            task.add_done_callback(self.tasks.discard)
        return True

    async def _await_handshake(
        self, pipeline: Pipeline, call: Call, head: RequestHead, refusal: Awaitable[Answer | None]
    ) -> None:
        self._end_handshake(pipeline, call, head, await refusal)

    def _end_handshake(
        self, pipeline: Pipeline, call: Call, head: RequestHead, refusal: Answer | None
    ) -> None:
        """Send the HTTP response that refuses a WebSocket, or open it if there is none."""
        if self.transport.is_closing():
            return
        if refusal is not None:
            self._ending = True
            if not self._try_send(refusal):
                self.transport.close()
            return
        self.connections.discard(self)
        self._join_siblings(None)
        socket = WebSocketProtocol(self.transport, self.server_state)
        socket.open(pipeline, call, head, rest=bytes(self._held))

    def on_response_complete(self) -> None:
        """Do as uvicorn does without its keep-alive timer, which `close_if_stalled` replaces."""
        self.server_state.total_requests += 1
        if self.transport.is_closing():
            return
        if self.flow.read_paused:
            self.flow.resume_reading()
        if self._is_between_requests:
            self._idle_since = time.monotonic()
        self._parse_next_turn()

    def _has_ended_parsing(self) -> bool:
        """Return True if nothing more is parsed, also on an open connection after a refusal or an
        upgrade."""
        return self._refused or super()._has_ended_parsing()

    def is_free(self) -> bool:
        """Return True if the next request can be answered: not beyond the limit or refused."""
        return not (self._beyond_limit or self._refused) and super().is_free()

    @property
    def idle_since(self) -> float | None:
        """Return since when this connection waits for a further request, or None if it does not."""
        return None if self.transport.is_closing() else self._idle_since

    def close_if_stalled(self, now: float, *, crowded: bool = False) -> None:
        """Close a connection whose client is idle, reads nothing, or does not complete a head or
        body in time (408). `crowded`: abort it after CROWDED_SECONDS of waiting for bytes."""
        if self._is_unread(now):
            self.transport.abort()
        if self.transport.is_closing():
            return
        idle = self.idle_since
        if idle is not None and now - idle > self.timeout_keep_alive:
            self.transport.close()
            return
        since = self._waiting_since
        if since is None or self.flow.read_paused:
            return
        if crowded and now - since > CROWDED_SECONDS:
            # Closed without a response, because other clients need the descriptor.
            self.transport.abort()
            return
        if self._refused:
            self.transport.close()
            return
        if self._in_head:
            if now - since > HEAD_SECONDS:
                if self._head_bytes:
                    self._refuse(408, "The request's headers were not complete in time.")
                else:
                    self.transport.close()
        elif now - since > BODY_SECONDS:
            self._refuse(408, "The request's body was not complete in time.")

    def _is_unread(self, now: float) -> bool:
        """Return True if the client has read none of the written bytes for UNREAD_SECONDS."""
        unread, before = self.transport.get_write_buffer_size(), self._unread_bytes
        self._unread_bytes = unread
        if not before or unread < before:
            self._unread_since = now
        return unread > 0 and now - self._unread_since > UNREAD_SECONDS

    def _waits_for_room(self) -> bool:
        """Return True if the application has not read bytes of a large or unbounded body."""
        large = announced_length(self.scope, unknown=SMALL_BODY + 1) > SMALL_BODY
        cycle = self.cycle
        return large and not cycle.response_complete and bool(cycle.body)

    def _refuse(self, status: int, message: str) -> None:
        """Send an error without a provider's envelope, and close the connection a moment later: a
        client that still sends would see a reset in place of the error."""
        cycle = self.cycle
        if cycle is not None and not self._in_head:
            # The application sees a disconnect.
            cycle.disconnected = True
            cycle.message_event.set()
            if cycle.response_started:
                self.transport.close()
                return
        body = f"{message}\n".encode()
        head = (
            STATUS_LINE[status],
            b"content-type: text/plain; charset=utf-8\r\n",
            b"content-length: %d\r\n" % len(body),
            b"connection: close\r\n\r\n",
        )
        self._refused, self._waiting_since = True, time.monotonic()
        self.flow.resume_reading()
        self.transport.write(b"".join((*head, body)))
        self.transport.write_eof()


def close_longest_idle(connections: MutableSet[Any], limit: int, *, now: float) -> None:
    """Close connections that are idle for CROWDED_SECONDS, the longest idle first, and count them
    no longer. A part is closed at a time, because finding them takes a millisecond."""
    idle = [
        (since, number, connection)
        for number, connection in enumerate(connections)
        if isinstance(connection, GuardedProtocol)
        and (since := connection.idle_since) is not None
        and now - since > CROWDED_SECONDS
    ]
    for _, _, connection in nsmallest(max(limit // CLOSED_PART, 1), idle):
        connection.transport.close()
        connections.discard(connection)


def close_stalled_connections(connections: Iterable[Any]) -> None:
    """Close stalled connections; called about every second, which is cheaper than timers."""
    now = time.monotonic()
    current = list(connections)
    for connection in current:
        if isinstance(connection, GuardedProtocol):
            connection.close_if_stalled(now, crowded=len(current) >= connection.limits.connections)
        elif isinstance(connection, WebSocketProtocol):
            connection.look(now)
