"""An answer that comes from upstream: passed on as it comes, unchanged, and kept beside that: what
was asked, and each piece of the answer with its time."""

import time
from collections.abc import AsyncGenerator, Callable, Iterator
from contextlib import aclosing
from dataclasses import dataclass
from typing import Final

import httpx2
from msgspec.structs import replace

from scenarios_app.recording import Interaction, RecordedResponse
from scenarios_app.recording.bodies import Reader, TooLong, Unreadable, reader_of
from scenarios_app.recording.redaction import redacted
from scenarios_app.serving.exchange import Exchange
from scenarios_app.serving.executor import run_in_thread
from scenarios_app.serving.playback import Answer, ReplyObserver
from scenarios_app.serving.recorder.recordings import Recording
from scenarios_app.serving.recorder.upstream import (
    Outgoing,
    UpstreamFailed,
    asked,
    passed_headers,
    raw_headers,
)
from scenarios_app.serving.reply import Ending, Reply
from scenarios_app.wire.base import Headers

_STREAM = "text/event-stream"
# Taking secrets out of more takes a while.
_SMALL = 65_536
LEFT: Final = "the client left before the answer's end: what had come until then is kept"
CUT: Final = "the upstream ended the connection before the answer's end"
HALF: Final = "the upstream ended its answer in the midst of its compression"
SILENT: Final = "the upstream fell silent before the answer's end"
# What its bytes decide, which are kept decompressed.
_FRAMING: Final = frozenset({"content-encoding", "content-length"})


