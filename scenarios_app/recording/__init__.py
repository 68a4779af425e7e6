"""Recordings of real traffic: interactions, read from many formats, made into scenarios. One is a
request to a provider, and what came back piece by piece."""

from dataclasses import dataclass
from urllib.parse import SplitResult, urlsplit


@dataclass(frozen=True, slots=True)
class RecordedRequest:
    """A request as it went out; keys are taken out before one of these is made."""

    method: str
    url: str
    """With scheme and host where they are known, else the path alone; query included."""
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
    """An answer as it came in, decompressed."""

    status: int
    headers: tuple[tuple[str, str], ...] = ()
    chunks: tuple[tuple[float, bytes], ...] = ()
    """Each piece with the milliseconds from the request's end to it; one piece at 0 where no times
    were kept."""
    cut: bool = False
    """The connection ended before the answer did."""

    @property
    def body(self) -> bytes:
        return b"".join(piece for _, piece in self.chunks)


@dataclass(frozen=True, slots=True)
class Interaction:
    """A request with its answer."""

    request: RecordedRequest
    response: RecordedResponse
    notes: tuple[str, ...] = ()
    """What a foreign file said that could not be carried over, in words for people."""
