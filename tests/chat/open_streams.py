"""Streams that a test reads piece by piece, and leaves when it wants to."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import httpx2

from tests.chat.asking import SECONDS, Api, Event, events_of, without_comments


class OpenStream:
    """A stream that is being read; `raw` is what came so far, without comments."""

    def __init__(self, response: httpx2.Response) -> None:
        self.response = response
        self.trace_id = str(response.headers["x-trace-id"])
        self.conversation_id = str(response.headers["x-conversation-id"])
        self._pieces = response.iter_raw()
        self._read = b""

    @property
    def raw(self) -> bytes:
        whole = self._read[: self._read.rfind(b"\n\n") + 2] if b"\n\n" in self._read else b""
        return without_comments(whole)

    @property
    def events(self) -> list[Event]:
        return events_of(self.raw)

    def until(self, count: int) -> list[Event]:
        """Read on until there are so many events, or no more to come."""
        while len(self.events) < count:
            piece = next(self._pieces, None)
            if piece is None:
                break
            self._read += piece
        return self.events

    def until_said(self, text: bytes, *, times: int) -> None:
        """Read on until this was said so often, in comments too."""
        while self._read.count(text) < times:
            self._read += next(self._pieces)

    def read(self) -> list[Event]:
        """Read to the end."""
        for piece in self._pieces:
            self._read += piece
        return self.events


@contextmanager
def opened(api: Api, path: str = "get_chat_response_stream", **fields: Any) -> Iterator[OpenStream]:
    """A stream, left at the end of the block whether it has ended or not. A message begins a run
    unless the path names one to follow."""
    fields = {"client_id": api.client_id, **fields}
    headers = fields.pop("headers", {})
    url = f"{api.base_url}/api/{path}"
    if path.startswith("stream/"):
        asked = httpx2.stream("GET", url, params=fields, headers=headers, timeout=SECONDS)
    else:
        asked = httpx2.stream("POST", url, json={"message": "Go on", **fields}, timeout=SECONDS)
    with asked as response:
        assert response.status_code == 200, response.read()
        yield OpenStream(response)
