"""Sends a reply in time, and reports once how that ended. Limits open streams and kept bytes."""

import asyncio
import math
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable, Iterator
from contextlib import aclosing
from threading import RLock
from typing import Protocol

from msgspec.structs import replace

from scenarios_app.engine.canonical import ErrorAnswer
from scenarios_app.serving.exchange import Exchange
from scenarios_app.serving.options import Options
from scenarios_app.serving.reply import (
    PIECE_BYTES,
    Frame,
    LongFrames,
    Reply,
    SentCopy,
    SentPrefix,
    SentReply,
    count_events,
)
from scenarios_app.wire.base import Headers

# A drain can begin at any moment, from a signal and for all event loops at once: a waiting answer
# checks for it at this interval (seconds).
DRAIN_CHECK_SECONDS = 0.25


def never() -> float:
    """Return the drain time of a server that does not shut down."""
    return math.inf


class ProcessLimit:
    """A number of streams or bytes that the process may hold, over all its event loops. `taken` of
    `maximum` are held now. Nothing here waits."""

    def __init__(self, maximum: int) -> None:
        self.maximum = maximum
        self.taken = 0
        # Reentrant: an answer that was never sent frees its stream when it is garbage-collected.
        self._lock = RLock()

    def take(self, count: int = 1) -> bool:
        """Take `count` more; return False, and take none, if that exceeds the limit."""
        with self._lock:
            if self.taken + count > self.maximum:
                return False
            self.taken += count
            return True

    def free(self, count: int = 1) -> None:
        """Give back `count` that were taken."""
        with self._lock:
            self.taken -= count


class Player:
    """Yields the pieces of a reply as they become due: its sender calls `next`.

    The first piece is due with the head and may be empty; a reply that is never started has none. A
    stream that is not complete at `drain_at()`, or `max_seconds` after its head, ends with the
    provider's in-stream error. A slow sender gets all that became due meanwhile as one piece.
    `again` is when to call `next` after a piece. Once `over` is set, `whole` says whether
    everything was sent. Times are seconds of one clock.
    """

    def __init__(
        self, reply: Reply, now: float, *, drain_at: Callable[[], float], max_seconds: float
    ) -> None:
        self.over = self.whole = False
        self._reply = reply
        self._start = self._due = now + reply.delay
        may_stop = reply.streaming or not reply.started
        self._drain_at = drain_at if may_stop else never
        self._end = self._start + max_seconds if may_stop else math.inf
        self._max_seconds = max_seconds
        self._frames: Iterator[Frame] | None = None
        self._frame: Frame | None = None
        self._sent = 0
        self.again = self._due

    def next(self, now: float) -> bytes | float | None:
        """Return the piece that is due, or when to call again, or None at the end."""
        if self.over:
            return None
        stop = self._drain_at()
        if stop > self._end:
            stop = self._end
        frames = self._frames
        if stop <= now and (frames is not None or now < self._due):
            return self._stop_with_error(now)
        if now < self._due:
            return float(min(self._due, stop, now + DRAIN_CHECK_SECONDS))
        if not self._reply.started:
            self.over = True
            return None
        if frames is None:
            return self._first_piece(now, stop)
        frame = self._frame
        assert frame is not None
        return self._piece(frame.data, next(frames, None), now, stop)

    def _first_piece(self, now: float, stop: float) -> bytes:
        """Return the frames that are due at the beginning, joined."""
        frames = self._frames = iter(self._reply.frames)
        frame = next(frames, None)
        if frame is not None and self._start + frame.at <= now:
            return self._piece(frame.data, next(frames, None), now, stop)
        return self._piece(b"", frame, now, stop)

    def _piece(self, piece: bytes, after: Frame | None, now: float, stop: float) -> bytes:
        """Return the due piece with everything else due by now, up to PIECE_BYTES."""
        due = math.inf if after is None else self._start + after.at
        if due <= now and len(piece) < PIECE_BYTES:
            piece, after = self._join_due_frames(piece, after, now)
            due = math.inf if after is None else self._start + after.at
        self._frame = after
        if after is None:
            self.over = self.whole = True
            return piece
        self._due = due
        self._sent += count_events(piece)
        again = now + DRAIN_CHECK_SECONDS
        if due < again:
            again = due
        self.again = stop if stop < again else again
        return piece

    def _join_due_frames(
        self, piece: bytes, after: Frame | None, now: float
    ) -> tuple[bytes, Frame | None]:
        """Return the piece with the frames from `after` on that are due, and the first that is not.
        None if all were due."""
        start, size, pieces, frames = self._start, len(piece), [piece], self._frames
        assert frames is not None
        while after is not None and start + after.at <= now and size < PIECE_BYTES:
            pieces.append(after.data)
            size += len(after.data)
            after = next(frames, None)
        return b"".join(pieces), after

    def _stop_with_error(self, now: float) -> bytes | None:
        """End the reply; return the frame of its error event, or None before the head was sent."""
        self.over = True
        if not self._reply.started:
            return None
        error = ErrorAnswer(503, "The server is shutting down.")
        if self._drain_at() > now:
            message = f"The stream was ended: it may last {self._max_seconds:g} seconds."
            error = ErrorAnswer(504, message)
        return self._reply.error_frame(self._sent, error)


