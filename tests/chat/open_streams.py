"""Response streams that a test reads in pieces and may close early."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import httpx2

from tests.chat.api_client import TIMEOUT_SECONDS, Api, Event, parse_events, without_comments


class OpenStream:
    """A stream that is being read; `raw` holds the complete events so far, without comments."""

    def __init__(self, response: httpx2.Response) -> None:
        self.response = response
        self.trace_id = str(response.headers["x-trace-id"])
        self.conversation_id = str(response.headers["x-conversation-id"])
        self._pieces = response.iter_raw()
        self._received = b""

    @property
    def raw(self) -> bytes:
        complete_events = (
            self._received[: self._received.rfind(b"\n\n") + 2]
            if b"\n\n" in self._received
            else b""
        )
        return without_comments(complete_events)

    @property
    def events(self) -> list[Event]:
        return parse_events(self.raw)

    def read_events(self, count: int) -> list[Event]:
        """Read until `count` events arrived or the stream ended; return the events so far."""
        while len(self.events) < count:
            piece = next(self._pieces, None)
            if piece is None:
                break
            self._received += piece
        return self.events

    def read_until(self, text: bytes, *, times: int) -> None:
        """Read until the text occurred `times` times, in comments too."""
        while self._received.count(text) < times:
            self._received += next(self._pieces)

    def read_to_end(self) -> list[Event]:
        """Read to the end and return all events."""
        for piece in self._pieces:
            self._received += piece
        return self.events


@contextmanager
def open_stream(
    api: Api, path: str = "get_chat_response_stream", **fields: Any
) -> Iterator[OpenStream]:
    """Open a stream and close it at the end of the block, ended or not.

    Sends a message that starts a run, unless the path names a run to follow."""
    fields = {"client_id": api.client_id, **fields}
    headers = fields.pop("headers", {})
    url = f"{api.base_url}/api/{path}"
    if path.startswith("stream/"):
        response_context = httpx2.stream(
            "GET", url, params=fields, headers=headers, timeout=TIMEOUT_SECONDS
        )
    else:
        response_context = httpx2.stream(
            "POST", url, json={"message": "Go on", **fields}, timeout=TIMEOUT_SECONDS
        )
    with response_context as response:
        assert response.status_code == 200, response.read()
        yield OpenStream(response)
