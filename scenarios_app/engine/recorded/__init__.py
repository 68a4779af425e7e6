"""Recorded requests and answers: when two requests are the same conversation, and which requests a
recorded answer can be replayed for."""

import msgspec

from scenarios_app.engine.canonical import CanonicalRequest


class RecordedAnswer(msgspec.Struct, frozen=True):
    """A recorded answer. `chunks` are the pieces of the body with their milliseconds since the end
    of the request.

    `path` is its endpoint (empty if unknown) and `stream` true if a stream was requested (None if
    unknown). `pace` replays the recorded times. `cut` closes the connection at the end.
    """

    status: int = 200
    headers: tuple[tuple[str, str], ...] = ()
    chunks: tuple[tuple[float, bytes], ...] = ()
    cut: bool = False
    path: str = ""
    stream: bool | None = None
    pace: bool = False

    @property
    def body(self) -> bytes:
        return b"".join(data for _, data in self.chunks)

    def suits(self, request: CanonicalRequest) -> bool:
        """Return True if the recorded bytes answer this request: same endpoint, and stream or not
        as recorded. An error suits both; a request that its wire could not read accepts any."""
        if request.sent is not None and request.sent.unread:
            return True
        if self.path and self.path not in (request.path, request.route):
            return False
        return self.stream in (None, request.stream) or self.status >= 400
