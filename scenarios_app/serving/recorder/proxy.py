"""Forwards the upstream's response unchanged while it arrives, and records the request and each
piece with its time."""

import time
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Final

from msgspec.structs import replace

from scenarios_app.recording import Interaction, RecordedResponse
from scenarios_app.recording.bodies import BodyReader, BodyTooLong, UnreadableBody, make_body_reader
from scenarios_app.recording.redaction import redact_interaction
from scenarios_app.serving.exchange import Exchange
from scenarios_app.serving.executor import run_in_thread
from scenarios_app.serving.playback import Answer, AnswerOwner
from scenarios_app.serving.recorder.recordings import Recording
from scenarios_app.serving.recorder.upstream import (
    Outgoing,
    UpstreamFailed,
    forwarded_headers,
    open_response,
    raw_headers,
    upstream_error,
)
from scenarios_app.serving.recorder.upstream_socket import SocketCut
from scenarios_app.serving.reply import Reply
from scenarios_app.wire.base import Headers

_STREAM = "text/event-stream"
# Bodies above this size are redacted in a thread.
_SMALL = 65_536
LEFT: Final = "the client left before the answer's end; the part until then is recorded"
CUT: Final = "the upstream ended the connection before the answer's end"
HALF: Final = "the upstream ended its answer in the midst of its compression"
SILENT: Final = "the upstream fell silent before the answer's end"
# Headers that a response's bytes decide, which are kept decompressed.
_FRAMING: Final = frozenset({"content-encoding", "content-length"})


class Tape:
    """Records one response, at most `max_bytes` of it. Times count from the construction, when the
    request was sent."""

    def __init__(self, out: Outgoing, *, max_bytes: int) -> None:
        self._out = out
        self._max_bytes = max_bytes
        self._began = time.monotonic()
        self._status = 0
        self._headers: Headers = ()
        self._chunks: list[tuple[float, bytes]] = []
        self._reader: BodyReader | None = None
        self._notes: list[str] = []
        self.cut = False
        self.problem = ""
        """The reason why nothing of the response can be kept, else empty."""

    def record_head(self, status: int, headers: Headers, *, encoding: str) -> None:
        """Record the response's head, and set how its body is decoded, or `problem`."""
        self._status = status
        self._headers = tuple(header for header in headers if header[0] not in _FRAMING)
        try:
            self._reader = make_body_reader(encoding, max_bytes=self._max_bytes)
        except UnreadableBody as error:
            self.problem = str(error)

    def record_piece(self, data: bytes) -> None:
        """Record a piece of the response's body."""
        if self._reader is None or not data:
            return
        try:
            decoded = self._reader.read(data)
        except BodyTooLong as more:
            decoded, self._reader = more.beginning, None
            self.cut = True
            self.add_note(
                f"the answer is longer than the {self._max_bytes:,} bytes that are recorded"
            )
        except UnreadableBody as error:
            decoded, self._reader = b"", None
            self.problem = str(error)
        if decoded:
            at = round((time.monotonic() - self._began) * 1000, 3)
            self._chunks.append((at, decoded))

    def record_end(self) -> None:
        """Record the end of the response; it counts as cut within a compressed body."""
        if self._reader is not None and not self._reader.is_complete:
            self.cut = True
            self.add_note(HALF)

    def add_note(self, text: str) -> None:
        """Add a note for the reader of the recording."""
        self._notes.append(text)

    def interaction(self) -> Interaction:
        """Return the recorded interaction without secrets."""
        return redact_interaction(
            Interaction(
                self._out.recorded,
                RecordedResponse(self._status, self._headers, tuple(self._chunks), cut=self.cut),
                tuple(self._notes),
            ),
            keys=self._out.keys,
        )


