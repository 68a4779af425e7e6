"""The door inside uvicorn's protocol: what is due at once is answered as soon as it is read, in one
write, and streams are written by timers. All else goes through uvicorn's cycle, as on any server,
and so does everything where the state is shared: each answer waits for it, which takes a task."""

from collections import OrderedDict
from collections.abc import Awaitable, Callable
from functools import lru_cache
from typing import ClassVar, NamedTuple

from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol

from scenarios_app.serving.cache.requests import RequestHead
from scenarios_app.serving.exchange import head_of
from scenarios_app.serving.executor import run_eagerly
from scenarios_app.serving.pipeline import Pipeline
from scenarios_app.serving.playback import Answer
from scenarios_app.serving.reply import Reply
from scenarios_app.serving.transports.asgi import give
from scenarios_app.serving.transports.asgi_scope import (
    App,
    Receive,
    Scope,
    Send,
    call_of,
    read_headers,
)
from scenarios_app.serving.transports.body_memory import SMALL_BODY
from scenarios_app.serving.transports.timed_stream import TimedStream
from scenarios_app.wire.base import Call
from scenarios_app.wire.registry import is_provider_path


class Plain(NamedTuple):
    """The head of a request that may be answered here: a call without its body, whose length is
    said, and what its head says to the pipeline."""

    pipeline: Pipeline
    call: Call
    length: int
    head: RequestHead


