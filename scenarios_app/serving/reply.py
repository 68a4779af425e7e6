"""An answer as the doors send it, every byte decided beforehand and each with the time it is due;
and what became of it."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from enum import Enum
from typing import TypeAlias

import msgspec
from msgspec.structs import replace

from scenarios_app.engine.canonical import ErrorAnswer
from scenarios_app.engine.producing.faults import fault_error, kind_of, silence_ms
from scenarios_app.engine.producing.plan import FaultMark, Timed
from scenarios_app.engine.scenario import Fault
from scenarios_app.wire.base import ArchiveWrite, Headers, StreamEncoder, Wire

# What the answer's bytes decide, and no script.
FRAMING = {"content-length", "transfer-encoding"}
BODILESS = {204, 304}
# A long stream leaves in pieces of about this size, each when the client has taken the one before:
# making more at once would keep others waiting. What is made already needs not be cut so small.
PIECE_BYTES = 16_384
SLICE_BYTES = 65_536
LONG_BYTES = 262_144


class Ending(Enum):
    """How the HTTP answer ends: as it should, or by closing the connection after a flush."""

    COMPLETE = "complete"
    CUT = "cut"


class Frame(msgspec.Struct, frozen=True):
    """Bytes that leave in one piece, `at` seconds after the head of the answer."""

    at: float
    data: bytes


@dataclass(frozen=True, slots=True)
class LongFrames:
    """The frames of a long answer, made anew each time that something goes through them, so that
    nobody holds all of them."""

    make: Callable[[], Iterator[Frame]]

    def __iter__(self) -> Iterator[Frame]:
        return self.make()


class TemplateFrame(msgspec.Struct, frozen=True):
    """A frame of an answer that was prepared. Between its pieces stands the id that the answer has
    most often; holes of others are inside them."""

    at: float
    pieces: tuple[bytes, ...]


class RenderedFrames(msgspec.Struct, frozen=True, gc=False):
    """The frames of an answer that was prepared, with ids in their holes, made anew each time that
    something goes through them: who holds them has no bytes of their own in memory. `plain` ones
    name no secret."""

    frames: tuple[TemplateFrame, ...]
    id: bytes
    others: tuple[tuple[bytes, bytes], ...]
    plain: bool

    def __iter__(self) -> Iterator[Frame]:
        for frame in self.frames:
            data = self.id.join(frame.pieces)
            for hole, value in self.others:
                data = data.replace(hole, value)
            yield Frame(frame.at, data)


Frames: TypeAlias = tuple[Frame, ...] | RenderedFrames | LongFrames


class Beginning(msgspec.Struct, frozen=True, gc=False):
    """So much of what has left as the journal keeps: `left` bytes of the frames and then the
    `tail`, but no more than `most` and what is left of a piece."""

    frames: Frames
    left: int
    most: int
    tail: bytes = b""

    def __iter__(self) -> Iterator[bytes]:
        left, most = self.left, self.most
        for frame in self.frames:
            if left <= 0 or most <= 0:
                break
            data = frame.data[:left]
            yield data
            left -= len(data)
            most -= len(data)
        if self.tail and most > 0:
            yield self.tail


class Reply(msgspec.Struct, frozen=True):
    """One HTTP answer. Nothing leaves before `delay` (seconds); without `started` nothing at all.

    `headers` hold the declared content length of a whole answer, also where the frames fall short
    of it. `wire` is set for a stream: it knows how to end one early. `stored` is what the
    archive keeps of the answer, or for a long one what finds that out. `said` is how it begins, as
    people read it.
    """

    status: int
    headers: Headers = ()
    frames: Frames = ()
    delay: float = 0.0
    ending: Ending = Ending.COMPLETE
    started: bool = True
    wire: Wire | None = None
    stored: tuple[ArchiveWrite, ...] | Callable[[], tuple[ArchiveWrite, ...]] = ()
    said: str = ""

    @property
    def streaming(self) -> bool:
        return self.wire is not None

    @property
    def body(self) -> bytes:
        """Every byte of the body that is going to be sent."""
        return b"".join(frame.data for frame in self.frames)

    @property
    def is_immediate(self) -> bool:
        """Whether everything is due now, so that nobody has to wait for anything."""
        frames = self.frames.frames if isinstance(self.frames, RenderedFrames) else self.frames
        return (
            not self.delay
            and self.ending is Ending.COMPLETE
            and isinstance(frames, tuple)
            and all(not frame.at for frame in frames)
        )

    @property
    def plain(self) -> bool:
        """Whether its body is known to name no secret."""
        return isinstance(self.frames, RenderedFrames) and self.frames.plain

    @property
    def seconds(self) -> float:
        """How long after the head the last frame is due."""
        return max((frame.at for frame in self.frames), default=0.0)

    def error_frame(self, sent: int, error: ErrorAnswer) -> bytes:
        """The provider's in-stream error, to end a stream with after `sent` of its events."""
        return self.wire.stream_error(error, sent=sent) if self.wire is not None else b""


class Sent(msgspec.Struct, frozen=True):
    """What became of a reply. `body` is the beginning of what left, `size` all of it; going through
    the body may make it anew.

    `gone`: the client did not wait for the end. `early`: the server ended it, or gave another.
    `first_at` is when the head left, on the clock of `time.monotonic`.
    """

    reply: Reply
    body: Iterable[bytes]
    size: int
    gone: bool
    early: bool
    first_at: float | None


