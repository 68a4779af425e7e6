"""The door inside uvicorn's protocol: what is due at once is answered as soon as it is read, in one
write, and streams are written by timers. All else goes through uvicorn's cycle, as on any server,
and so does everything where the state is shared: each answer waits for it, which takes a task."""

import types
from collections.abc import Awaitable, Callable, Coroutine, Generator, Mapping
from functools import lru_cache, partial
from typing import Any, ClassVar, NamedTuple, NoReturn, TypeVar

from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol

from scenarios_app.serving.doors.asgi import give
from scenarios_app.serving.doors.bodies import SMALL_BODY
from scenarios_app.serving.doors.calls import App, Receive, Scope, Send, call_of, read_headers
from scenarios_app.serving.doors.paced import PacedStream
from scenarios_app.serving.pipeline import Pipeline
from scenarios_app.serving.playback import Answer
from scenarios_app.serving.reply import Reply
from scenarios_app.wire.registry import owns

T = TypeVar("T")


class Plain(NamedTuple):
    """What is known of a request that may be answered here, once its head is read."""

    pipeline: Pipeline
    path: str
    query: bytes
    headers: Mapping[str, str]


class DirectProtocol(HttpToolsProtocol):
    """One connection. `running` gives the pipeline, as soon as it runs; set once, before the first
    connection."""

    running: ClassVar[tuple[Callable[[], Pipeline | None], ...]] = ()
    # The body so far of a request that may be answered here, and what is known of its head.
    _pieces: list[bytes] | None = None
    _plain: Plain
    _stream: PacedStream | None = None
    _ending = False

    def on_headers_complete(self) -> None:
        # Armed by the answer before this request, if both came in one packet.
        self._unset_keepalive_if_required()
        plain = self._read_plain()
        if plain is not None and self.is_free():
            self._pieces, self._plain = [], plain
            # The one that is there belongs to the request before. uvicorn begins without one too,
            # though it declares that there always is one.
            self.cycle = None  # type: ignore[assignment]
        else:
            super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        if self._pieces is None:
            super().on_body(body)
        else:
            self._pieces.append(body)

    def on_message_complete(self) -> None:
        if self._pieces is None:
            super().on_message_complete()
            return
        pieces, self._pieces = self._pieces, None
        pipeline, path, query, headers = self._plain
        body = pieces[0] if len(pieces) == 1 else b"".join(pieces)
        call = call_of("POST", path, query=query, headers=headers, body=body)
        answering = pipeline.answer(call)
        answer = answering if pipeline.waits else begun(answering)
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
        pipeline, raw = self.running[0]() if self.running else None, path.decode("ascii")
        if pipeline is None or not owns(raw):
            return None
        if int(length) > min(SMALL_BODY, pipeline.options.max_body_bytes):
            return None
        return Plain(pipeline, raw, query, headers)

    def _given(self, answer: Answer) -> bool:
        """Give an answer, unless it takes a whole answer's delay, the connection's end, a client
        that reads, or a header that uvicorn's cycle refuses to write."""
        reply = answer.reply
        at_once = answer.at_once
        if self.flow.write_paused or not (at_once or (reply.streaming and not answer.cuts)):
            return False
        headers = "\r\n".join(map(": ".join, (*reply.headers, END)))
        if headers.count("\n") != len(reply.headers) or headers.count("\r") != len(reply.headers):
            return False
        if at_once:
            body = answer.give_at_once()
            if reply.streaming:
                body = _chunk(body) + LAST_CHUNK
            # First the journal: who has an answer may look there at once.
            answer.through()
            self.transport.write(self._opening(reply, headers, last=self._ending) + body)
            self._end(last=self._ending)
        else:
            self._play(answer, headers)
        return True

    def _play(self, answer: Answer, headers: str) -> None:
        def write(piece: bytes, over: bool) -> None:
            data = _chunk(piece) + LAST_CHUNK if over else _chunk(piece)
            if not stream.response_started:
                data = self._opening(answer.reply, headers, last=not stream.keep_alive) + data
            self.transport.write(data)

        def end() -> None:
            self._stream = None
            self._end(last=not stream.keep_alive)

        stream = PacedStream(answer, write=write, end=end, loop=self.loop)
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
LAST_CHUNK = b"0\r\n\r\n"


@lru_cache(maxsize=4)
def _lines(*headers: tuple[bytes, bytes]) -> bytes:
    """The header lines that all answers of one second have."""
    return b"".join(b"%b: %b\r\n" % header for header in headers)


def _chunk(data: bytes) -> bytes:
    return b"%x\r\n%b\r\n" % (len(data), data) if data else b""


def begun(coroutine: Coroutine[Any, Any, T]) -> T | Awaitable[T]:
    """Run a coroutine up to where it first has to wait: what it comes to, or else the rest of it,
    for a task to await."""
    try:
        waits_for = coroutine.send(None)
    except StopIteration as end:
        result: T = end.value
        return result
    except Exception as error:
        return _failed(error)
    return _rest(coroutine, waits_for)


async def _failed(error: Exception) -> NoReturn:
    raise error


@types.coroutine
def _rest(coroutine: Coroutine[Any, Any, T], waits_for: Any) -> Generator[Any, Any, T]:
    while True:
        try:
            sent = yield waits_for
        except BaseException as error:
            go_on = partial(coroutine.throw, error)
        else:
            go_on = partial(coroutine.send, sent)
        try:
            waits_for = go_on()
        except StopIteration as end:
            result: T = end.value
            return result
