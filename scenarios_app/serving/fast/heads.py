"""Decides from the head of a request whether it may be answered directly, and caches such heads."""

import re
from collections import OrderedDict
from typing import NamedTuple

from scenarios_app.serving.exchange import RequestHead, head_of
from scenarios_app.serving.fast.connection import ParsedHead
from scenarios_app.serving.fast.short_path import is_plain_head
from scenarios_app.serving.pipeline import Pipeline
from scenarios_app.serving.transports.asgi_scope import make_call, read_headers
from scenarios_app.serving.transports.body_memory import SMALL_BODY
from scenarios_app.wire.base import Call
from scenarios_app.wire.registry import is_provider_path

# Limits of the cached heads; the oldest is evicted.
MAX_HEADS = 1_024
MAX_HEAD_BYTES = 4_096
# Heads are cached without these digits. A body with more of them is too large.
MAX_LENGTH_DIGITS = 6
_LENGTH = re.compile(r"[0-9]{1,6}")
_CONTENT_LENGTH = re.compile(rb"\r\ncontent-length: *(\d{1,6})(?=\r\n|\Z)", re.IGNORECASE)


class PlainHead(NamedTuple):
    """The head of a request that is answered directly: a call without body, and the parsed head.
    The body may have `max_length` bytes. With `keep_alive` the client uses the connection again."""

    pipeline: Pipeline
    call: Call
    head: RequestHead
    max_length: int
    keep_alive: bool

    def call_with(self, body: bytes, siblings: int) -> Call:
        """Return the call with a body, from one of `siblings` + 1 connections of the session and
        path."""
        call = self.call
        headers = call.headers
        if headers["content-length"] != (length := str(len(body))):
            headers = {**headers, "content-length": length}
        return Call(
            *(call.method, call.path, call.query, headers, body, call.raw_query), siblings=siblings
        )


def read_plain_head(parsed: ParsedHead, pipeline: Pipeline) -> PlainHead | None:
    """Return the head of a plain request, or None: for anything but a POST to an endpoint that
    generates text, with a small body of known length."""
    path, _, query = parsed.url.partition(b"?")
    if (
        parsed.method != b"POST"
        or parsed.version != "1.1"
        or parsed.expects
        or not path.startswith(b"/")
        or not path.isascii()
    ):
        return None
    headers = read_headers(parsed.headers)
    length = headers.get("content-length", "")
    if not _LENGTH.fullmatch(length) or "transfer-encoding" in headers:
        return None
    raw = path.decode("ascii")
    max_length = min(SMALL_BODY, pipeline.options.max_body_bytes)
    if int(length) > max_length or not is_provider_path(raw):
        return None
    call = make_call("POST", raw, query=query, headers=headers, body=b"")
    head = head_of(call)
    if not is_plain_head(head, call):
        return None
    return PlainHead(pipeline, call, head, max_length, parsed.keep_alive)


class HeadCache:
    """The plain heads of recent requests, by their bytes without the digits of the content
    length."""

    def __init__(self, max_heads: int = MAX_HEADS) -> None:
        self._max_heads = max_heads
        self._heads: OrderedDict[bytes, PlainHead] = OrderedDict()

    def __len__(self) -> int:
        return len(self._heads)

    def find(self, raw: bytes, pipeline: Pipeline) -> tuple[PlainHead | None, int]:
        """Return the cached head of these bytes for a pipeline, or None, and the length of the
        body."""
        declared = _CONTENT_LENGTH.search(raw)
        if declared is None:
            return None, 0
        plain = self._heads.get(raw[: declared.start(1)] + raw[declared.end(1) :])
        length = int(declared[1])
        if plain is None or plain.pipeline is not pipeline or length > plain.max_length:
            return None, 0
        return plain, length

    def add(self, raw: bytes, plain: PlainHead, *, header_count: int) -> None:
        """Cache a head if its bytes certainly belong to one request: one line per header after the
        first, each ended properly."""
        # The limit must hold for the longest content length.
        max_bytes = min(MAX_HEAD_BYTES, plain.pipeline.options.max_header_bytes) - MAX_LENGTH_DIGITS
        if len(raw) > max_bytes or not raw.startswith(b"POST "):
            return
        declared = _CONTENT_LENGTH.search(raw)
        if declared and _count_lines(raw) == header_count:
            self._heads[raw[: declared.start(1)] + raw[declared.end(1) :]] = plain
            if len(self._heads) > self._max_heads:
                self._heads.popitem(last=False)


def _count_lines(raw: bytes) -> int | None:
    """Return the number of lines after the first, or None if one is not ended by CRLF."""
    ends = raw.count(b"\r\n")
    return ends if ends == raw.count(b"\n") == raw.count(b"\r") else None
