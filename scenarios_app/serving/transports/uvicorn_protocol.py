"""The transport inside uvicorn's protocol: immediate replies are sent in one write as soon as the
request is parsed, and streams are written by timers.

Everything else goes through uvicorn's cycle, as on any server. So does everything with shared
state, since each answer waits for Redis, which takes a task.
"""

import re
from collections import Counter, OrderedDict
from collections.abc import Awaitable, Callable
from functools import lru_cache
from typing import ClassVar, NamedTuple

from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol

from scenarios_app.serving.exchange import RequestHead, head_of
from scenarios_app.serving.executor import run_eagerly
from scenarios_app.serving.pipeline import Pipeline
from scenarios_app.serving.playback import Answer
from scenarios_app.serving.short_path import PlainAnswer, is_plain_head
from scenarios_app.serving.transports.asgi import send_answer
from scenarios_app.serving.transports.asgi_scope import (
    App,
    Receive,
    Scope,
    Send,
    make_call,
    read_headers,
)
from scenarios_app.serving.transports.body_memory import SMALL_BODY
from scenarios_app.serving.transports.timed_stream import TimedStream
from scenarios_app.wire.base import Call
from scenarios_app.wire.registry import is_provider_path


class PlainHead(NamedTuple):
    """The head of a request that may be answered inside the protocol: a call without body, and the
    parsed head. The body may have `max_length` bytes. With `keep_alive` the client uses the
    connection again."""

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


NO_HEAD = (None, 0)


