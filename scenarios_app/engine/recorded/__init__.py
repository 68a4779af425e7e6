"""Recorded requests and answers: when two requests are the same conversation, and an answer as it
was recorded, with the requests for which it stands as it is."""

import msgspec

from scenarios_app.engine.canonical import CanonicalRequest


class RecordedAnswer(msgspec.Struct, frozen=True):
    """`chunks` are the pieces of the body, each with its milliseconds from the request's end.
    `path` is the endpoint that it is for and `stream` whether one was asked for; empty and None
    where that is not known. With `pace` the pieces leave at their times. A `cut` one ends in
    closing the connection."""

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
        """Whether it is an answer to this request as it stands: on its wire, and whole or streamed
        as the request wants it. An error is the same either way, and what its wire cannot read gets
        nothing else."""
        if request.sent is not None and request.sent.unread:
            return True
        if self.path and self.path not in (request.path, request.route):
            return False
        return self.stream in (None, request.stream) or self.status >= 400
