"""Collects the messages of a WebSocket that answer a request, as its response over HTTP."""

from scenarios_app.recording import RecordedResponse
from scenarios_app.wire.base import Headers
from scenarios_app.wire.openai.responses.messages import ServerMessage

_STREAM: Headers = (("content-type", "text/event-stream"),)
_JSON: Headers = (("content-type", "application/json"),)


class AnswerMessages:
    """The messages of one answer. `is_whole` tells whether the last one has come."""

    def __init__(self) -> None:
        self.is_whole = False
        self._chunks: list[tuple[float, bytes]] = []
        self._error: ServerMessage | None = None

    def add(self, at: float, message: ServerMessage) -> None:
        """Add a message that came `at` milliseconds after the request."""
        if message.status is not None and not self._chunks:
            self._error = message
        self._chunks.append((at, message.event))
        self.is_whole = message.ends

    def response(self) -> RecordedResponse:
        """Return the response; it is cut if its last message is missing."""
        if (error := self._error) is not None and error.status is not None:
            chunks = ((self._chunks[0][0], error.body),)
            return RecordedResponse(error.status, (*_JSON, *error.headers), chunks)
        return RecordedResponse(200, _STREAM, tuple(self._chunks), cut=not self.is_whole)
