"""The server's side of one connection: uvicorn's own, with limits on what it has to wait for.

uvicorn collects a header line that never ends, waits without end for the rest of a request, and
takes connections until the process has no descriptors left.
"""

import asyncio
import time
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, ClassVar

from uvicorn.protocols.http.httptools_impl import STATUS_LINE

from scenarios_app.serving.doors.bodies import SMALL_BODY
from scenarios_app.serving.doors.calls import App, announced_length
from scenarios_app.serving.doors.direct import DirectProtocol, Plain

# How long the head of a request may take, and how long a body may say nothing.
HEAD_SECONDS = 10.0
BODY_SECONDS = 25.0


@dataclass(slots=True)
class Limits:
    """What one process takes: bytes of a head, connections, and the answer to those beyond."""

    head_bytes: int
    connections: int
    busy: App


class GuardedProtocol(DirectProtocol):
    """One connection. `limits` are set once, before the first."""

    limits: ClassVar[Limits]
    # Bytes of a head that is not whole yet, and since when the client is waited for: None while it
    # is the client that waits.
    _head = 0
    _in_head = True
    _refused = False
    _waiting_since: float | None = None
    # Since when nothing is asked: no answer is on its way.
    _idle_since: float | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._waiting_since = time.monotonic()
        self._beyond = len(self.connections) > self.limits.connections

    def data_received(self, data: bytes) -> None:
        if self._refused:
            return
        self._idle_since = None
        if self._in_head:
            self._head += len(data)
        elif self._waiting_since is not None:
            self._waiting_since = time.monotonic()
        super().data_received(data)
        if self.transport.is_closing():
            return
        if self._in_head:
            if self._head > self.limits.head_bytes:
                self._refuse(431, "The request's headers are too large.")
        elif self._waiting_since is not None and self._waits_for_room():
            # The application says when there is room for the rest: it reads then.
            self.flow.pause_reading()

    def _answer_known(self, plain: Plain, body: bytes, data: bytes) -> None:
        # All of the request is there, as after `on_message_complete`.
        self._in_head, self._waiting_since = False, None
        super()._answer_known(plain, body, data)

    def on_message_begin(self) -> None:
        super().on_message_begin()
        # What came before it in the same packet may have been answered by now.
        self._idle_since = None
        if not self._in_head:
            self._in_head, self._head = True, 0
            self._waiting_since = time.monotonic()

    def on_headers_complete(self) -> None:
        self._in_head = False
        self._waiting_since = time.monotonic()
        self.app = self.limits.busy if self._beyond else self.config.loaded_app
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        self._waiting_since = None
        super().on_message_complete()

    def on_response_complete(self) -> None:
        """As uvicorn does it, but for the timer: setting and taking back one for each answer costs
        each of them, and `look` comes by anyway."""
        self.server_state.total_requests += 1
        if self.transport.is_closing():
            return
        self.flow.resume_reading()
        if self.pipeline:
            self._start_asgi_task(*self.pipeline.pop())
        else:
            self._idle_since = time.monotonic()

    def is_free(self) -> bool:
        return not self._beyond and super().is_free()

    def look(self, now: float) -> None:
        """End a connection whose client has let itself be waited for too long."""
        if self.transport.is_closing():
            return
        idle = self._idle_since
        if idle is not None and now - idle > self.timeout_keep_alive:
            self.transport.close()
            return
        since = self._waiting_since
        if since is None or self.flow.read_paused:
            return
        if self._refused:
            self.transport.close()
            return
        if self._in_head:
            if now - since > HEAD_SECONDS:
                if self._head:
                    self._refuse(408, "The request's headers did not come to an end.")
                else:
                    self.transport.close()
        elif now - since > BODY_SECONDS:
            if self.cycle is not None and self.cycle.response_started:
                self.transport.close()
            else:
                self._refuse(408, "The request's body did not come to an end.")

    def _waits_for_room(self) -> bool:
        """Whether the body that is not whole yet is a large one, or does not say how large. What
        comes after an answer is thrown away, and needs none."""
        large = announced_length(self.scope, unknown=SMALL_BODY + 1) > SMALL_BODY
        return large and not self.cycle.response_complete

    def _refuse(self, status: int, message: str) -> None:
        """Say why, and close a moment later: a client that is still sending would see a reset in
        place of the answer. What never became a request has no provider's envelope."""
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


def look_at_all(connections: Iterable[Any]) -> None:
    """Called every second or so: a timer for each request would cost each of them."""
    now = time.monotonic()
    for connection in list(connections):
        if isinstance(connection, GuardedProtocol):
            connection.look(now)