class Tape:
    """What is kept of one answer, at most so many bytes of it. `clock` gives seconds; the request
    ends when the tape is made."""

    def __init__(
        self, out: Outgoing, *, most: int, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._out = out
        self._most = most
        self._clock = clock
        self._began = clock()
        self._status = 0
        self._headers: Headers = ()
        self._chunks: list[tuple[float, bytes]] = []
        self._reader: Reader | None = None
        self._notes: list[str] = []
        self.cut = False
        self.problem = ""
        """Why nothing can be kept of the answer, if that is so."""

    def head(self, status: int, headers: Headers, *, encoding: str) -> None:
        """The answer's head has come."""
        self._status = status
        self._headers = tuple(header for header in headers if header[0] not in _FRAMING)
        try:
            self._reader = reader_of(encoding, most=self._most)
        except Unreadable as error:
            self.problem = str(error)

    def piece(self, data: bytes) -> None:
        """A piece of the answer's body has come."""
        if self._reader is None or not data:
            return
        try:
            kept = self._reader.read(data)
        except TooLong as more:
            kept, self._reader = more.beginning, None
            self.cut = True
            self.note(f"the answer is longer than the {self._most:,} bytes that are kept of one")
        except Unreadable as error:
            kept, self._reader = b"", None
            self.problem = str(error)
        if kept:
            at = round((self._clock() - self._began) * 1000, 3)
            self._chunks.append((at, kept))

    def end(self) -> None:
        """The answer has come to its end, as its framing says."""
        if self._reader is not None and not self._reader.whole:
            self.cut = True
            self.note(HALF)

    def note(self, text: str) -> None:
        """Something that people should know of it."""
        self._notes.append(text)

    def interaction(self) -> Interaction:
        """What was recorded, with nothing secret in it."""
        return redacted(
            Interaction(
                self._out.recorded,
                RecordedResponse(self._status, self._headers, tuple(self._chunks), cut=self.cut),
                tuple(self._notes),
            ),
            keys=self._out.keys,
        )


@dataclass(frozen=True, slots=True)
class UpstreamCall:
    """A call on its way upstream: what is sent, for which recording, how long the upstream may be
    silent (seconds), and how many bytes of its answer are kept."""

    out: Outgoing
    recording: Recording
    seconds: float
    most: int


class ProxiedResponse(Answer):
    """Played by a door as any answer is, though nobody knows it before it comes."""

    __slots__ = ("_kept", "_passed", "_size_kept", "_tape")

    def __init__(self, passed: UpstreamCall, exchange: Exchange, observer: ReplyObserver) -> None:
        super().__init__(Reply(502, started=False), exchange, observer)
        exchange.passed = True
        self._passed = passed
        self._tape = Tape(passed.out, most=passed.most)
        self._kept: Interaction | None = None

    @property
    def is_immediate(self) -> bool:
        return False

    @property
    def may_close_connection(self) -> bool:
        return True

    def replace_cut_with_error(self) -> None:
        """Nobody knows yet whether it is cut."""

    async def pieces(self) -> AsyncGenerator[bytes, None]:
        """The first piece is empty and brings the head, as soon as the upstream's is there."""
        place = self._passed.recording.begin()
        problem, through = "", False
        try:
            async with aclosing(self._received()) as received:
                async for piece in received:
                    self.record_sent(piece)
                    yield piece
            through = True
            if self._size > _SMALL:
                await run_in_thread(self._keep)
        except UpstreamFailed as failed:
            problem, self._first_at = failed.error.message, time.monotonic()
            self.reply = self._observer.replacement_reply(self._exchange_there(), failed.error, ())
            self._replaced = through = True
            self._kept = None
            body = self.reply.body
            self.record_sent(body)
            self._finish(place, problem=problem, gone=False)
            yield body
        finally:
            self._finish(place, problem=problem, gone=not through)

    async def _received(self) -> AsyncGenerator[bytes, None]:
        """The pieces of the upstream's answer; raises UpstreamFailed where there is none."""
        tape, out = self._tape, self._passed.out
        async with asked(out, seconds=self._passed.seconds) as response:
            headers = raw_headers(response)
            passed = passed_headers(headers)
            tape.head(
                response.status_code,
                passed,
                encoding=response.headers.get("content-encoding", ""),
            )
            self._open(Reply(response.status_code, passed))
            yield b""
            assert isinstance(response.stream, httpx2.AsyncByteStream)
            try:
                async for piece in response.stream:
                    tape.piece(piece)
                    yield piece
                tape.end()
            except httpx2.TimeoutException:
                self._cut(SILENT)
            except httpx2.TransportError:
                self._cut(CUT)

    def _open(self, reply: Reply) -> None:
        exchange = self._exchange_there()
        types = [value for name, value in reply.headers if name == "content-type"]
        wire = exchange.wire if any(_STREAM in value.lower() for value in types) else None
        self.reply = self._observer.with_mockllm_headers(exchange, replace(reply, wire=wire))

    def _cut(self, note: str) -> None:
        self._tape.cut = True
        self._tape.note(note)
        self.reply = replace(self.reply, ending=Ending.CUT)

    def _exchange_there(self) -> Exchange:
        assert self._exchange is not None
        return self._exchange

    def _keep(self) -> None:
        if self._kept is None:
            self._kept = self._tape.interaction()

    def _finish(self, place: int | None, *, problem: str, gone: bool) -> None:
        """Tell the recording and the journal, once, what became of it."""
        if self._over:
            return
        if gone:
            self._tape.note(LEFT)
        tape = self._tape
        if not problem and self.reply.started:
            self._keep()
            self.reply = self._without_secrets()
            problem = tape.problem and f"An answer of {self._passed.out.place}: {tape.problem}."
        self._passed.recording.end(place, None if problem else self._kept, problem)
        self._end(gone=gone)

    def _without_secrets(self) -> Reply:
        """The reply as the journal may have it: an upstream may repeat a key in a header too."""
        assert self._kept is not None
        known = dict(self._kept.response.headers)
        headers = tuple((name, known.get(name, value)) for name, value in self.reply.headers)
        return replace(self.reply, headers=headers)

    def _beginning(self) -> Iterator[bytes]:
        """What the journal keeps has no secret in it that the upstream may have repeated."""
        if self._kept is None:
            yield self._last
            return
        for _, piece in self._kept.response.chunks:
            yield piece
