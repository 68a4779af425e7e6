"""Thought signatures: bytes to Google, which JSON carries in base64; any text to a script.

A scripted signature that is base64 is sent as it is, any other encoded; read back, both are what
was scripted. Clients send them in either alphabet of base64, with padding or without.
"""

from base64 import b64decode, b64encode
from binascii import Error

_STANDARD = str.maketrans("-_", "+/")


def encode_signature(signature: str) -> str:
    """A scripted signature as it is sent."""
    if _bytes_of(signature) is not None:
        return signature
    return b64encode(signature.encode("utf-8", "surrogatepass")).decode()


def decode_signature(sent: str) -> str:
    """What a client sends back as it was scripted; what is no base64 stays as it is."""
    standard = sent.translate(_STANDARD).rstrip("=")
    standard += "=" * (-len(standard) % 4)
    data = _bytes_of(standard)
    if data is None:
        return sent
    try:
        text = data.decode("utf-8", "surrogatepass")
    except UnicodeDecodeError:
        return standard
    return text if encode_signature(text) == standard else standard


def _bytes_of(text: str) -> bytes | None:
    """The bytes of standard, padded base64; None where a text is none, or empty."""
    try:
        data = b64decode(text, validate=True)
    except (Error, ValueError):
        return None
    return data if data and b64encode(data).decode() == text else None
