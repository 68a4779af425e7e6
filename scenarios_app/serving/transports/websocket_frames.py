"""Received bytes of a WebSocket, of which each turn of the event loop parses a limited part.

A parser turns all bytes that it gets into frames, and a megabyte can be 170,000 of them. So it gets
one frame at a time, and nothing is read from the client until all received bytes are parsed.
"""

import math
import time
from collections.abc import Callable, Iterator

FRAMES_PER_TURN = 64
BYTES_PER_TURN = 16_384
# Limit for pings, pongs and empty frames of one client in a second; each costs much more than its
# six bytes.
MAX_EMPTY_FRAMES = 300
FLOODED = f"more than {MAX_EMPTY_FRAMES} pings, pongs and empty frames in a second"
MASKED = 0x80
_CONTROL = 0x08
_MAX_HEAD_BYTES = 14


class ReceivedBytes:
    """The unparsed bytes of one connection."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self.held = bytearray()
        # Missing bytes of the current frame, and the parsed bytes of an incomplete head.
        self._left = 0
        self._head = b""
        self._second, self._empty_frames = -math.inf, 0

    def __len__(self) -> int:
        return len(self.held)

    @property
    def is_between_frames(self) -> bool:
        """True if the next byte begins a frame."""
        return not (self.held or self._left or self._head)

    @property
    def is_flooded(self) -> bool:
        """True if the client has sent more than MAX_EMPTY_FRAMES in this second."""
        return self._empty_frames > MAX_EMPTY_FRAMES

    def add(self, data: bytes) -> None:
        """Add bytes that have arrived."""
        self.held += data

    def clear(self) -> None:
        """Discard all bytes, which will not be parsed."""
        self.held.clear()

    def pieces(self) -> Iterator[bytes]:
        """Yield what may be parsed in this turn: frames, or parts of one. A piece is removed when
        it is yielded."""
        room = BYTES_PER_TURN
        for _ in range(FRAMES_PER_TURN):
            if not self._left:
                self._begin_frame()
            size = min(self._left, len(self.held), room)
            if not size:
                return
            piece = bytes(self.held[:size])
            del self.held[:size]
            self._left -= size
            room -= size
            yield piece

    def _begin_frame(self) -> None:
        """Find the size of the next frame. All of an incomplete head is parsed: it may be wrong."""
        head = self._head + bytes(self.held[: _MAX_HEAD_BYTES - len(self._head)])
        begin, end = frame_bounds(head)
        if not end:
            self._head, self._left = head, len(self.held)
            return
        self._left, self._head = end - len(self._head), b""
        if head[0] & _CONTROL or begin == end:
            self._count_empty_frame()

    def _count_empty_frame(self) -> None:
        now = self._clock()
        if now - self._second >= 1.0:
            self._second, self._empty_frames = now, 0
        self._empty_frames += 1


def frame_bounds(data: bytes) -> tuple[int, int]:
    """Return where the payload of the frame at the start of `data` begins and ends, which may be
    beyond `data`; zeros if its head is incomplete."""
    if len(data) < 2:
        return 0, 0
    length, begin = data[1] & 0x7F, 2
    if length >= 126:
        begin += 2 if length == 126 else 8
        length = int.from_bytes(data[2:begin])
    if data[1] & MASKED:
        begin += 4
    return (begin, begin + length) if len(data) >= begin else (0, 0)
