"""One HTTP connection of `serve`: uvicorn's protocol, which parses and runs ASGI, with three
collaborators: limits on the client, the queue of pipelined requests, and direct answers.

uvicorn collects a header line or trailers that never end, waits without end for the rest of a
request, queues all requests that a client sends ahead, and takes connections until the process has
no descriptors left. Everything that is used of uvicorn's protocol is used in this file.
"""

import asyncio
import time
from collections.abc import Coroutine, Iterable, MutableSet
from dataclasses import dataclass
from heapq import nsmallest
from typing import TYPE_CHECKING, Any

from uvicorn.config import Config
from uvicorn.protocols.http.flow_control import FlowControl
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol
from uvicorn.server import ServerState

from mockllm_site.serve.client_limits import CROWDED_SECONDS, ClientLimits
from mockllm_site.serve.request_queue import HEAD_END, RequestQueue
from scenarios_app.serving.fast.connection import ParsedHead
from scenarios_app.serving.transports.asgi_scope import BLANKS, App, announced_length
from scenarios_app.serving.transports.body_memory import SMALL_BODY

if TYPE_CHECKING:
    from scenarios_app.serving.fast.direct import DirectAnswers, FastLayer

# A chunked body is parsed in pieces that end where the body may end. After this many pieces the
# event loop runs other tasks.
PIECES_PER_TURN = 64
# Idle connections that are closed at a time, as a part of the limit of connections.
CLOSED_PART = 16


@dataclass(frozen=True, slots=True)
class Settings:
    """Settings of all connections of a process. `head_bytes` and `connections` are limits, `refuse`
    is the application beyond the second. `keep_alive_headers` tell clients how long a connection
    stays open. `layer` gives direct answers; None without it."""

    head_bytes: int
    connections: int
    refuse: App
    keep_alive_headers: tuple[tuple[bytes, bytes], ...] = ()
    layer: "FastLayer | None" = None


class QueueFlow(FlowControl):
    """uvicorn's flow control; `resume_reading` does nothing while the queue is long."""

    def __init__(self, transport: asyncio.Transport, queue: RequestQueue) -> None:
        super().__init__(transport)
        self._queue = queue

    def resume_reading(self) -> None:
        """Resume reading unless too many bytes are queued."""
        if self.read_paused and not self._queue.is_long:
            super().resume_reading()


