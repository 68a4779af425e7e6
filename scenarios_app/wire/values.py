"""Whether JSON has too many values, seen before any of them takes memory."""

from collections.abc import Iterator

# So much is looked at in one go: a few milliseconds.
SLICE_BYTES = 262_144


def more_values_than(most: int, data: bytes) -> bool:
    """Whether JSON surely has more values; false where decoding it has to tell. What is no JSON
    may be taken for either."""
    if max(_counts(data)) <= most:
        return False
    commas = openings = 0
    for outside in _outside_strings(data):
        more_commas, more_openings = _counts(outside)
        commas, openings = commas + more_commas, openings + more_openings
        if max(commas, openings) > most:
            return True
    return False


def _counts(data: bytes) -> tuple[int, int]:
    """Commas stand between two values each, and an array or object is a value itself."""
    return data.count(b","), data.count(b"[") + data.count(b"{")


def _outside_strings(data: bytes) -> Iterator[bytes]:
    """What of JSON stands outside its strings, slice by slice."""
    inside, escaped = False, b""
    for start in range(0, len(data), SLICE_BYTES):
        piece = (escaped + data[start : start + SLICE_BYTES]).replace(b"\\\\", b"")
        # A backslash at the end belongs to what comes first in the next slice.
        escaped = b"\\" if piece.endswith(b"\\") else b""
        between = piece.removesuffix(escaped).replace(b'\\"', b"").split(b'"')
        yield b"".join(between[inside::2])
        inside ^= len(between) % 2 == 0