class UvicornProtocol(HttpToolsProtocol):
    """One HTTP connection. `running` returns the pipeline once it runs, and `keep_alive_headers`
    tell clients how long it stays open; both are set before the first connection."""

    running: ClassVar[tuple[Callable[[], Pipeline | None], ...]] = ()
    keep_alive_headers: ClassVar[tuple[tuple[bytes, bytes], ...]] = ()
    # Recent heads, by their bytes without the digits of the content length.
    _cached_heads: ClassVar[OrderedDict[bytes, PlainHead]] = OrderedDict()
    # Number of open connections whose latest request was of a session and path.
    _siblings: ClassVar[Counter[tuple[str, str]]] = Counter()
    _sibling_key: tuple[str, str] | None = None
    # The incomplete body of a request that may be answered here, and its known head.
    _pieces: list[bytes] | None = None
    _plain: PlainHead
    _stream: TimedStream | None = None
    _ending = False
    # True if the next byte begins a request; and the head's bytes, if they came in one packet.
    _is_between_requests = True
    _raw: bytes | None = None
    # Bytes that arrived before the previous answer; only a subclass sets it.
    _held: bytes | bytearray = b""

    def data_received(self, data: bytes) -> None:
        """Answer a whole plain request on the short path; parse all other bytes as uvicorn does."""
        if not self._is_between_requests:
            self._parse(data)
            return
        raw, end, body = data.partition(HEAD_END)
        plain, length = self._cached_head(raw) if end else NO_HEAD
        if plain is None or length != len(body) or not self._try_short_path(plain, body):
            self._raw = raw if end else None
            self._parse(data)
            self._raw = None

    def _parse(self, data: bytes) -> None:
        """Parse bytes with uvicorn's parser, which calls the `on_…` methods."""
        super().data_received(data)

    def _try_short_path(self, plain: PlainHead, body: bytes) -> bool:
        """Answer a request without parsing its head; return False if it is not a plain one."""
        path = plain.pipeline.short_path
        if path is None or self._held or not self.is_free() or self.flow.write_paused:
            return False
        answer = path.answer(plain.head, self._call(plain, body))
        if answer is not None:
            self._unset_keepalive_if_required()
            self._begin(plain)
            self._send_short(answer)
        return answer is not None

    def _call(self, plain: PlainHead, body: bytes) -> Call:
        """Return the call with this head and body."""
        key = plain.head.session, plain.call.path
        if key != self._sibling_key:
            self._join_siblings(key)
        return plain.call_with(body, self._siblings[key] - 1)

    def _join_siblings(self, key: tuple[str, str] | None) -> None:
        """Count this connection among those of a session and path, and no longer among others."""
        if (previous := self._sibling_key) is not None:
            self._siblings[previous] -= 1
            if not self._siblings[previous]:
                del self._siblings[previous]
        if key is not None:
            self._siblings[key] += 1
        self._sibling_key = key

    def _begin(self, plain: PlainHead) -> None:
        """Prepare for a request that is answered without uvicorn's cycle."""
        self._ending = self._ending or not plain.keep_alive
        # The cycle belongs to the previous request. uvicorn starts without one too, although its
        # type does not allow None.
        self.cycle = None  # type: ignore[assignment]

    def on_message_begin(self) -> None:
        self._is_between_requests = False
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        """Begin to collect a plain request; leave any other to uvicorn."""
        # Set by the previous answer, if both requests came in one packet.
        self._unset_keepalive_if_required()
        raw, self._raw = self._raw, None
        plain, _ = NO_HEAD if raw is None else self._cached_head(raw)
        plain = plain or self._read_plain_head()
        if plain is not None and self.is_free():
            self._pieces, self._plain = [], plain
            self._cache_head(raw, plain)
            self._begin(plain)
        else:
            self._start_cycle()

    def on_body(self, body: bytes) -> None:
        """Collect a piece of the body if `on_headers_complete` took the request as a plain one;
        else pass it on to uvicorn."""
        if self._pieces is None:
            super().on_body(body)
        else:
            self._pieces.append(body)

    def on_message_complete(self) -> None:
        """Answer a plain request here; uvicorn's cycle answers all others."""
        self._is_between_requests = True
        if self._pieces is None:
            super().on_message_complete()
            return
        pieces, self._pieces = self._pieces, None
        body = pieces[0] if len(pieces) == 1 else b"".join(pieces)
        answer = _start_answer(self._plain, self._call(self._plain, body))
        if not (isinstance(answer, Answer) and self._try_send(answer)):
            self._answer_through_cycle(answer)

    def connection_lost(self, exc: Exception | None) -> None:
        """Also stop the stream that is sent here, and count the connection no longer."""
        super().connection_lost(exc)
        self._join_siblings(None)
        if self._stream is not None:
            self._stream.leave()

    def pause_writing(self) -> None:
        """Also stop the stream that is sent here."""
        super().pause_writing()
        if self._stream is not None:
            self._stream.block()

    def resume_writing(self) -> None:
        """Also go on with the stream that is sent here."""
        super().resume_writing()
        if self._stream is not None:
            self._stream.unblock()

    def is_free(self) -> bool:
        """Return whether every earlier request of this connection is answered."""
        return self.cycle is None or self.cycle.response_complete

    def shutdown(self) -> None:
        """Close the connection as uvicorn does, after a plain request that is being answered."""
        if self._pieces is None:
            super().shutdown()
        else:
            self._ending = True

    def _read_plain_head(self) -> PlainHead | None:
        """Return the head of a usual request: a small body of known length, and no other protocol;
        else None."""
        parser, (path, _, query) = self.parser, self.url.partition(b"?")
        if (
            parser.get_method() != b"POST"
            or not path.startswith(b"/")
            or not path.isascii()
            or self.expect_100_continue
            or parser.get_http_version() != "1.1"
            or parser.should_upgrade()
            or self.root_path
        ):
            return None
        headers = read_headers(self.headers)
        length = headers.get("content-length", "")
        if not LENGTH.fullmatch(length) or "transfer-encoding" in headers:
            return None
        pipeline, raw = self._pipeline(), path.decode("ascii")
        if pipeline is None or not is_provider_path(raw):
            return None
        max_length = min(SMALL_BODY, pipeline.options.max_body_bytes)
        if int(length) > max_length:
            return None
        call = make_call("POST", raw, query=query, headers=headers, body=b"")
        head = head_of(call)
        return PlainHead(pipeline, call, head, max_length, parser.should_keep_alive())

    def _pipeline(self) -> Pipeline | None:
        """Return the pipeline, or None before it runs."""
        return self.running[0]() if self.running else None

    def _cached_head(self, raw: bytes) -> tuple[PlainHead | None, int]:
        """Return the cached head of these bytes, content length aside, and that; else NO_HEAD."""
        declared = CONTENT_LENGTH.search(raw)
        if declared is None:
            return NO_HEAD
        plain = self._cached_heads.get(raw[: declared.start(1)] + raw[declared.end(1) :])
        length = int(declared[1])
        if plain is None or plain.pipeline is not self._pipeline() or length > plain.max_length:
            return NO_HEAD
        return plain, length

    def _cache_head(self, raw: bytes | None, plain: PlainHead) -> None:
        """Cache a plain head whose bytes belong to one request: one line per header after the
        first, each ended properly."""
        # The limit must hold for the longest content length.
        max_head_bytes = (
            min(MAX_HEAD_BYTES, plain.pipeline.options.max_header_bytes) - MAX_LENGTH_DIGITS
        )
        if raw is None or len(raw) > max_head_bytes or not is_plain_head(plain.head, plain.call):
            return
        declared = CONTENT_LENGTH.search(raw)
        if declared and raw.startswith(b"POST ") and _count_lines(raw) == len(self.headers):
            self._cached_heads[raw[: declared.start(1)] + raw[declared.end(1) :]] = plain
            if len(self._cached_heads) > MAX_HEADS:
                self._cached_heads.popitem(last=False)

    def _try_send(self, answer: Answer) -> bool:
        """Send an answer; return False for delays, cuts, slow clients and headers that uvicorn
        refuses, which the cycle handles."""
        reply = answer.reply
        is_immediate = answer.is_immediate
        if self.flow.write_paused or not (
            is_immediate or (reply.streaming and not answer.reply.cut)
        ):
            return False
        headers = "\r\n".join(map(": ".join, (*reply.headers, END)))
        if headers.count("\n") != len(reply.headers) or headers.count("\r") != len(reply.headers):
            return False
        if is_immediate:
            body = answer.immediate_body()
            # First the journal: who has an answer may look there at once.
            answer.finish()
            self._send(reply.status, headers.encode("latin-1"), body, chunked=reply.streaming)
        else:
            self._play(answer, headers.encode("latin-1"))
        return True

    def _send_short(self, answer: PlainAnswer) -> None:
        """Send an answer of the short path."""
        http, values = answer.http, answer.values
        body = http.body.fill(values)
        lines = (b"%d" % len(body)).join([piece.fill(values) for piece in http.head])
        self._send(http.status, lines, body, chunked=http.chunked)

    def _send(self, status: int, lines: bytes, body: bytes, *, chunked: bool) -> None:
        """Send a whole response with these header lines."""
        last = self._ending
        if chunked:
            body = _encode_chunk(body) + LAST_CHUNK
        self.transport.write(self._encode_head(status, lines, chunked=chunked, last=last) + body)
        self._end(last=last)

    def _play(self, answer: Answer, lines: bytes) -> None:
        """Send a timed answer; `lines` are its header lines."""
        transport, reply = self.transport, answer.reply

        def write(piece: bytes, over: bool) -> None:
            """Write a piece as a chunk, the first after the head of the response."""
            data = _encode_chunk(piece)
            if not stream.response_started:
                last = not stream.keep_alive
                head = self._encode_head(reply.status, lines, chunked=reply.streaming, last=last)
                data = head + data
            transport.write(data + LAST_CHUNK if over else data)

        def end() -> None:
            """End the exchange after the last piece."""
            self._stream = None
            self._end(last=not stream.keep_alive)

        stream = TimedStream(answer, write=write, end=end, loop=self.loop)
        stream.keep_alive = not self._ending
        # A stream has the attributes of a cycle that uvicorn uses.
        self._stream = self.cycle = stream  # type: ignore[assignment]
        stream.go_on()

    def _encode_head(self, status: int, lines: bytes, *, chunked: bool, last: bool) -> bytes:
        """Return the head of a response; `last` closes the connection after it."""
        keep_alive = () if last else self.keep_alive_headers
        ours = _header_lines(*self.server_state.default_headers, *keep_alive)
        end = (CLOSE if last else b"") + (CHUNKED if chunked else b"\r\n")
        return b"".join((STATUS_LINE[status], ours, lines, end))

    def _end(self, *, last: bool) -> None:
        """End the exchange; close the connection if this was its last response."""
        if last:
            self.transport.close()
        self.on_response_complete()

    def _start_cycle(self) -> None:
        """Let uvicorn's cycle answer the request, or upgrade the connection."""
        previous = self.cycle
        super().on_headers_complete()
        cycle = self.cycle
        if cycle is not previous and cycle.keep_alive:
            cycle.default_headers = [*cycle.default_headers, *self.keep_alive_headers]

    def _answer_through_cycle(self, answer: Answer | Awaitable[Answer]) -> None:
        """Send an answer through uvicorn's cycle; its request is read already."""

        async def play(scope: Scope, receive: Receive, send: Send) -> None:
            """Send the answer, as the application that uvicorn's cycle calls."""
            await send_answer(answer if isinstance(answer, Answer) else await answer, receive, send)

        app: App = self.app
        self.app = play
        self._start_cycle()
        super().on_message_complete()
        self.app = app
        if self._ending:
            super().shutdown()


