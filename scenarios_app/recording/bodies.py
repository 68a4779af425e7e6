"""Decompresses bodies: whole ones of files, and those of recordings piece by piece."""

import zlib
from typing import Final

MAX_BODY_BYTES: Final = 20_000_000
_GZIP: Final = b"\x1f\x8b"
# Window bits with which zlib detects itself whether a body is gzip or zlib.
_GZIP_OR_ZLIB: Final = 32 + zlib.MAX_WBITS
# Only these are requested of an upstream, because other encodings could not be recorded.
READABLE: Final = ("gzip", "deflate")
IDENTITY: Final = "identity"
_HEAD_BYTES = 2


class UnreadableBody(Exception):
    """A body that is missing or is not what its headers say; the message gives the reason."""


def decompress(body: bytes, encoding: str) -> bytes:
    """Return the body without this content encoding; unchanged if a recorder removed it before.
    Raises UnreadableBody for an unknown encoding, and for a damaged or too long body."""
    for kind in filter(None, map(str.strip, reversed(encoding.lower().split(",")))):
        match kind:
            case "gzip" | "x-gzip" if body.startswith(_GZIP):
                body = _inflate(body)
            case "deflate" if not _is_text(body):
                body = _inflate(body)
            case _ if kind not in ("identity", "gzip", "x-gzip", "deflate") and not _is_text(body):
                raise UnreadableBody(f"its body is compressed as {kind}, which is not read here")
    return body


def _inflate(body: bytes) -> bytes:
    """Return a gzip or deflate body decompressed; raises UnreadableBody."""
    reader = _InflatingReader(MAX_BODY_BYTES)
    try:
        data = reader.read(body)
    except BodyTooLong:
        message = f"its body is larger than {MAX_BODY_BYTES} bytes once it is decompressed"
        raise UnreadableBody(message) from None
    if not reader.is_complete:
        raise UnreadableBody("its body ends in the middle of what was compressed")
    return data


def _is_text(body: bytes) -> bool:
    """Return whether a body is valid UTF-8."""
    try:
        body.decode()
    except UnicodeDecodeError:
        return False
    return True


class BodyTooLong(Exception):
    """A body is longer than the limit."""

    def __init__(self, beginning: bytes) -> None:
        super().__init__(beginning)
        self.beginning = beginning
        """The decoded bytes up to the limit."""


class BodyReader:
    """Reads one body piece by piece, up to a limit; raises UnreadableBody or BodyTooLong."""

    def __init__(self, max_bytes: int) -> None:
        self._room = max_bytes

    @property
    def is_complete(self) -> bool:
        """False in the middle of a compressed body; always true for any other body."""
        return True

    def read(self, piece: bytes) -> bytes:
        """Return a piece's decoded bytes; raises BodyTooLong with those up to the limit."""
        data = piece[: self._room]
        self._room -= len(data)
        if len(data) < len(piece):
            raise BodyTooLong(data)
        return data


def make_body_reader(encoding: str, *, max_bytes: int) -> BodyReader:
    """Return a reader for bodies of this content encoding, up to `max_bytes` decoded bytes; raises
    UnreadableBody for an unknown encoding."""
    match encoding.strip().lower():
        case "" | "identity":
            return BodyReader(max_bytes)
        case "gzip" | "x-gzip" | "deflate":
            return _InflatingReader(max_bytes)
        case other:
            raise UnreadableBody(f"its body is compressed as {other}, which cannot be read here")


def readable_encodings(accepted: str) -> str:
    """Return the accepted encodings that can be recorded, as a header; without any, identity."""
    content_codings = {
        name.strip().lower()
        for name, _, weight in (part.partition(";") for part in accepted.split(","))
        if weight.replace(" ", "").rstrip("0") not in ("q=", "q=0.")
    }
    return ", ".join(name for name in READABLE if name in content_codings) or IDENTITY


class _InflatingReader(BodyReader):
    """Reads gzip, with any number of members, and deflate, with or without zlib's header."""

    def __init__(self, max_bytes: int) -> None:
        super().__init__(max_bytes)
        self._decoder = zlib.decompressobj(_GZIP_OR_ZLIB)
        self._has_started = False
        self._head = b""

    @property
    def is_complete(self) -> bool:
        """True if the compressed data came to its end, or none has come."""
        return self._decoder.eof or not (self._has_started or self._head)

    def read(self, piece: bytes) -> bytes:
        """Return the decompressed bytes of a piece; raise BodyTooLong with what is below the limit,
        or UnreadableBody."""
        out = b""
        while piece:
            if self._decoder.eof:
                self._decoder = zlib.decompressobj(_GZIP_OR_ZLIB)
            # One byte more than allowed is decompressed, to notice a body that is too long.
            data = self._inflate_piece(piece)
            out += data[: self._room]
            if len(data) > self._room:
                raise BodyTooLong(out)
            self._room -= len(data)
            piece = self._decoder.unused_data if self._decoder.eof else b""
        return out

    def _inflate_piece(self, piece: bytes) -> bytes:
        """Return a piece's bytes, at most one more than the limit leaves; raises UnreadableBody."""
        if not self._has_started:
            # The first two bytes tell the format; they may arrive in two pieces.
            self._head += piece
            if len(self._head) < _HEAD_BYTES:
                return b""
            piece, self._head = self._head, b""
        try:
            data = self._decoder.decompress(piece, self._room + 1)
        except zlib.error as error:
            if self._has_started:
                raise UnreadableBody(f"its body cannot be decompressed: {error}") from None
            self._has_started = True
            self._decoder = zlib.decompressobj(-zlib.MAX_WBITS)
            return self._inflate_piece(piece)
        self._has_started = True
        return data
