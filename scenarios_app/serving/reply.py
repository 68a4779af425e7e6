"""Defines a reply as transports send it: every byte is decided beforehand and has a due time.
`SentReply` is the result of sending it."""

import zlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import TypeAlias

import msgspec
from msgspec.structs import replace

from scenarios_app.engine.canonical import ErrorAnswer
from scenarios_app.engine.producing.faults import fault_error, kind_of, silence_ms
from scenarios_app.engine.producing.plan import TimedEvent
from scenarios_app.engine.scenario import Fault
from scenarios_app.wire.base import ArchiveWrite, Headers, StreamEncoder, Wire

# Headers that the reply's bytes decide, and no script.
FRAMING = {"content-length", "transfer-encoding"}
BODILESS = {204, 304}
# A long stream is sent in pieces of about this size, each when the client has taken the one before:
# encoding more at once would keep others waiting. Bytes that are there are sent in larger slices.
PIECE_BYTES = 16_384
SLICE_BYTES = 65_536
LONG_BYTES = 262_144
# Events repeat within a window of 4 KB.
_WINDOW_BITS, _MEMORY_LEVEL, _COMPRESSOR_BYTES = -12, 5, 32_768


class Frame(msgspec.Struct, frozen=True):
    """Bytes that are sent in one piece, `at` seconds after the head of the response."""

    at: float
    data: bytes


@dataclass(frozen=True, slots=True)
class LongFrames:
    """The frames of a long response, made anew at each iteration, so that never all are in
    memory."""

    make: Callable[[], Iterator[Frame]]

    def __iter__(self) -> Iterator[Frame]:
        return self.make()


# A tuple, LongFrames, or others that are made anew at each iteration.
Frames: TypeAlias = Iterable[Frame]


class SentPrefix(msgspec.Struct, frozen=True, gc=False):
    """The beginning of a sent body as the journal keeps it: `left` bytes of the frames, then the
    `tail`. It stops at the first piece boundary after `max_bytes`."""

    frames: Frames
    left: int
    max_bytes: int
    tail: bytes = b""

    def __iter__(self) -> Iterator[bytes]:
        left, max_bytes = self.left, self.max_bytes
        for frame in self.frames:
            if left <= 0 or max_bytes <= 0:
                break
            data = frame.data[:left]
            yield data
            left -= len(data)
            max_bytes -= len(data)
        if self.tail and max_bytes > 0:
            yield self.tail


class SentCopy:
    """Keeps a compressed copy of the beginning of a long stream while it is sent, for the journal.
    To encode it again would take as long as to send it."""

    def __init__(self, max_bytes: int) -> None:
        self._left = max_bytes
        self._compressor = zlib.compressobj(1, zlib.DEFLATED, _WINDOW_BITS, _MEMORY_LEVEL)
        self._pieces: list[bytes] = []

    @property
    def held_bytes(self) -> int:
        """Return the memory that the copy takes."""
        return _COMPRESSOR_BYTES + sum(map(len, self._pieces))

    def add(self, piece: bytes) -> None:
        """Add a sent piece, unless `max_bytes` are there."""
        if self._left > 0:
            self._pieces.append(self._compressor.compress(piece))
            self._left -= len(piece)

    def __iter__(self) -> Iterator[bytes]:
        """Yield all kept bytes as one piece."""
        end = self._compressor.copy().flush()
        yield zlib.decompress(b"".join((*self._pieces, end)), _WINDOW_BITS)


class Reply(msgspec.Struct, frozen=True):
    """One HTTP response. Nothing is sent before `delay` seconds, and nothing at all if `started` is
    false. A `cut` reply ends by closing the connection after a flush. `headers` hold the declared
    content length of a whole response, even if the frames fall short of it. `wire` is set for a
    stream and encodes its early end. `stored` lists the archive's writes, or computes them for a
    long response. `preview` is the beginning of its text. A `plain` body is known to contain no
    secret, so that nothing needs redaction. `socket_fault` breaks the WebSocket that carries the
    reply."""

    status: int
    headers: Headers = ()
    frames: Frames = ()
    delay: float = 0.0
    cut: bool = False
    started: bool = True
    wire: Wire | None = None
    stored: tuple[ArchiveWrite, ...] | Callable[[], tuple[ArchiveWrite, ...]] = ()
    preview: str = ""
    plain: bool = False
    socket_fault: Fault | None = None

    @property
    def streaming(self) -> bool:
        """True for a stream of events."""
        return self.wire is not None

    @property
    def body(self) -> bytes:
        """Return all bytes of the body."""
        return b"".join(frame.data for frame in self.frames)

    @property
    def is_immediate(self) -> bool:
        """Return whether the whole body is due now and needs not be made piece by piece."""
        return (
            not self.delay
            and not self.cut
            and isinstance(self.frames, tuple)
            and all(not frame.at for frame in self.frames)
        )

    @property
    def seconds(self) -> float:
        """Return how many seconds after the head the last frame is due."""
        return max((frame.at for frame in self.frames), default=0.0)

    def error_frame(self, sent: int, error: ErrorAnswer) -> bytes:
        """Return the provider's error that ends a stream after `sent` events; empty without one."""
        return self.wire.stream_error(error, events_sent=sent) if self.wire is not None else b""