async def play(
    player: Player,
    *,
    clock: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
) -> AsyncGenerator[bytes, None]:
    """Yield the pieces of a player, each when it is due."""
    while not player.over:
        now = clock()
        match player.next(now):
            case bytes(piece):
                yield piece
                if not player.over and len(piece) >= PIECE_BYTES:
                    # Let the event loop run other tasks, even if the client reads fast.
                    await sleep(0)
            case float(moment):
                await sleep(moment - now)


UNSUPPORTED: Headers = (("x-mockllm-fault", "unsupported"),)


class AnswerOwner(Protocol):
    """The pipeline as an answer needs it: says when answers must end, adds mockllm's headers,
    supplies error replies, and journals each sent reply once."""

    @property
    def options(self) -> Options: ...

    def drain_at(self) -> float:
        """Return the monotonic time at which answers must end."""

    def with_mockllm_headers(self, exchange: Exchange, reply: Reply) -> Reply:
        """Return the reply with the headers that name scenario, step and request."""

    def replacement_reply(self, exchange: Exchange, error: ErrorAnswer, headers: Headers) -> Reply:
        """Return an error that takes the place of a reply that cannot be sent."""

    def close_exchange(self, exchange: Exchange, sent: SentReply) -> None:
        """Journal the result of sending; called once for each exchange."""