# After the last of the headers.
END = ("",)
HEAD_END = b"\r\n\r\n"
# Limits of the cached heads; the oldest is evicted.
MAX_HEADS = 1_024
MAX_HEAD_BYTES = 4_096
LAST_CHUNK = b"0\r\n\r\n"
CLOSE = b"connection: close\r\n"
CHUNKED = b"transfer-encoding: chunked\r\n\r\n"
# Heads are cached without these digits. A body with more of them is too large.
MAX_LENGTH_DIGITS = 6
LENGTH = re.compile(r"[0-9]{1,6}")
CONTENT_LENGTH = re.compile(rb"\r\ncontent-length: *(\d{1,6})(?=\r\n|\Z)", re.IGNORECASE)


def _count_lines(raw: bytes) -> int | None:
    """Return the number of lines after the first, or None if one is not ended by CRLF."""
    ends = raw.count(b"\r\n")
    return ends if ends == raw.count(b"\n") == raw.count(b"\r") else None


@lru_cache(maxsize=4)
def _header_lines(*headers: tuple[bytes, bytes]) -> bytes:
    """Return the header lines that all responses of one second share."""
    return b"".join(b"%b: %b\r\n" % header for header in headers)


def _encode_chunk(data: bytes) -> bytes:
    return b"%x\r\n%b\r\n" % (len(data), data) if data else b""


def _start_answer(plain: PlainHead, call: Call) -> Answer | Awaitable[Answer]:
    """Start to answer a call with this head. Return the answer, or an awaitable of it."""
    answering = plain.pipeline.answer(call, plain.head)
    return answering if plain.pipeline.waits else run_eagerly(answering)
