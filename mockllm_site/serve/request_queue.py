"""Limits HTTP pipelining: requests that a client sends before the earlier ones are answered.

uvicorn parses all of them and queues a task for each, however many there are and whether or not
their answers are read. Here the parser gets one request at a time. The bytes after it are held
until it is answered, and reading pauses while many are held.
"""

import asyncio
from typing import ClassVar

from uvicorn.protocols.http.flow_control import FlowControl

from scenarios_app.serving.transports.asgi_scope import announced_length
from scenarios_app.serving.transports.uvicorn_protocol import HEAD_END, UvicornProtocol

# A connection with more held bytes is not read.
MAX_HELD_BYTES = 65_536
# Limit for all connections together; the connection that exceeds it is closed.
MAX_ALL_HELD_BYTES = 16_777_216
# A chunked body is parsed in pieces that end where the body may end. After this many pieces the
# event loop runs other tasks.
PIECES_PER_TURN = 64


class HoldingFlow(FlowControl):
    """uvicorn's flow control; `resume_reading` does nothing while `holding` is set."""

    holding = False

    def resume_reading(self) -> None:
        """Resume reading unless bytes are held."""
        if self.read_paused and not self.holding:
            super().resume_reading()


class SerialProtocol(UvicornProtocol):
    """One connection, of which each turn of the event loop parses at most one request."""

    flow: HoldingFlow
    _held: bytearray
    # Held bytes of all connections, as last counted by each.
    _all_held_bytes: ClassVar[int] = 0
    _counted_bytes = 0
    # The scheduled call that parses held bytes.
    _turn: asyncio.Handle | None = None
    # Missing bytes of a body with a known length.
    _body_left = 0
    # The last three parsed bytes of an unfinished head or body.
    _tail = b""
    # True if a request was completed in this turn.
    _request_ended = False

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self.flow = HoldingFlow(transport)
        self._held = bytearray()

    def connection_lost(self, exc: Exception | None) -> None:
        self._drop_held()
        super().connection_lost(exc)

    def on_headers_complete(self) -> None:
        """Store the announced length of the body, whose bytes belong to this request."""
        self._body_left = announced_length(self.scope, unknown=0)
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        """Note the end of the request; following bytes belong to another."""
        self._request_ended, self._body_left, self._tail = True, 0, b""
        super().on_message_complete()

    def _parse(self, data: bytes) -> None:
        """Parse received bytes now, or hold them until earlier requests are answered."""
        if not self._held and len(data) <= self._body_left:
            self._feed(data)
            return
        was_holding = bool(self._held)
        self._held += data
        if was_holding or self._is_answering():
            self._hold()
        else:
            self._parse_held()

    def _parse_held(self) -> None:
        """Parse at most one request of the held bytes; hold the rest for a later turn."""
        self._turn = None
        if self._is_answering():
            return
        held, self._request_ended = self._held, False
        for _ in range(PIECES_PER_TURN):
            if not held or self._request_ended or self._has_ended_parsing():
                break
            size = self._piece_size()
            piece = bytes(held[:size])
            del held[:size]
            self._feed(piece)
        if self._has_ended_parsing():
            self._drop_held()
        elif held:
            self._hold()
            if not self._is_answering():
                self._parse_next_turn()
        else:
            self._count_held()

    def _piece_size(self) -> int:
        """Return how many held bytes may be parsed without the beginning of a next request."""
        held, tail = self._held, self._tail
        if self._body_left:
            return min(self._body_left, len(held))
        if tail and (head_end := (tail + held[:3]).find(HEAD_END)) >= 0:
            return head_end + len(HEAD_END) - len(tail)
        head_end = held.find(HEAD_END)
        return len(held) if head_end < 0 else head_end + len(HEAD_END)

    def _is_answering(self) -> bool:
        """Return True if a request is complete and its answer is not."""
        return self._is_between_requests and not (
            self.cycle is None or self.cycle.response_complete
        )

    def _hold(self) -> None:
        """Count the held bytes: pause reading of many, abort if all connections hold too many."""
        self._count_held()
        if SerialProtocol._all_held_bytes > MAX_ALL_HELD_BYTES:
            self._drop_held()
            self.transport.abort()
        elif len(self._held) > MAX_HELD_BYTES:
            self.flow.pause_reading()
            self.flow.holding = True

    def _parse_next_turn(self) -> None:
        """Schedule `_parse_held` for the next turn of the event loop, if bytes are held."""
        if self._held and self._turn is None:
            self._turn = self.loop.call_soon(self._parse_held)

    def _drop_held(self) -> None:
        """Discard the held bytes, which will not be answered."""
        self._held = bytearray()
        self._count_held()

    def _count_held(self) -> None:
        """Update the count of held bytes of all connections; resume reading if few are left."""
        SerialProtocol._all_held_bytes += len(self._held) - self._counted_bytes
        self._counted_bytes = len(self._held)
        if self.flow.holding and self._counted_bytes <= MAX_HELD_BYTES:
            self.flow.holding = False
            self.flow.resume_reading()

    def _feed(self, data: bytes) -> None:
        """Parse bytes that belong to one request."""
        if self._body_left:
            self._body_left -= len(data)
        else:
            self._tail = b"" if data.endswith(HEAD_END) else (self._tail + data[-3:])[-3:]
        super()._parse(data)

    def _has_ended_parsing(self) -> bool:
        """Return True if nothing more is parsed, because the connection is closing."""
        return self.transport.is_closing()
