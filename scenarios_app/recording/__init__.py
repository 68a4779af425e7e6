"""Interactions: recorded requests with their responses, from which scenarios are made."""

from dataclasses import dataclass
from urllib.parse import SplitResult, urlsplit

from scenarios_app.engine.document.fault import STATUSES_WITHOUT_BODY


@dataclass(frozen=True, slots=True)
class RecordedRequest:
    """A request as it was sent; `redact_interaction` removes its secrets."""

    method: str
    url: str
    """With scheme and host if known, else the path alone; query included."""
    headers: tuple[tuple[str, str], ...] = ()
    body: bytes = b""

    @property
    def url_parts(self) -> SplitResult:
        """The parts of the URL; text that is no URL counts as a path with a query."""
        try:
            return urlsplit(self.url)
        except ValueError:
            path, _, query = self.url.partition("?")
            return SplitResult("", "", path, query, "")


@dataclass(frozen=True, slots=True)
class RecordedResponse:
    """A response as it was received, decompressed."""

    status: int
    headers: tuple[tuple[str, str], ...] = ()
    chunks: tuple[tuple[float, bytes], ...] = ()
    """Pieces with the milliseconds since the end of the request; one piece at 0 if no times are
    known."""
    cut: bool = False
    """The connection ended before the answer did."""

    @classmethod
    def whole(
        cls, status: int, headers: tuple[tuple[str, str], ...], body: bytes, *, at: float = 0.0
    ) -> "RecordedResponse":
        """Return a response with its body in one piece, `at` milliseconds after the request; 204
        and 304 have none."""
        has_body = body and status not in STATUSES_WITHOUT_BODY
        return cls(status, headers, ((at, body),) if has_body else ())

    @property
    def body(self) -> bytes:
        """All bytes of the body."""
        return b"".join(piece for _, piece in self.chunks)


@dataclass(frozen=True, slots=True)
class Interaction:
    """A request with its response."""

    request: RecordedRequest
    response: RecordedResponse
    notes: tuple[str, ...] = ()
    """Notes for people on content of a foreign file that could not be converted."""