class SentReply(msgspec.Struct, frozen=True):
    """The result of sending a reply. `body` is the beginning of the sent bytes, maybe made anew at
    each iteration; `size` counts all of them.

    `gone`: the client disconnected before the end. `early`: the server ended or replaced the reply.
    `first_at` is when the head was sent and `ended_at` when the reply ended, on the clock of
    `time.monotonic`.
    """

    reply: Reply
    body: Iterable[bytes]
    size: int
    gone: bool
    early: bool
    first_at: float | None
    ended_at: float


def whole_reply(
    status: int,
    body: bytes,
    *,
    headers: Headers = (),
    delay: float = 0.0,
    media_type: str = "application/json",
) -> Reply:
    """Return a whole response with its content length and, unless `headers` name one, its media
    type."""
    kept_headers = [(k.lower(), v) for k, v in headers if k.lower() not in FRAMING]
    if status not in BODILESS:
        if "content-type" not in dict(kept_headers):
            kept_headers.append(("content-type", media_type))
        kept_headers.append(("content-length", str(len(body))))
    return Reply(status, tuple(kept_headers), frames=_frames_of(body), delay=delay)


def stream_reply(
    wire: Wire,
    frames: Frames,
    *,
    cut: bool = False,
    status: int = 200,
    headers: Headers = (),
    delay: float = 0.0,
) -> Reply:
    """Return a stream of these frames."""
    stream_headers = (
        *((k.lower(), v) for k, v in headers if k.lower() not in FRAMING),
        ("content-type", wire.stream_type),
        ("cache-control", "no-cache"),
    )
    return Reply(status, stream_headers, frames=frames, delay=delay, cut=cut, wire=wire)


def encode_frames(
    wire: Wire, encoder: StreamEncoder, timed: Iterable[TimedEvent], *, max_bytes: int | None = None
) -> Iterator[Frame]:
    """Yield the frames of a stream, each of at most about `max_bytes` if that is given. Events due
    at the same time share a frame; a fault mark ends or breaks the stream."""
    due, pieces, size, sent = 0.0, [encoder.opening()], 0, 0
    encode = encoder.event
    last = b""
    for at, event in timed:
        if at != due or (max_bytes is not None and size > max_bytes):
            if data := b"".join(pieces):
                sent += count_events(data)
                yield Frame(due, data)
            due, pieces, size = at, [], 0
        if not isinstance(event, Fault):
            pieces.append(piece := encode(event))
            size += len(piece)
            continue
        match kind_of(event).stream:
            case "hold":
                continue
            case "malformed_event":
                last = wire.malformed_event
            case "error_event":
                sent += count_events(b"".join(pieces))
                last = wire.stream_error(fault_error(event), events_sent=sent)
        break
    else:
        last = encoder.closing()
    if data := b"".join((*pieces, last)):
        yield Frame(due, data)


def malformed_reply(
    wire: Wire, *, stream: bool, headers: Headers = (), delay: float = 0.0
) -> Reply:
    """Return a response that no client of this provider can parse."""
    if not stream:
        return whole_reply(200, wire.malformed_body, headers=headers, delay=delay)
    frames = (Frame(0.0, wire.malformed_event),)
    return stream_reply(wire, frames, headers=headers, delay=delay)


def silent_reply(fault: Fault, *, delay: float = 0.0) -> Reply:
    """Return a reply without a response: the connection closes after the fault's silence."""
    held = delay + silence_ms(fault) / 1000
    return Reply(200, delay=held, cut=True, started=False)


def broken_reply(reply: Reply, fault: Fault) -> Reply:
    """Return a whole response with a fault in it: half the body and a cut, half the body, or a long
    wait."""
    body = reply.body
    half = body[: len(body) // 2]
    match kind_of(fault).whole:
        case "cut":
            return replace(reply, frames=(Frame(0.0, half),), cut=True)
        case "end":
            return whole_reply(reply.status, half, headers=reply.headers, delay=reply.delay)
        case _:
            return replace(reply, frames=(Frame(fault.hold_ms / 1000, body),))


def count_events(data: bytes) -> int:
    """Return the number of server-sent events. Each ends with a blank line, which occurs nowhere
    else."""
    return data.count(b"\n\n")


def _frames_of(body: bytes) -> Frames:
    """Return a body as frames without delay; a long one is sliced when it is sent."""
    if len(body) > LONG_BYTES:
        starts = range(0, len(body), SLICE_BYTES)
        return LongFrames(lambda: (Frame(0.0, body[at : at + SLICE_BYTES]) for at in starts))
    return (Frame(0.0, body),) if body else ()