def whole(
    status: int,
    body: bytes,
    *,
    headers: Headers = (),
    delay: float = 0.0,
    media_type: str = "application/json",
) -> Reply:
    """A whole answer, with its length and, unless `headers` name one, its media type."""
    kept = [(k.lower(), v) for k, v in headers if k.lower() not in FRAMING]
    if status not in BODILESS:
        if not any(name == "content-type" for name, _ in kept):
            kept.append(("content-type", media_type))
        kept.append(("content-length", str(len(body))))
    return Reply(status, tuple(kept), frames=_frames_of(body), delay=delay)


def streamed(
    wire: Wire,
    encoder: StreamEncoder,
    timed: Iterable[Timed],
    *,
    status: int = 200,
    headers: Headers = (),
    delay: float = 0.0,
) -> Reply:
    """A stream: what is due at the same time is one frame, and a fault mark ends or breaks it."""
    timed = tuple(timed)
    cut = isinstance(last := timed[-1].event, FaultMark) and kind_of(last.fault).stream == "cut"
    frames = tuple(_encoded(wire, encoder, timed))
    return _stream(wire, frames, cut=cut, status=status, headers=headers, delay=delay)


def streamed_long(
    wire: Wire,
    make: Callable[[], tuple[StreamEncoder, Iterable[Timed]]],
    *,
    cut: bool,
    status: int = 200,
    headers: Headers = (),
    delay: float = 0.0,
) -> Reply:
    """The same of a long answer: its frames are made while they are sent. `make` gives what makes
    them, the same each time; `cut` says that a fault closes the connection."""
    frames = LongFrames(lambda: _encoded(wire, *make(), most=PIECE_BYTES))
    return _stream(wire, frames, cut=cut, status=status, headers=headers, delay=delay)


def _stream(
    wire: Wire, frames: Frames, *, cut: bool, status: int, headers: Headers, delay: float
) -> Reply:
    return Reply(
        status,
        _stream_headers(wire, headers),
        frames=frames,
        delay=delay,
        ending=Ending.CUT if cut else Ending.COMPLETE,
        wire=wire,
    )


def _encoded(
    wire: Wire, encoder: StreamEncoder, timed: Iterable[Timed], *, most: int | None = None
) -> Iterator[Frame]:
    """The frames of a stream, of hardly more than `most` bytes where that is given."""
    due, pieces, size, sent = 0.0, [encoder.opening()], 0, 0
    encode = encoder.event
    last = b""
    for at, event in timed:
        if at != due or (most is not None and size > most):
            if data := b"".join(pieces):
                sent += count_events(data)
                yield Frame(due, data)
            due, pieces, size = at, [], 0
        if not isinstance(event, FaultMark):
            pieces.append(piece := encode(event))
            size += len(piece)
            continue
        match kind_of(event.fault).stream:
            case "hold":
                continue
            case "malformed_event":
                last = wire.malformed_event
            case "error_event":
                sent += count_events(b"".join(pieces))
                last = wire.stream_error(fault_error(event.fault), sent=sent)
        break
    else:
        last = encoder.closing()
    if data := b"".join((*pieces, last)):
        yield Frame(due, data)


def malformed(
    wire: Wire, *, stream: bool, status: int = 200, headers: Headers = (), delay: float = 0.0
) -> Reply:
    """An answer that no client of this provider can read."""
    if not stream:
        return whole(status, wire.malformed_body, headers=headers, delay=delay)
    return Reply(
        status,
        _stream_headers(wire, headers),
        frames=(Frame(0.0, wire.malformed_event),),
        delay=delay,
        wire=wire,
    )


def silent(fault: Fault, *, delay: float = 0.0) -> Reply:
    """No answer: the connection is held as long as the fault says, then closed."""
    held = delay + silence_ms(fault) / 1000
    return Reply(200, delay=held, ending=Ending.CUT, started=False)


def broken(reply: Reply, fault: Fault) -> Reply:
    """A whole answer with a fault inside it: half of it and a cut, half of it, or a long wait."""
    body = reply.body
    half = body[: len(body) // 2]
    match kind_of(fault).whole:
        case "cut":
            return replace(reply, frames=(Frame(0.0, half),), ending=Ending.CUT)
        case "end":
            return whole(reply.status, half, headers=reply.headers, delay=reply.delay)
        case _:
            return replace(reply, frames=(Frame(fault.hold_ms / 1000, body),))


def _stream_headers(wire: Wire, headers: Headers) -> Headers:
    return (
        *((k.lower(), v) for k, v in headers if k.lower() not in FRAMING),
        ("content-type", wire.stream_type),
        ("cache-control", "no-cache"),
    )


def count_events(data: bytes) -> int:
    """Number of server-sent events: a blank line ends each, and stands nowhere else in them."""
    return data.count(b"\n\n")


def _frames_of(body: bytes) -> Frames:
    if len(body) > LONG_BYTES:
        starts = range(0, len(body), SLICE_BYTES)
        return LongFrames(lambda: (Frame(0.0, body[at : at + SLICE_BYTES]) for at in starts))
    return (Frame(0.0, body),) if body else ()
