"""An answer as the doors send it: every byte known beforehand, each with the time it is due."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from enum import Enum

from scenarios_app.engine.errors import ErrorAnswer
from scenarios_app.engine.faults import fault_error, silence_ms
from scenarios_app.engine.plan import FaultMark, Timed
from scenarios_app.engine.scenario import Fault
from scenarios_app.wire.base import Headers, Kept, StreamEncoder, Wire

# What the answer's bytes decide, whatever a script says.
FRAMING = {"content-length", "transfer-encoding"}
BODILESS = {204, 304}


class Ending(Enum):
    """How the HTTP answer ends: as it should, or by closing the connection after a flush."""

    COMPLETE = "complete"
    CUT = "cut"


@dataclass(frozen=True, slots=True)
class Frame:
    """Bytes that leave in one piece, `at` seconds after the head of the answer."""

    at: float
    data: bytes


@dataclass(frozen=True, slots=True)
class Reply:
    """One HTTP answer. Nothing leaves before `delay` (seconds); without `started` nothing at all.

    `headers` hold the declared content length of a whole answer, also where the frames fall short
    of it. `wire` is set for a stream: it knows how to end one early. `kept` is what the session is
    to keep of the answer.
    """

    status: int
    headers: Headers = ()
    frames: tuple[Frame, ...] = ()
    delay: float = 0.0
    ending: Ending = Ending.COMPLETE
    started: bool = True
    wire: Wire | None = None
    kept: tuple[Kept, ...] = ()

    @property
    def streaming(self) -> bool:
        return self.wire is not None

    @property
    def body(self) -> bytes:
        """Every byte of the body that is going to be sent."""
        return b"".join(frame.data for frame in self.frames)

    def error_frame(self, sent: int, error: ErrorAnswer) -> bytes:
        """The provider's in-stream error, to end a stream with after `sent` of its frames."""
        if self.wire is None:
            return b""
        return self.wire.stream_error(error, sent=_count(f.data for f in self.frames[:sent]))


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
    return Reply(status, tuple(kept), frames=(Frame(0.0, body),) if body else (), delay=delay)


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
    frames: list[Frame] = []
    due, pieces = 0.0, [encoder.opening()]
    encode = encoder.event
    ending, last = Ending.COMPLETE, b""
    for at, event in timed:
        if at != due:
            frames.append(Frame(due, b"".join(pieces)))
            due, pieces = at, []
        if not isinstance(event, FaultMark):
            pieces.append(encode(event))
            continue
        match event.fault.kind:
            case "stall":
                continue
            case "disconnect":
                ending = Ending.CUT
            case "malformed_chunk":
                last = wire.malformed_event
            case "error_event":
                sent = _count([*(frame.data for frame in frames), *pieces])
                last = wire.stream_error(fault_error(event.fault), sent=sent)
        break
    else:
        last = encoder.closing()
    frames.append(Frame(due, b"".join((*pieces, last))))
    return Reply(
        status,
        _stream_headers(wire, headers),
        frames=tuple(frame for frame in frames if frame.data),
        delay=delay,
        ending=ending,
        wire=wire,
    )


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
    match fault.kind:
        case "disconnect":
            return replace(reply, frames=(Frame(0.0, half),), ending=Ending.CUT)
        case "truncate":
            return whole(reply.status, half, headers=reply.headers, delay=reply.delay)
        case _:
            return replace(reply, frames=(Frame(fault.hold_ms / 1000, body),))


def _stream_headers(wire: Wire, headers: Headers) -> Headers:
    return (
        *((k.lower(), v) for k, v in headers if k.lower() not in FRAMING),
        ("content-type", wire.stream_type),
        ("cache-control", "no-cache"),
    )


def _count(pieces: Iterable[bytes]) -> int:
    """Number of server-sent events: a blank line ends each, and stands nowhere else in them."""
    return sum(piece.count(b"\n\n") for piece in pieces)
