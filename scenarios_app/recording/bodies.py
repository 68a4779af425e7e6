"""Bodies as they were before somebody compressed or encoded them for the way or for a file: whole
ones of other tools' recordings, and those of a recording under way piece by piece, no longer than
it may keep."""

import base64
import binascii
import zlib
from collections.abc import Mapping
from typing import Final, Protocol

MAX_BODY_BYTES: Final = 20_000_000
_GZIP: Final = b"\x1f\x8b"
# What zlib is told so that it finds out by itself whether it is gzip or zlib.
_EITHER: Final = 32 + zlib.MAX_WBITS
# What is asked for of that which the client takes: anything else could not be kept.
READABLE: Final = ("gzip", "deflate")
IDENTITY: Final = "identity"
_HEAD_BYTES = 2


class Unreadable(Exception):
    """A body that cannot be had, or is not what its head says; the message says why."""


def decompressed(body: bytes, headers: Mapping[str, str]) -> bytes:
    """The body without the compression that its headers name, of which many recorders have taken
    it out already. Raises Unreadable."""
    named = headers.get("content-encoding", "").lower()
    for kind in reversed([kind.strip() for kind in named.split(",") if kind.strip()]):
        match kind:
            case "gzip" | "x-gzip" if body.startswith(_GZIP):
                body = _inflated(body, wbits=31)
            case "deflate" if not _is_text(body):
                zlib_header = body[:1] == b"\x78"
                body = _inflated(body, wbits=15 if zlib_header else -15)
            case "identity" | "gzip" | "x-gzip" | "deflate":
                continue
            case _ if not _is_text(body):
                raise Unreadable(f"its body is compressed as {kind}, which is not read here")
    return body


def from_base64(text: str) -> bytes:
    """Raises Unreadable."""
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        raise Unreadable("its body is said to be Base64 and is not") from None


def _inflated(body: bytes, *, wbits: int) -> bytes:
    inflater = zlib.decompressobj(wbits=wbits)
    try:
        out = inflater.decompress(body, MAX_BODY_BYTES)
    except zlib.error as error:
        raise Unreadable(f"its body cannot be decompressed: {error}") from None
    if inflater.unconsumed_tail:
        raise Unreadable(f"its body is larger than {MAX_BODY_BYTES} bytes once it is decompressed")
    if not inflater.eof:
        raise Unreadable("its body ends in the middle of what was compressed")
    return out


def _is_text(body: bytes) -> bool:
    try:
        body.decode()
    except UnicodeDecodeError:
        return False
    return True


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
    content_codings = {
        name.strip().lower()
        for name, _, weight in (part.partition(";") for part in accepted.split(","))
        if weight.replace(" ", "") not in ("q=0", "q=0.0")
    }
    return ", ".join(name for name in READABLE if name in content_codings) or IDENTITY


class _Plain:
    whole = True

    def __init__(self, most: int) -> None:
        self._left = most

    def read(self, piece: bytes) -> bytes:
        data = piece[: self._left]
        self._left -= len(data)
        if len(data) < len(piece):
            raise TooLong(data)
        return data


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
            data = self._inflated(piece)
            out += data[: self._left]
            if len(data) > self._left:
                raise TooLong(out)
            self._left -= len(data)
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
            data = self._inflate.decompress(piece, self._left + 1)
        except zlib.error as error:
            if self._begun:
                raise Unreadable(f"it cannot be decompressed: {error}") from None
            self._inflate = zlib.decompressobj(-zlib.MAX_WBITS)
            try:
                data = self._inflate.decompress(piece, self._left + 1)
            except zlib.error as again:
                raise Unreadable(f"it cannot be decompressed: {again}") from None
        self._begun = True
        return data
