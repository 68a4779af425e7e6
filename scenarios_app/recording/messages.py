"""Collects the messages of a WebSocket that answer a request, as its response over HTTP."""

from scenarios_app.recording import RecordedResponse
from scenarios_app.wire.base import Headers
from scenarios_app.wire.sockets import STREAM_HEADERS, ServerMessage


class AnswerMessages:
    """The messages of one answer. `is_whole` tells whether the last one has come."""

    def __init__(self) -> None:
        self.is_whole = False
        self._head: tuple[int, Headers] = (200, STREAM_HEADERS)
        self._chunks: list[tuple[float, bytes]] = []

    def add(self, at: float, message: ServerMessage) -> None:
        """Add a message that came `at` milliseconds after the request."""
        if not self._chunks:
            self._head = message.head
        self._chunks.append((at, message.body_after(len(self._chunks))))
        self.is_whole = message.ends

    def response(self) -> RecordedResponse:
        """Return the response; it is cut if its last message is missing."""
        return RecordedResponse(*self._head, tuple(self._chunks), cut=not self.is_whole)