class Answer:
    """A reply on its way to the client, sent by exactly one transport.

    `reply` is final once the first piece was yielded. Without an exchange nothing is recorded.
    """

    __slots__ = (
        *("reply", "_copy", "_exchange", "_first_at", "_owner", "_last"),
        *("_over", "_player", "_replaced", "_size"),
    )

    def __init__(self, reply: Reply, exchange: Exchange | None, owner: AnswerOwner) -> None:
        self.reply = reply
        self._exchange = exchange
        self._owner = owner
        self._over = False
        self._player: Player | None = None
        self._copy: SentCopy | None = None
        # The bytes of the body that were sent, and the last piece of them.
        self._size = 0
        self._last = b""
        self._first_at: float | None = None
        self._replaced = False

    def __del__(self) -> None:
        # A transport that was dropped before it began to send reports nothing else.
        self._end(gone=True)

    @property
    def is_immediate(self) -> bool:
        """Return whether everything is due now."""
        return self.reply.is_immediate

    def replace_cut_with_error(self) -> None:
        """Replace a reply that closes the connection by an error, for servers that cannot close
        it."""
        if self.reply.cut:
            message = (
                "This step closes the connection, which works under uvicorn and daphne and in "
                "process, but not on this server."
            )
            self._replace_with_error(ErrorAnswer(500, message), UNSUPPORTED)

    def immediate_body(self) -> bytes:
        """Return an immediate answer's body, recorded as sent; call `finish` before sending it."""
        body = self.reply.body
        self.record_sent(body)
        return body

    def finish(self, *, early: bool = False) -> None:
        """Record that the answer was sent. `early`: the server stopped it before its end, because
        of a shutdown, a time limit or a WebSocket fault."""
        self._end(early=early)

    def abort(self) -> None:
        """Record that the client disconnected before the end."""
        self._end(gone=True)

    async def pieces(self) -> AsyncGenerator[bytes, None]:
        """Yield the pieces of the body as they become due; the first, maybe empty, comes with the
        head. Yields nothing if the connection closes without a response."""
        through = False
        try:
            await self._wait()
            async with aclosing(play(self.player())) as pieces:
                async for piece in pieces:
                    self.record_sent(piece)
                    yield piece
            through = True
        finally:
            whole = self._player is not None and self._player.whole
            self._end(gone=not (through or whole), early=through and not whole)

    def player(self) -> Player:
        """Return a new player, which tells a transport when to send which piece. The transport
        reports each piece to `record_sent`, and the end to `finish` or `abort`."""
        options, now = self._owner.options, time.monotonic()
        max_seconds, drain_at = options.max_stream_seconds, self._owner.drain_at
        player = Player(self.reply, now, drain_at=drain_at, max_seconds=max_seconds)
        self._player = player
        if self.reply.streaming and isinstance(self.reply.frames, LongFrames):
            self._copy = SentCopy(options.journal_body_bytes)
        return player

    async def _wait(self) -> None:
        """Wait for a whole response's delay. A shutdown ends the wait; a 503 then replaces the
        reply."""
        reply = self.reply
        if reply.streaming or not reply.started or not reply.delay:
            return
        held = replace(reply, started=False, cut=True)
        drain_at, now = self._owner.drain_at, time.monotonic()
        waiting = Player(held, now, drain_at=drain_at, max_seconds=math.inf)
        async with aclosing(play(waiting)) as pieces:
            async for _ in pieces:
                pass
        self.reply = replace(reply, delay=0.0)
        if self._owner.drain_at() <= time.monotonic():
            self._replace_with_error(
                ErrorAnswer(503, "The server is shutting down.", retry_after_ms=1000)
            )

    def _replace_with_error(self, error: ErrorAnswer, headers: Headers = ()) -> None:
        """Send an error in place of the reply; a reply without an exchange stays."""
        if self._exchange is not None:
            self.reply = self._owner.replacement_reply(self._exchange, error, headers)
            self._replaced = True

    def record_sent(self, piece: bytes) -> None:
        """Record that a piece of the body was sent."""
        if self._first_at is None:
            self._first_at = time.monotonic()
        self._size += len(piece)
        self._last = piece
        if self._copy is not None:
            self._copy.add(piece)

    def _sent_beginning(self) -> Iterable[bytes]:
        """Return the beginning of the sent body for the journal."""
        if self._copy is not None:
            return self._copy
        player, frames = self._player, self.reply.frames
        tail = self._last if player is not None and player.over and not player.whole else b""
        max_bytes = self._owner.options.journal_body_bytes
        beginning = SentPrefix(frames, self._size - len(tail), max_bytes, tail)
        # Frames that hold bytes are released; only their beginning is kept.
        return tuple(beginning) if isinstance(frames, tuple | LongFrames) else beginning

    def _end(self, *, gone: bool = False, early: bool = False) -> None:
        """Close the exchange with the result of sending; only the first call does."""
        if self._over or self._exchange is None:
            return
        self._over = True
        body, early = self._sent_beginning(), early or self._replaced
        sent = SentReply(
            self.reply, body, self._size, gone, early, self._first_at, time.monotonic()
        )
        self._owner.close_exchange(self._exchange, sent)
