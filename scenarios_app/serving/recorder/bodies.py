"""Bodies as a recording keeps them: taken out of their compression, and no longer than it may."""

import zlib
from typing import Final, Protocol

# What zlib is told so that it finds out by itself whether it is gzip or zlib.
_EITHER: Final = 32 + zlib.MAX_WBITS
# What is asked for of that which the client takes: anything else could not be kept.
READABLE: Final = ("gzip", "deflate")
IDENTITY: Final = "identity"
_HEAD_BYTES = 2


class Unreadable(Exception):
    """A body that is not what its head says; the message says why."""


class TooLong(Exception):
    """More than is kept."""

    def __init__(self, beginning: bytes) -> None:
        super().__init__(beginning)
        self.beginning = beginning
        """What there is still room for."""


class Reader(Protocol):
    """Reads one body piece by piece; raises Unreadable or TooLong."""

    def read(self, piece: bytes) -> bytes: ...

    @property
    def whole(self) -> bool:
        """Whether what was read so far may be all of it: no compression that has begun goes on."""
        ...


def reader_of(encoding: str, *, most: int) -> Reader:
    """What reads a body of this content encoding, up to so many bytes; raises Unreadable where
    nothing does."""
    match encoding.strip().lower():
        case "" | "identity":
            return _Plain(most)
        case "gzip" | "x-gzip" | "deflate":
            return _Inflated(most)
        case other:
            raise Unreadable(f"it is compressed as {other}, which cannot be read here")


def acceptable(accepted: str) -> str:
    """What of the encodings that a client takes is asked for in its place."""
    taken = {
        name.strip().lower()
        for name, _, weight in (part.partition(";") for part in accepted.split(","))
        if weight.replace(" ", "") not in ("q=0", "q=0.0")
    }
    return ", ".join(name for name in READABLE if name in taken) or IDENTITY


class _Plain:
    whole = True

    def __init__(self, most: int) -> None:
        self._left = most

    def read(self, piece: bytes) -> bytes:
        kept = piece[: self._left]
        self._left -= len(kept)
        if len(kept) < len(piece):
            raise TooLong(kept)
        return kept


class _Inflated:
    """gzip, also of several members, and both things that are called deflate."""

    def __init__(self, most: int) -> None:
        self._left = most
        self._inflate = zlib.decompressobj(_EITHER)
        self._begun = False
        self._head = b""

    @property
    def whole(self) -> bool:
        return self._inflate.eof or not (self._begun or self._head)

    def read(self, piece: bytes) -> bytes:
        out = b""
        while piece:
            if self._inflate.eof:
                self._inflate = zlib.decompressobj(_EITHER)
            # One more than there is room for tells a body that is too long.
            found = self._inflated(piece)
            out += found[: self._left]
            if len(found) > self._left:
                raise TooLong(out)
            self._left -= len(found)
            piece = self._inflate.unused_data if self._inflate.eof else b""
        return out

    def _inflated(self, piece: bytes) -> bytes:
        if not self._begun:
            # What it is packed by stands in two bytes, which may come apart.
            self._head += piece
            if len(self._head) < _HEAD_BYTES:
                return b""
            piece, self._head = self._head, b""
        try:
            found = self._inflate.decompress(piece, self._left + 1)
        except zlib.error as error:
            if self._begun:
                raise Unreadable(f"it cannot be decompressed: {error}") from None
            self._inflate = zlib.decompressobj(-zlib.MAX_WBITS)
            try:
                found = self._inflate.decompress(piece, self._left + 1)
            except zlib.error as again:
                raise Unreadable(f"it cannot be decompressed: {again}") from None
        self._begun = True
        return found
