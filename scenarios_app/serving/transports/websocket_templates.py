"""Frames of a streamed answer as a template: an answer of the short path is one formatting, as over
HTTP."""

import re
from collections.abc import Callable, Sequence

from scenarios_app.engine.producing.slots import Slotted

# More forms of one response are not kept: lengths of its values, and lanes.
MAX_FORMS = 64
# A slot while a template is made. These bytes occur in no event: JSON escapes them.
_FIRST_MARK = 0x10
_MARKS = re.compile(rb"([\x10-\x1f])\1*")
MAX_SLOTS = 16


def encode_text(payload: bytes) -> bytes:
    """Return a text frame."""
    return _text_head(len(payload)) + payload


def _text_head(size: int) -> bytes:
    if size <= 125:
        return bytes((0x81, size))
    if size < 65_536:
        return b"\x81\x7e" + size.to_bytes(2)
    return b"\x81\x7f" + size.to_bytes(8)


class FrameTemplate:
    """The frames of one response for values of certain lengths. `last_event` is the last message
    without its frame."""

    def __init__(self, events: Sequence[bytes]) -> None:
        self.frames = _slotted(events, has_heads=True)
        self.last_event = _slotted(events[-1:], has_heads=False)


def frame_template(
    body: Slotted, lengths: Sequence[int], encode: Callable[[bytes], list[bytes]]
) -> FrameTemplate | None:
    """Return the template of a response with a body of events, or None if it has too many slots.

    `encode` returns the messages of a body. Slots keep their lengths, on which the heads of frames
    depend.
    """
    if len(lengths) > MAX_SLOTS:
        return None
    marks = [bytes((_FIRST_MARK + number,)) * length for number, length in enumerate(lengths)]
    events = encode(body.fill(marks))
    return FrameTemplate(events) if events else None


def _slotted(events: Sequence[bytes], *, has_heads: bool) -> Slotted:
    pieces, numbers, piece = [], [], b""
    for event in events:
        piece += _text_head(len(event)) if has_heads else b""
        begin = 0
        for mark in _MARKS.finditer(event):
            pieces.append(piece + event[begin : mark.start()])
            numbers.append(mark[1][0] - _FIRST_MARK)
            piece, begin = b"", mark.end()
        piece += event[begin:]
    return Slotted([*pieces, piece], numbers)
