"""Filler in OpenAI's responses: the padding of deltas, and opaque texts derived from a name."""

from base64 import urlsafe_b64encode
from hashlib import shake_256

MAX_PADDING_CHARS = 16
_LETTERS = "kT3vQxZ8mYw1Lr5D"
# The padding by text length modulo the maximum, as JSON that continues an object.
PADDINGS = tuple(
    b',"obfuscation":"%b"' % _LETTERS[: MAX_PADDING_CHARS - length].encode()
    for length in range(MAX_PADDING_CHARS)
)

_OPAQUE_BYTES = 147


def make_opaque_text(name: str) -> str:
    """Return a text that looks encrypted, the same for the same name."""
    return "gAAAAAB" + urlsafe_b64encode(shake_256(name.encode()).digest(_OPAQUE_BYTES)).decode()
