"""Bodies as they were before somebody compressed or encoded them for the way or for a file."""

import base64
import binascii
import zlib
from collections.abc import Mapping
from typing import Final

MOST_BYTES: Final = 20_000_000
_GZIP: Final = b"\x1f\x8b"


class Unreadable(Exception):
    """A body that cannot be had; the message says why."""


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
        out = inflater.decompress(body, MOST_BYTES)
    except zlib.error as error:
        raise Unreadable(f"its body cannot be decompressed: {error}") from None
    if inflater.unconsumed_tail:
        raise Unreadable(f"its body is larger than {MOST_BYTES} bytes once it is decompressed")
    if not inflater.eof:
        raise Unreadable("its body ends in the middle of what was compressed")
    return out


def _is_text(body: bytes) -> bool:
    try:
        body.decode()
    except UnicodeDecodeError:
        return False
    return True