class HttpConnection(HttpToolsProtocol):
    """One HTTP connection, of which each turn of the event loop parses at most one request."""

    def __init__(
        self,
        config: Config,
        server_state: ServerState,
        app_state: dict[str, Any],
        _loop: asyncio.AbstractEventLoop | None = None,
        *,
        settings: Settings,
    ) -> None:
        super().__init__(config, server_state, app_state, _loop)
        self._settings = settings
        self.limits = ClientLimits(
            max_head_bytes=settings.head_bytes,
            idle_seconds=config.timeout_keep_alive,
            now=time.monotonic(),
        )
        self.queue = RequestQueue()
        self.direct: DirectAnswers | None = None
        if settings.layer is not None:
            self.direct = settings.layer.answers_on(self)
        # The bytes of a head that came in one piece, while that piece is parsed.
        self._raw: bytes | None = None
        # The scheduled call that parses queued bytes.
        self._turn: asyncio.Handle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Compare the number of connections with its limit."""
        super().connection_made(transport)
        self.flow = QueueFlow(transport, self.queue)
        limit = self._settings.connections
        if len(self.connections) > limit:
            close_longest_idle(self.connections, limit, now=time.monotonic())
        if len(self.connections) > limit:
            self.app, self.direct, self.ws_protocol_class = self._settings.refuse, None, None

    def connection_lost(self, exc: Exception | None) -> None:
        """Also drop the queued requests and the answer that is sent directly."""
        self.queue.take_all()
        super().connection_lost(exc)
        if self.direct is not None:
            self.direct.leave()

    def data_received(self, data: bytes) -> None:
        """Answer a whole plain request directly; parse all other bytes, now or when the earlier
        requests are answered."""
        limits, queue = self.limits, self.queue
        if limits.state == "refused":
            return
        if self.direct is not None and limits.is_free and not queue:
            raw, end, body = data.partition(HEAD_END)
            if end and self.direct.take_packet(raw, body):
                if self.direct.current is not None:
                    limits.end_request(time.monotonic())
                return
        if queue.passes(data):
            self._parse(data)
            return
        has_to_wait = bool(queue) or limits.waits_for_server
        queue.add(data)
        if has_to_wait:
            self._wait_in_queue()
        else:
            self._parse_queued()

    def _parse_queued(self) -> None:
        """Parse at most one request of the queued bytes; the rest waits for a later turn."""
        self._turn = None
        if self.limits.waits_for_server:
            return
        queue, was_long = self.queue, self.queue.is_long
        for _ in range(PIECES_PER_TURN):
            if not queue or self.limits.state == "refused" or self.transport.is_closing():
                queue.take_all()
                break
            self._parse(queue.take_piece())
            if self.limits.is_between_requests:
                break
        if was_long and not queue.is_long:
            self.flow.resume_reading()
        if queue:
            self._wait_in_queue()
            self._parse_next_turn()

    def _wait_in_queue(self) -> None:
        """Pause reading if many bytes are queued; abort if all connections queue too many."""
        if self.queue.exceeds_total:
            self.queue.take_all()
            self.transport.abort()
        elif self.queue.is_long:
            self.flow.pause_reading()

    def _parse_next_turn(self) -> None:
        """Schedule `_parse_queued` for the next turn of the event loop, if bytes are queued."""
        if self.queue and self._turn is None and not self.limits.waits_for_server:
            self._turn = self.loop.call_soon(self._parse_queued)

    def _parse(self, data: bytes) -> None:
        """Parse bytes of one request; refuse too large heads, and pause reading if a body waits."""
        limits = self.limits
        limits.add_bytes(len(data), time.monotonic())
        is_head = limits.is_between_requests and data.endswith(HEAD_END)
        self._raw = data[: -len(HEAD_END)] if is_head else None
        super().data_received(data)
        if self.transport.is_closing():
            return
        if limits.is_head_too_large:
            self._refuse(431, "The request's headers or trailers are too large.")
        elif limits.state == "body" and self._waits_for_room():
            # The application resumes reading when it reads the rest.
            self.flow.pause_reading()

    def on_message_begin(self) -> None:
        """Start the time limit of a request's head."""
        super().on_message_begin()
        self.limits.begin_head(time.monotonic())

    def on_header(self, name: bytes, value: bytes) -> None:
        """Pass on a header without trailing blanks; ignore trailers, which could act as headers."""
        if self.limits.state == "head":
            super().on_header(name, value.rstrip(BLANKS))
        else:
            self.limits.add_trailer(len(name) + len(value) + 4)

    def on_headers_complete(self) -> None:
        """Begin a request: directly, in a cycle of uvicorn, or again without an unsupported
        upgrade."""
        self.limits.begin_body(time.monotonic())
        if self._declines_upgrade():
            return
        self.queue.begin_body(announced_length(self.scope, unknown=0))
        if not self._begin_directly():
            self._start_cycle()

    def _begin_directly(self) -> bool:
        """Begin a request that is answered directly; return False for any other."""
        parser, raw = self.parser, self._raw
        self._raw = None
        return self.direct is not None and self.direct.begin(
            ParsedHead(
                parser.get_method(),
                self.url,
                parser.get_http_version(),
                self.headers,
                keep_alive=parser.should_keep_alive(),
                expects=self.expect_100_continue or parser.should_upgrade(),
            ),
            raw,
        )

    def _start_cycle(self) -> None:
        """Let uvicorn's cycle answer the request, or upgrade the connection."""
        previous = self.cycle
        super().on_headers_complete()
        cycle = self.cycle
        if cycle is not previous and cycle.keep_alive:
            keep_alive = self._settings.keep_alive_headers
            cycle.default_headers = [*cycle.default_headers, *keep_alive]

    def on_body(self, body: bytes) -> None:
        """Pass on a piece of a body."""
        self.limits.add_content()
        if self.direct is not None and self.direct.current is not None:
            self.direct.add(body)
        else:
            super().on_body(body)

    def on_message_complete(self) -> None:
        """End a request: answer it directly, or let its cycle see the end."""
        if self._declines_upgrade():
            return
        self.queue.end_request()
        if self.direct is not None and self.direct.current is not None:
            self.limits.end_request(time.monotonic())
            self.direct.complete()
            return
        super().on_message_complete()
        # The response may have been sent before the body was complete.
        is_answered = self.cycle is not None and self.cycle.response_complete
        self.limits.end_request(time.monotonic(), is_answered=is_answered)

    def on_response_complete(self) -> None:
        """Do as uvicorn does without its keep-alive timer, which `close_if_stalled` replaces."""
        self.server_state.total_requests += 1
        self.limits.end_answer(time.monotonic())
        if self.transport.is_closing():
            return
        self.flow.resume_reading()
        self._parse_next_turn()

    def pause_writing(self) -> None:
        """Also stop the stream that is sent directly."""
        super().pause_writing()
        if self.direct is not None:
            self.direct.block()

    def resume_writing(self) -> None:
        """Also go on with the stream that is sent directly."""
        super().resume_writing()
        if self.direct is not None:
            self.direct.unblock()

    def shutdown(self) -> None:
        """Close the connection as uvicorn does, after a request that is answered directly."""
        if self.direct is None or not self.direct.close_after_current():
            super().shutdown()

    def _declines_upgrade(self) -> bool:
        """Return True if the client offers an upgrade that the server does not support."""
        if not self.parser.should_upgrade() or self.parser.get_method() == b"CONNECT":
            return False
        return not self._should_upgrade()

    def _should_upgrade(self) -> bool:
        """Return True for a WebSocket handshake that uvicorn supports; only a GET starts one."""
        return self.parser.get_method() == b"GET" and super()._should_upgrade()

    def _unsupported_upgrade_warning(self) -> None:
        """Parse the head again without its unsupported Upgrade, which would hide the body."""
        if not self._declines_upgrade():
            return
        method, version = self.parser.get_method(), self.parser.get_http_version().encode()
        lines = [b"%b: %b\r\n" % pair for pair in self.headers if pair[0] != b"upgrade"]
        head = b"%b %b HTTP/%b\r\n%b\r\n" % (method, self.url, version, b"".join(lines))
        self.parser = type(self.parser)(self)
        self.parser.set_dangerous_leniencies(lenient_data_after_close=True)
        self._raw = None
        super().data_received(head)

    def handle_websocket_upgrade(self) -> None:
        """Open a WebSocket directly; leave any other to uvicorn and the application."""
        # Further bytes belong to the new protocol.
        self.limits.upgrade()
        if self.direct is not None:
            if self.direct.open_websocket(self.url, self.headers):
                return
            self.direct.leave()
        self.queue.take_all()
        super().handle_websocket_upgrade()

    # What direct answers need of a connection.

    @property
    def is_writable(self) -> bool:
        return not self.flow.write_paused

    async def wait_until_writable(self) -> None:
        await self.flow.drain()

    def server_headers(self, *, is_last: bool) -> tuple[tuple[bytes, bytes], ...]:
        keep_alive = () if is_last else self._settings.keep_alive_headers
        return (*self.server_state.default_headers, *keep_alive)

    def end_answer(self) -> None:
        self.on_response_complete()

    def start_task(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        task = self.loop.create_task(work)
        self.tasks.add(task)
        task.add_done_callback(self.tasks.discard)
        return task

    def hand_over(self) -> bytes:
        self.connections.discard(self)
        if self.direct is not None:
            self.direct.leave()
        return self.queue.take_all()

    def close_if_stalled(self, now: float) -> None:
        """Close a connection whose client is idle, reads nothing, or does not complete a head or
        body in time (408)."""
        transport = self.transport
        if self.limits.is_unread(now, transport.get_write_buffer_size()):
            transport.abort()
        if transport.is_closing():
            return
        is_crowded = len(self.connections) >= self._settings.connections
        remedy = self.limits.find_remedy(
            now, is_crowded=is_crowded, is_paused=self.flow.read_paused
        )
        match remedy:
            case "abort":
                transport.abort()
            case "close":
                transport.close()
            case "late_head":
                self._refuse(408, "The request's headers were not complete in time.")
            case "late_body":
                self._refuse(408, "The request's body was not complete in time.")

    def _waits_for_room(self) -> bool:
        """Return True if the application has not read bytes of a large or unbounded body."""
        large = announced_length(self.scope, unknown=SMALL_BODY + 1) > SMALL_BODY
        cycle = self.cycle
        return large and not cycle.response_complete and bool(cycle.body)

    def _refuse(self, status: int, message: str) -> None:
        """Send an error without a provider's envelope, and close the connection a moment later: a
        client that still sends would see a reset in place of the error."""
        if self.direct is not None and self.direct.current is not None:
            self.direct.leave()
        elif self.limits.state == "body":
            cycle = self.cycle
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
        self.limits.refuse(time.monotonic())
        self.flow.resume_reading()
        self.transport.write(b"".join((*head, body)))
        self.transport.write_eof()


def close_longest_idle(connections: MutableSet[Any], limit: int, *, now: float) -> None:
    """Close connections that are idle for CROWDED_SECONDS, the longest idle first, and count them
    no longer. A part is closed at a time, because finding them takes a millisecond."""
    idle = [
        (since, number, connection)
        for number, connection in enumerate(connections)
        if isinstance(connection, HttpConnection)
        and (since := connection.limits.idle_since) is not None
        and now - since > CROWDED_SECONDS
        and not connection.transport.is_closing()
    ]
    for _, _, connection in nsmallest(max(limit // CLOSED_PART, 1), idle):
        connection.transport.close()
        connections.discard(connection)


def close_stalled_connections(connections: Iterable[Any]) -> None:
    """Close stalled connections; called about every second, which is cheaper than timers."""
    now = time.monotonic()
    for connection in list(connections):
        # uvicorn's own WebSockets have timers.
        if check := getattr(connection, "close_if_stalled", None):
            check(now)
