"""Sends one answer on a connection: a stream by timers of the event loop, any other answer that is
not due by a task."""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable
from contextlib import aclosing
from functools import lru_cache
from http import HTTPStatus
from typing import TypeAlias

from scenarios_app.serving.fast.connection import DirectConnection
from scenarios_app.serving.playback import Answer
from scenarios_app.serving.reply import PIECE_BYTES, Reply
from scenarios_app.wire.base import Headers

log = logging.getLogger(__name__)

LAST_CHUNK = b"0\r\n\r\n"
_CLOSE = b"connection: close\r\n"
_CHUNKED = b"transfer-encoding: chunked\r\n\r\n"


class ResponseWriter:
    """Writes one response; `is_last` closes the connection after it."""

    def __init__(self, connection: DirectConnection, *, is_last: bool) -> None:
        self.is_last = is_last
        self._connection = connection
        self._has_started = False

    def write(self, reply: Reply, piece: bytes, *, is_over: bool = False) -> None:
        """Write a piece of the body, the first after the head; `is_over` for the last one. Raises
        ValueError for headers that would break the response."""
        data = encode_chunk(piece) if reply.streaming else piece
        if not self._has_started:
            self._has_started = True
            lines = encode_headers(reply.headers)
            if lines is None:
                raise ValueError("a header of the answer has a line end in it")
            data = self._encode_head(reply.status, lines, chunked=reply.streaming) + data
        if is_over and reply.streaming:
            data += LAST_CHUNK
        if data:
            self._connection.transport.write(data)
        if is_over:
            self._end()

    def write_whole(self, status: int, lines: bytes, body: bytes, *, chunked: bool) -> None:
        """Write a whole response with these header lines."""
        if chunked:
            body = encode_chunk(body) + LAST_CHUNK
        head = self._encode_head(status, lines, chunked=chunked)
        self._connection.transport.write(head + body)
        self._end()

    def cut(self) -> None:
        """Close the connection after the written bytes, which may be none."""
        self._connection.transport.close()

    def _encode_head(self, status: int, lines: bytes, *, chunked: bool) -> bytes:
        """Return the head of the response."""
        ours = _server_lines(*self._connection.server_headers(is_last=self.is_last))
        end = (_CLOSE if self.is_last else b"") + (_CHUNKED if chunked else b"\r\n")
        return b"".join((_status_line(status), ours, lines, end))

    def _end(self) -> None:
        """End the exchange after the last byte."""
        if self.is_last:
            self._connection.transport.close()
        self._connection.end_answer()


class TimedDelivery:
    """Sends a stream by timers, without a task. `end` is called before its last piece."""

    def __init__(self, answer: Answer, writer: ResponseWriter, *, end: Callable[[], None]) -> None:
        self.writer = writer
        self._answer = answer
        self._player = answer.player()
        self._end = end
        self._loop = asyncio.get_running_loop()
        self._timer: asyncio.TimerHandle | None = None
        self._is_blocked = False

    def go_on(self) -> None:
        """Write the due pieces, and set a timer for the rest."""
        self._timer = None
        if self._is_blocked:
            return
        now, player = time.monotonic(), self._player
        move = player.next(now)
        if isinstance(move, bytes):
            self._send(move)
            if player.over or self._is_blocked:
                return
            # After this many bytes the event loop runs other tasks, even if the client reads fast.
            again = now if len(move) >= PIECE_BYTES else player.again
        elif move is None:
            return
        else:
            again = move
        self._timer = self._loop.call_later(again - now if again > now else 0, self.go_on)

    def block(self) -> None:
        """Stop writing until `unblock`, because the client reads too slowly."""
        self._is_blocked = True

    def unblock(self) -> None:
        """Write the pieces that became due meanwhile."""
        self._is_blocked = False
        if self._timer is None:
            self.go_on()

    def leave(self) -> None:
        """Stop writing, because the client disconnected."""
        self._is_blocked = True
        if self._timer is not None:
            self._timer.cancel()
        self._answer.abort()

    def _send(self, piece: bytes) -> None:
        """Record and write a piece."""
        is_over = self._player.over
        self._answer.record_sent(piece)
        if is_over:
            # First the journal: who has an answer may look there at once.
            self._answer.finish(early=not self._player.whole)
            self._end()
        self.writer.write(self._answer.reply, piece, is_over=is_over)


class TaskDelivery:
    """Sends an answer in a task: one that is not there yet, is delayed or cut, or has a client that
    reads too slowly. `end` is called before its last byte."""

    def __init__(
        self,
        answer: Answer | Awaitable[Answer],
        writer: ResponseWriter,
        *,
        connection: DirectConnection,
        end: Callable[[], None],
    ) -> None:
        self.writer = writer
        self._connection = connection
        self._end = end
        self._task = connection.start_task(self._send(answer))

    def block(self) -> None:
        """Do nothing: the task waits for a client that reads too slowly."""

    def unblock(self) -> None:
        """Do nothing, as `block`."""

    def leave(self) -> None:
        """Stop writing, because the client disconnected."""
        self._task.cancel()

    async def _send(self, answer: Answer | Awaitable[Answer]) -> None:
        """Send the answer; close the connection if that fails."""
        try:
            await self._send_pieces(answer if isinstance(answer, Answer) else await answer)
        except Exception:
            log.exception("an answer could not be sent")
            self._end()
            self.writer.cut()

    async def _send_pieces(self, answer: Answer) -> None:
        """Send the pieces of the answer when they are due and the client reads."""
        async with aclosing(answer.pieces()) as pieces:
            async for piece in pieces:
                await self._connection.wait_until_writable()
                self.writer.write(answer.reply, piece)
        self._end()
        if answer.reply.cut:
            self.writer.cut()
        else:
            self.writer.write(answer.reply, b"", is_over=True)


Delivery: TypeAlias = TimedDelivery | TaskDelivery


def encode_chunk(data: bytes) -> bytes:
    """Return a chunk of a chunked body; nothing without data."""
    return b"%x\r\n%b\r\n" % (len(data), data) if data else b""


def encode_headers(headers: Headers) -> bytes | None:
    """Return the lines of headers, or None if a line end in one would break the response."""
    lines = "\r\n".join(map(": ".join, (*headers, _END)))
    if lines.count("\n") != len(headers) or lines.count("\r") != len(headers):
        return None
    return lines.encode("latin-1")


# After the last of the headers.
_END = ("",)


@lru_cache(maxsize=4)
def _server_lines(*headers: tuple[bytes, bytes]) -> bytes:
    """Return the header lines that all responses of one second share."""
    return b"".join(b"%b: %b\r\n" % header for header in headers)


@lru_cache(maxsize=1_000)
def _status_line(status: int) -> bytes:
    try:
        phrase = HTTPStatus(status).phrase
    except ValueError:
        phrase = ""
    return f"HTTP/1.1 {status} {phrase}\r\n".encode()
