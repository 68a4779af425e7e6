"""A reply on its way to the client, and what became of it: told once, when it has ended."""

import asyncio
import math
import time
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing
from dataclasses import replace
from typing import Protocol

from scenarios_app.engine.canonical import ErrorAnswer
from scenarios_app.serving.exchange import Exchange
from scenarios_app.serving.options import Options
from scenarios_app.serving.reply import PIECE_BYTES, Ending, Reply, Sent, count_events
from scenarios_app.wire.base import Headers

MAX_STREAM_SECONDS = 600.0
# A drain can begin at any moment, from a signal and for every event loop of the process at once:
# a sleeping answer looks up this often (seconds) to see it.
LOOK_UP = 0.25


def never() -> float:
    return math.inf


def _nothing() -> None:
    """What there is to do before the last piece."""


async def play(
    reply: Reply,
    *,
    drain_at: Callable[[], float] = never,
    max_seconds: float = MAX_STREAM_SECONDS,
    clock: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ending: Callable[[], None] = _nothing,
) -> AsyncGenerator[bytes, None]:
    """The pieces of a reply's body. The first is given when the head is due, and may be empty;
    a reply that is never started gives none. `ending` is called before the piece that ends it.

    A stream that is not through at `drain_at()` (by `clock`), or `max_seconds` after its head,
    ends there with the provider's in-stream error. The taker of the pieces sets the pace: what
    became due in the meantime is the next piece.
    """
    start = clock() + reply.delay
    may_stop = reply.streaming or not reply.started

    def end() -> float:
        return min(drain_at(), start + max_seconds) if may_stop else math.inf

    async def reach(due: float) -> bool:
        while (now := clock()) < due:
            if (stop := end()) <= now:
                return False
            await sleep(min(due, stop, now + LOOK_UP) - now)
        return True

    in_time = await reach(start)
    if not reply.started:
        return
    frames, sent = iter(reply.frames), 0
    frame = next(frames, None)
    while in_time:
        now, size, pieces = clock(), 0, []
        while frame is not None and start + frame.at <= now and size < PIECE_BYTES:
            pieces.append(frame.data)
            size += len(frame.data)
            frame = next(frames, None)
        piece = b"".join(pieces)
        if frame is None:
            ending()
            yield piece
            return
        sent += count_events(piece)
        yield piece
        if size >= PIECE_BYTES:
            # Others have their turn, however fast this one is taken.
            await sleep(0)
        in_time = clock() < end() and await reach(start + frame.at)
    yield reply.error_frame(sent, _ended(drain_at() <= clock(), max_seconds))


def _ended(drained: bool, max_seconds: float) -> ErrorAnswer:
    if drained:
        return ErrorAnswer(503, "The server is shutting down.")
    return ErrorAnswer(504, f"The stream was ended: it may last {max_seconds:g} seconds.")


UNSUPPORTED: Headers = (("x-mockllm-fault", "unsupported"),)


class Home(Protocol):
    """Whose an answer is: it is asked when answers have to end, gives another in place of one that
    cannot be given, and is told once what became of it."""

    @property
    def options(self) -> Options: ...
    def drain_at(self) -> float: ...
    def instead(self, exchange: Exchange, error: ErrorAnswer, headers: Headers) -> Reply: ...
    def ended(self, exchange: Exchange, sent: Sent) -> None: ...


class Answer:
    """Played by exactly one door. `reply` is settled once the first piece has come. Without an
    exchange nobody is told of it."""

    def __init__(self, reply: Reply, exchange: Exchange | None, home: Home) -> None:
        self.reply = reply
        self._exchange = exchange
        self._home = home
        self._over = False
        self._body: list[bytes] = []
        self._size = 0
        self._first_at: float | None = None
        self._replaced = False

    def __del__(self) -> None:
        # A door that was given up before it began has nothing else to tell us by.
        self._end(gone=True)

    @property
    def cuts(self) -> bool:
        """Whether the connection has to be closed to give this reply."""
        return self.reply.ending is Ending.CUT

    @property
    def at_once(self) -> bool:
        """Whether everything is due now, so that nobody has to wait for anything."""
        reply = self.reply
        return (
            not reply.delay
            and reply.ending is Ending.COMPLETE
            and isinstance(reply.frames, tuple)
            and all(not frame.at for frame in reply.frames)
        )

    def without_cut(self) -> None:
        """Give an error in place of a reply that closes the connection, where that cannot be."""
        if self.cuts:
            message = (
                "This step closes the connection, which works under uvicorn and daphne and in "
                "process, but not on this server."
            )
            self._replace(ErrorAnswer(500, message), UNSUPPORTED)

    def give_at_once(self) -> bytes:
        """The body of an answer that is due at once; the door calls `through` when it has left."""
        body = self.reply.body
        self._note(body)
        return body

    def through(self) -> None:
        """Everything has left that was going to."""
        self._end()

    async def pieces(self) -> AsyncGenerator[bytes, None]:
        """The pieces of the body as they become due; the first, maybe empty, brings the head.

        None at all comes where the connection closes without an answer.
        """
        whole = through = False

        def ending() -> None:
            nonlocal whole
            whole = True

        try:
            await self._wait()
            playing = play(
                self.reply,
                drain_at=self._home.drain_at,
                max_seconds=self._home.options.max_stream_seconds,
                ending=ending,
            )
            async with aclosing(playing) as pieces:
                async for piece in pieces:
                    self._note(piece)
                    yield piece
            through = True
        finally:
            self._end(gone=not (through or whole), early=through and not whole)

    async def _wait(self) -> None:
        """Wait out a whole answer's delay, which a server that is told to stop cuts short."""
        reply = self.reply
        if reply.streaming or not reply.started or not reply.delay:
            return
        held = replace(reply, started=False, ending=Ending.CUT)
        async with aclosing(play(held, drain_at=self._home.drain_at)) as pieces:
            async for _ in pieces:
                pass
        self.reply = replace(reply, delay=0.0)
        if self._home.drain_at() <= time.monotonic():
            self._replace(ErrorAnswer(503, "The server is shutting down.", retry_after_ms=1000))

    def _replace(self, error: ErrorAnswer, headers: Headers = ()) -> None:
        if self._exchange is not None:
            self.reply = self._home.instead(self._exchange, error, headers)
            self._replaced = True

    def _note(self, piece: bytes) -> None:
        if self._first_at is None:
            self._first_at = time.monotonic()
        if self._size < self._home.options.journal_body_bytes:
            self._body.append(piece)
        self._size += len(piece)

    def _end(self, *, gone: bool = False, early: bool = False) -> None:
        if self._over or self._exchange is None:
            return
        self._over = True
        body, early = tuple(self._body), early or self._replaced
        sent = Sent(self.reply, body, self._size, gone, early, self._first_at)
        self._home.ended(self._exchange, sent)
