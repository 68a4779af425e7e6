"""Queues the bytes of pipelined requests: those that a client sends before the earlier ones are
answered.

uvicorn parses all of them and queues a task for each, however many there are and whether or not
their answers are read. Here the parser gets one request at a time. The bytes after it wait until it
is answered, and reading pauses while many wait.
"""

from typing import ClassVar

HEAD_END = b"\r\n\r\n"
# A connection with more queued bytes is not read.
MAX_QUEUED_BYTES = 65_536
# Limit for all connections together; the connection that exceeds it is closed.
MAX_ALL_QUEUED_BYTES = 16_777_216


class RequestQueue:
    """The unparsed bytes of one connection, in pieces that belong to one request each."""

    # Queued bytes of all connections.
    _all_queued_bytes: ClassVar[int] = 0

    def __init__(self) -> None:
        self._queued = bytearray()
        # Missing bytes of a body with a known length.
        self._body_left = 0
        # The last three taken bytes of an unfinished head or body.
        self._tail = b""

    def __len__(self) -> int:
        return len(self._queued)

    @property
    def is_long(self) -> bool:
        """Return True if no more bytes should be read from the client."""
        return len(self._queued) > MAX_QUEUED_BYTES

    @property
    def exceeds_total(self) -> bool:
        """Return True if all connections together queue too many bytes."""
        return RequestQueue._all_queued_bytes > MAX_ALL_QUEUED_BYTES

    def begin_body(self, length: int) -> None:
        """Set the known length of a body, 0 for others; its bytes belong to this request."""
        self._body_left = length

    def end_request(self) -> None:
        """End a request; the next bytes belong to another."""
        self._body_left, self._tail = 0, b""

    def passes(self, data: bytes) -> bool:
        """Return True, and count the data as taken, if all of it belongs to a body of known length
        and nothing is queued."""
        if self._queued or len(data) > self._body_left:
            return False
        self._body_left -= len(data)
        return True

    def add(self, data: bytes) -> None:
        """Queue bytes that have arrived."""
        self._queued += data
        RequestQueue._all_queued_bytes += len(data)

    def take_piece(self) -> bytes:
        """Remove and return the next bytes, which do not include the beginning of a next
        request."""
        size = self._piece_size()
        piece = bytes(self._queued[:size])
        del self._queued[:size]
        RequestQueue._all_queued_bytes -= size
        if self._body_left:
            self._body_left -= size
        else:
            self._tail = b"" if piece.endswith(HEAD_END) else (self._tail + piece[-3:])[-3:]
        return piece

    def take_all(self) -> bytes:
        """Remove and return all bytes, if no more requests are answered."""
        queued = bytes(self._queued)
        RequestQueue._all_queued_bytes -= len(queued)
        self._queued.clear()
        return queued

    def _piece_size(self) -> int:
        """Return how many queued bytes may be parsed. A chunked body is parsed in pieces that end
        where it may end."""
        queued, tail = self._queued, self._tail
        if self._body_left:
            return min(self._body_left, len(queued))
        if tail and (head_end := (tail + queued[:3]).find(HEAD_END)) >= 0:
            return head_end + len(HEAD_END) - len(tail)
        head_end = queued.find(HEAD_END)
        return len(queued) if head_end < 0 else head_end + len(HEAD_END)
