"""A fake wire, encoder and clock, to build and play replies without a provider or waiting."""

from collections.abc import Sequence

from scenarios_app.engine.canonical import ErrorAnswer
from scenarios_app.engine.parts import Finish, PartDelta, PartEnd, PartStart, StreamEvent
from scenarios_app.wire.base import Wire


class FakeWire(Wire):
    provider = "fake"
    stream_type = "text/event-stream"
    malformed_body = b'{"broken'
    malformed_event = b'data: {"broken\n\n'

    def stream_error(self, error: ErrorAnswer, *, events_sent: int) -> bytes:
        return f"error {error.status} after {events_sent}: {error.message}\n\n".encode()


class FakeEncoder:
    """One server-sent event for the opening, each delta, each finish and the closing."""

    def opening(self) -> bytes:
        return b"open\n\n"

    def event(self, event: StreamEvent) -> bytes:
        match event:
            case PartDelta(text=text):
                return text.encode() + b"\n\n"
            case Finish(reason=reason):
                return reason.encode() + b"\n\n"
            case PartStart() | PartEnd():
                return b""

    def closing(self) -> bytes:
        return b"close\n\n"


class FakeClock:
    """A clock that advances only by `sleep` and by setting `now`."""

    def __init__(self, now: float = 0.0) -> None:
        self.now = now
        self.slept: list[float] = []

    def __call__(self) -> float:
        return self.now

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now += seconds


WIRE = FakeWire()


def split_events(frames: Sequence[bytes]) -> list[list[str]]:
    """Return the server-sent events in each frame."""
    return [frame.decode().split("\n\n")[:-1] for frame in frames]
