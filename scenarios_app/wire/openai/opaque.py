"""What of an answer goes back to its provider unread: as long as a real one, and made of a name."""

from base64 import urlsafe_b64encode
from hashlib import shake_256

_BYTES = 147


def opaque_of(name: str) -> str:
    """The same text for the same name."""
    return "gAAAAAB" + urlsafe_b64encode(shake_256(name.encode()).digest(_BYTES)).decode()
