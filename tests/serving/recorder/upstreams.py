"""Pipelines with an upstream that sends fixed bytes, or that cannot be reached."""

import gzip
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from scenarios_app.serving.recorder.recordings import Mode, Recording
from tests.chat.raw_provider import RawProvider, raw_provider
from tests.serving.pipelines import KEY, Harness

JSON = b'{"id": "chatcmpl-1", "choices": [], "object": "chat.completion"}'
HEAD = b"HTTP/1.1 200 OK\r\n"
SESSION = "s"
REAL = "sk-the-real-one-0123456789"


def response_bytes(body: bytes = JSON, *lines: bytes, status: bytes = b"200 OK") -> bytes:
    """Return the bytes of a response with a content length."""
    head = (b"HTTP/1.1 " + status, b"content-type: application/json", *lines)
    length = b"content-length: %d" % len(body)
    return b"\r\n".join((*head, length, b"connection: close", b"", body))


def chunk(data: bytes) -> bytes:
    """Return one chunk of a chunked response."""
    return b"%x\r\n%b\r\n" % (len(data), data)


def gzip_response(body: bytes = JSON) -> bytes:
    return response_bytes(gzip.compress(body), b"content-encoding: gzip")


class RecordingHarness(Harness):
    """A harness whose pipeline records requests to `place`."""

    def __init__(
        self, place: str, *documents: Any, mode: Mode = "all", keys: Any = None, **options: Any
    ) -> None:
        upstreams = {"openai": f"http://{place}", "anthropic": f"http://{place}/v1"}
        super().__init__(*documents, **{"upstreams": upstreams, **options})
        self.recording = Recording(None, mode, "r", keys or {})
        self.pipeline.recordings[None] = self.recording


@asynccontextmanager
async def run_recording(
    *pieces: bytes, hold: bool = False, **options: Any
) -> AsyncIterator[tuple[RawProvider, RecordingHarness]]:
    """Run an upstream that sends these pieces, and a pipeline that forwards to it."""
    async with raw_provider(*pieces, hold=hold) as upstream:
        yield upstream, RecordingHarness(upstream.address, **options)


__all__ = ["KEY", "RawProvider"]