class ProxiedResponse(Answer):
    """An answer whose bytes come from the upstream, sent like any other."""

    __slots__ = ("_kept", "_out", "_own_exchange", "_recording", "_tape")

    def __init__(
        self, out: Outgoing, recording: Recording, exchange: Exchange, owner: AnswerOwner
    ) -> None:
        super().__init__(Reply(502, started=False), exchange, owner)
        exchange.passed = True
        self._own_exchange = exchange
        self._out = out
        self._recording = recording
        self._tape = Tape(out, max_bytes=exchange.options.record_bytes)
        self._kept: Interaction | None = None

    @property
    def is_immediate(self) -> bool:
        """False: the upstream's bytes are not there yet."""
        return False

    def replace_cut_with_error(self) -> None:
        """Do nothing: whether the upstream cuts the response is not known yet."""

    async def pieces(self) -> AsyncGenerator[bytes, None]:
        """Yield the pieces; the first is empty and comes with the head, once the upstream has sent
        its own."""
        place = self._recording.begin()
        problem, through = "", False
        try:
            async with aclosing(self._upstream_pieces()) as received:
                async for piece in received:
                    self.record_sent(piece)
                    yield piece
            through = True
            if self._size > _SMALL:
                await run_in_thread(self._end_recording)
        except UpstreamFailed as failed:
            problem, self._first_at = failed.error.message, time.monotonic()
            self.reply = self._owner.replacement_reply(self._own_exchange, failed.error, ())
            self._replaced = through = True
            self._kept = None
            body = self.reply.body
            self.record_sent(body)
            self._finish(place, problem=problem, gone=False)
            yield body
        finally:
            self._finish(place, problem=problem, gone=not through)

    async def _upstream_pieces(self) -> AsyncGenerator[bytes, None]:
        """Yield the pieces of the upstream's response; raises UpstreamFailed without one."""
        link, seconds = self._own_exchange.call.link, self._own_exchange.options.upstream_seconds
        over_socket = link is not None and await link.upstream.open(self._out, seconds=seconds)
        received = self._socket_pieces() if over_socket else self._http_pieces()
        async with aclosing(received) as pieces:
            async for piece in pieces:
                yield piece

    async def _socket_pieces(self) -> AsyncGenerator[bytes, None]:
        """Yield the messages of the upstream's WebSocket as the events of an HTTP response. Raises
        UpstreamFailed if it ends before the first one."""
        link, seconds = self._own_exchange.call.link, self._own_exchange.options.upstream_seconds
        assert link is not None
        messages = link.upstream.answer(self._out.body, link.turn.stream_id, seconds=seconds)
        problem = ""
        async with aclosing(messages):
            try:
                number = 0
                async for message in messages:
                    if not number:
                        self._begin_reply(*message.head)
                        yield b""
                    piece = message.body_after(number)
                    number += 1
                    self._tape.record_piece(piece)
                    yield piece
                self._tape.record_end()
            except TimeoutError:
                problem = SILENT
            except SocketCut:
                problem = CUT
        if problem and not self.reply.started:
            raise upstream_error(self._out, 502, f"ended the WebSocket: {problem}")
        if problem:
            self._cut_reply(problem)

    def _begin_reply(self, status: int, headers: Headers, encoding: str = "") -> None:
        """Take the head of the upstream's response as that of the reply, with mockllm's headers,
        and record it. A response of events is journaled as a stream."""
        exchange, passed = self._own_exchange, forwarded_headers(headers)
        self._tape.record_head(status, passed, encoding=encoding)
        types = [value.lower() for name, value in passed if name == "content-type"]
        wire = exchange.wire if any(_STREAM in value for value in types) else None
        self.reply = self._owner.with_mockllm_headers(exchange, Reply(status, passed, wire=wire))

    async def _http_pieces(self) -> AsyncGenerator[bytes, None]:
        """Yield b"" after the head, then the body; raise UpstreamFailed without a head."""
        # Imported late, as in `upstream`.
        import httpx2

        seconds = self._own_exchange.options.upstream_seconds
        async with open_response(self._out, seconds=seconds) as response:
            encoding = response.headers.get("content-encoding", "")
            self._begin_reply(response.status_code, raw_headers(response), encoding)
            yield b""
            assert isinstance(response.stream, httpx2.AsyncByteStream)
            try:
                async for piece in response.stream:
                    self._tape.record_piece(piece)
                    yield piece
                self._tape.record_end()
            except httpx2.TimeoutException:
                self._cut_reply(SILENT)
            except httpx2.TransportError:
                self._cut_reply(CUT)

    def _cut_reply(self, note: str) -> None:
        """Let the connection be closed after what was sent, and note the reason in the
        recording."""
        self._tape.cut = True
        self._tape.add_note(note)
        self.reply = replace(self.reply, cut=True)

    def _end_recording(self) -> None:
        """Keep the recorded interaction, once."""
        if self._kept is None:
            self._kept = self._tape.interaction()

    def _finish(self, place: int | None, *, problem: str, gone: bool) -> None:
        """Report the result to the slot `place` of the recording and to the journal; only the
        first call does. Nothing is recorded if there is a `problem`."""
        if self._over:
            return
        if gone:
            self._tape.add_note(LEFT)
        if not problem and self.reply.started:
            self._end_recording()
            assert self._kept is not None
            # For the journal: an upstream may repeat a key in a header.
            masked = dict(self._kept.response.headers)
            headers = tuple((name, masked.get(name, value)) for name, value in self.reply.headers)
            self.reply = replace(self.reply, headers=headers)
            problem = self._tape.problem
            problem = problem and f"An answer of {self._out.place}: {problem}."
        self._recording.end(place, None if problem else self._kept, problem)
        self._end(gone=gone)

    def _sent_beginning(self) -> tuple[bytes, ...]:
        """Return the recorded pieces, without secrets that the upstream may have repeated."""
        if self._kept is None:
            return (self._last,)
        return tuple([piece for _, piece in self._kept.response.chunks])