class UvicornProtocol(HttpToolsProtocol):
    """One connection. `running` gives the pipeline, as soon as it runs; set once, before the first
    connection."""

    running: ClassVar[tuple[Callable[[], Pipeline | None], ...]] = ()
    # What heads say that came last, by their bytes.
    _known: ClassVar[OrderedDict[bytes | None, Plain]] = OrderedDict()
    # The body so far of a request that may be answered here, and what is known of its head.
    _pieces: list[bytes] | None = None
    _plain: Plain
    _stream: TimedStream | None = None
    _ending = False
    # Whether the next byte begins a request; the bytes of its head, if they came in one packet; and
    # its answer, if that was made before it is parsed.
    _between = True
    _raw: bytes | None = None
    _made: Answer | Awaitable[Answer] | None = None
    # Bytes that came before the request before them was answered. Only a subclass holds any.
    _held: bytes | bytearray = b""

    def data_received(self, data: bytes) -> None:
        if not self._between:
            self._parse(data)
            return
        raw, end, body = data.partition(HEAD_END)
        plain = self._known_head(raw) if end else None
        if plain is not None and len(body) == plain.length and self._may_answer(plain):
            self._answer_known(plain, body, data)
        else:
            self._raw = raw if end else None
            self._parse(data)
            self._raw = None

    def _parse(self, data: bytes) -> None:
        super().data_received(data)

    def _may_answer(self, plain: Plain) -> bool:
        return not self._held and self.is_free() and not plain.pipeline.waits

    def _answer_known(self, plain: Plain, body: bytes, data: bytes) -> None:
        """Answer a request whose head came before, so that its parser has nothing to say of it."""
        self._unset_keepalive_if_required()
        self._begin()
        answer = _asked(plain, body)
        if not (isinstance(answer, Answer) and self._given(answer)):
            # It is played out by a cycle, which begins with what the parser says.
            self._made = answer
            super().data_received(data)

    def _begin(self) -> None:
        # The cycle that is there belongs to the request before. uvicorn begins without one too,
        # though it declares that there always is one.
        self.cycle = None  # type: ignore[assignment]

    def on_message_begin(self) -> None:
        self._between = False
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        # Armed by the answer before this request, if both came in one packet.
        self._unset_keepalive_if_required()
        raw, self._raw = self._raw, None
        plain = self._known_head(raw) or self._read_plain()
        if plain is not None and self.is_free():
            self._pieces, self._plain = [], plain
            self._keep(raw, plain)
            self._begin()
        else:
            super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        if self._pieces is None:
            super().on_body(body)
        else:
            self._pieces.append(body)

    def on_message_complete(self) -> None:
        self._between = True
        if self._pieces is None:
            super().on_message_complete()
            return
        pieces, self._pieces = self._pieces, None
        if (made := self._made) is not None:
            self._made = None
            self._hand_over(made)
            return
        body = pieces[0] if len(pieces) == 1 else b"".join(pieces)
        answer = _asked(self._plain, body)
        if not (isinstance(answer, Answer) and self._given(answer)):
            self._hand_over(answer)

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        if self._stream is not None:
            self._stream.leave()

    def pause_writing(self) -> None:
        super().pause_writing()
        if self._stream is not None:
            self._stream.block()

    def resume_writing(self) -> None:
        super().resume_writing()
        if self._stream is not None:
            self._stream.unblock()

    def is_free(self) -> bool:
        """Whether this connection takes requests, and none before this one is still answered."""
        return self.cycle is None or self.cycle.response_complete

    def shutdown(self) -> None:
        if self._pieces is None:
            super().shutdown()
        else:
            self._ending = True

    def _read_plain(self) -> Plain | None:
        """The head of a request for the pipeline, if it is as nearly all are: with a small body of
        known length, and nothing that is about the connection."""
        parser, (path, _, query) = self.parser, self.url.partition(b"?")
        if (
            parser.get_method() != b"POST"
            or not path.startswith(b"/")
            or not path.isascii()
            or self.expect_100_continue
            or parser.get_http_version() != "1.1"
            or not parser.should_keep_alive()
            or parser.should_upgrade()
            or self.root_path
        ):
            return None
        headers = read_headers(self.headers)
        length = headers.get("content-length", "")
        # So many digits are too many already.
        if not length.isdecimal() or len(length) > 6 or "transfer-encoding" in headers:
            return None
        pipeline, raw = self._pipeline(), path.decode("ascii")
        if pipeline is None or not is_provider_path(raw):
            return None
        if int(length) > min(SMALL_BODY, pipeline.options.max_body_bytes):
            return None
        call = call_of("POST", raw, query=query, headers=headers, body=b"")
        return Plain(pipeline, call, int(length), head_of(call))

    def _pipeline(self) -> Pipeline | None:
        return self.running[0]() if self.running else None

    def _known_head(self, raw: bytes | None) -> Plain | None:
        plain = self._known.get(raw)
        return plain if plain is not None and plain.pipeline is self._pipeline() else None

    def _keep(self, raw: bytes | None, plain: Plain) -> None:
        """Know a head again whose bytes are all of one request's: a line for each of its headers
        after the first, and none that ends otherwise."""
        if raw is None or plain.head.is_cached or len(raw) > LONGEST_HEAD:
            return
        if raw.startswith(b"POST ") and _lines_of(raw) == len(self.headers):
            plain.head.is_cached = True
            self._known[raw] = plain
            if len(self._known) > MOST_HEADS:
                self._known.popitem(last=False)

    def _given(self, answer: Answer) -> bool:
        """Give an answer, unless it takes a whole answer's delay, the connection's end, a client
        that reads, or a header that uvicorn's cycle refuses to write."""
        reply = answer.reply
        is_immediate = answer.is_immediate
        if self.flow.write_paused or not (
            is_immediate or (reply.streaming and not answer.closes_connection)
        ):
            return False
        headers = "\r\n".join(map(": ".join, (*reply.headers, END)))
        if headers.count("\n") != len(reply.headers) or headers.count("\r") != len(reply.headers):
            return False
        if is_immediate:
            body = answer.immediate_body()
            if reply.streaming:
                body = _chunk(body) + LAST_CHUNK
            # First the journal: who has an answer may look there at once.
            answer.finish()
            self.transport.write(self._opening(reply, headers, last=self._ending) + body)
            self._end(last=self._ending)
        else:
            self._play(answer, headers)
        return True

    def _play(self, answer: Answer, headers: str) -> None:
        transport = self.transport

        def write(piece: bytes, over: bool) -> None:
            data = b"%x\r\n%b\r\n" % (len(piece), piece) if piece else b""
            if not stream.response_started:
                data = self._opening(answer.reply, headers, last=not stream.keep_alive) + data
            transport.write(data + LAST_CHUNK if over else data)

        def end() -> None:
            self._stream = None
            self._end(last=not stream.keep_alive)

        stream = TimedStream(answer, write=write, end=end, loop=self.loop)
        stream.keep_alive = not self._ending
        # All that uvicorn asks of a cycle a stream has, without being one of its class.
        self._stream = self.cycle = stream  # type: ignore[assignment]
        stream.go_on()

    def _opening(self, reply: Reply, headers: str, *, last: bool) -> bytes:
        return b"".join(
            (
                STATUS_LINE[reply.status],
                _lines(*self.server_state.default_headers),
                headers.encode("latin-1"),
                b"connection: close\r\n" if last else b"",
                b"transfer-encoding: chunked\r\n" if reply.streaming else b"",
                b"\r\n",
            )
        )

    def _end(self, *, last: bool) -> None:
        if last:
            self.transport.close()
        self.on_response_complete()

    def _hand_over(self, answer: Answer | Awaitable[Answer]) -> None:
        """Have uvicorn's cycle play an answer out, its request read already."""

        async def play(scope: Scope, receive: Receive, send: Send) -> None:
            await give(answer if isinstance(answer, Answer) else await answer, receive, send)

        app: App = self.app
        self.app = play
        super().on_headers_complete()
        super().on_message_complete()
        self.app = app
        if self._ending:
            super().shutdown()


# After the last of the headers.
END = ("",)
HEAD_END = b"\r\n\r\n"
# So many heads are known, none of them longer; the one that was met first makes room.
MOST_HEADS = 1_024
LONGEST_HEAD = 4_096
LAST_CHUNK = b"0\r\n\r\n"


def _lines_of(raw: bytes) -> int | None:
    """How many lines come after the first, None where one of them ends otherwise than it should."""
    ends = raw.count(b"\r\n")
    return ends if ends == raw.count(b"\n") == raw.count(b"\r") else None


@lru_cache(maxsize=4)
def _lines(*headers: tuple[bytes, bytes]) -> bytes:
    """The header lines that all answers of one second have."""
    return b"".join(b"%b: %b\r\n" % header for header in headers)


def _chunk(data: bytes) -> bytes:
    return b"%x\r\n%b\r\n" % (len(data), data) if data else b""


def _asked(plain: Plain, body: bytes) -> Answer | Awaitable[Answer]:
    """The answer to a request of such a head."""
    pipeline, given, _, head = plain
    call = Call(given.method, given.path, given.query, given.headers, body, given.raw_query)
    answering = pipeline.answer(call, head)
    return answering if pipeline.waits else run_eagerly(answering)
