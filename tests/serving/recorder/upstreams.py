"""Pipelines with an upstream: a socket and some bytes, or nobody at all."""

import gzip
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from scenarios_app.serving.recorder.recordings import Mode, Recording
from tests.chat.raw_provider import RawProvider, raw_provider
from tests.serving.pipelines import KEY, Playing

JSON = b'{"id": "chatcmpl-1", "choices": [], "object": "chat.completion"}'
HEAD = b"HTTP/1.1 200 OK\r\n"
SESSION = "s"
REAL = "sk-the-real-one-0123456789"


def whole(body: bytes = JSON, *lines: bytes, status: bytes = b"200 OK") -> bytes:
    """An answer of known length."""
    head = (b"HTTP/1.1 " + status, b"content-type: application/json", *lines)
    length = b"content-length: %d" % len(body)
    return b"\r\n".join((*head, length, b"connection: close", b"", body))


def chunk(data: bytes) -> bytes:
    """One piece of an answer whose length nobody knows."""
    return b"%x\r\n%b\r\n" % (len(data), data)


def zipped(body: bytes = JSON) -> bytes:
    return whole(gzip.compress(body), b"content-encoding: gzip")


class Recorded(Playing):
    """A pipeline whose requests are recorded."""

    def __init__(
        self, place: str, *documents: Any, mode: Mode = "all", keys: Any = None, **options: Any
    ) -> None:
        upstreams = {"openai": f"http://{place}", "anthropic": f"http://{place}/v1"}
        super().__init__(*documents, **{"upstreams": upstreams, **options})
        self.recording = Recording(None, mode, "r", keys or {})
        self.pipeline.recordings[None] = self.recording


@asynccontextmanager
async def recorded(
    *pieces: bytes, hold: bool = False, **how: Any
) -> AsyncIterator[tuple[RawProvider, Recorded]]:
    """An upstream that answers with these pieces, and a pipeline that passes on to it."""
    async with raw_provider(*pieces, hold=hold) as upstream:
        yield upstream, Recorded(upstream.address, **how)


__all__ = ["KEY", "RawProvider"]
