"""What of OpenAI's answers means nothing: the field by which deltas hide how long their text is,
which fills each up, and what goes back to its provider unread, as long as a real one and made of a
name."""

from base64 import urlsafe_b64encode
from hashlib import shake_256

MAX_PADDING_CHARS = 16
_LETTERS = "kT3vQxZ8mYw1Lr5D"
# By the length of a text, cut at the size: what fills it up, as JSON that goes on with an object.
PADDINGS = tuple(
    b',"obfuscation":"%b"' % _LETTERS[: MAX_PADDING_CHARS - length].encode()
    for length in range(MAX_PADDING_CHARS)
)

_OPAQUE_BYTES = 147


def make_opaque_text(name: str) -> str:
    """The same text for the same name."""
    return "gAAAAAB" + urlsafe_b64encode(shake_256(name.encode()).digest(_OPAQUE_BYTES)).decode()
