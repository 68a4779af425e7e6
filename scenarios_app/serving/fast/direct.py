"""Answers plain requests on one connection of `serve` without ASGI, and without a task if all bytes
are due or a timer can send them."""

from collections import Counter
from collections.abc import Awaitable, Callable, Iterable

from scenarios_app.serving.executor import run_eagerly
from scenarios_app.serving.fast.connection import DirectConnection, ParsedHead
from scenarios_app.serving.fast.delivery import (
    Delivery,
    ResponseWriter,
    TaskDelivery,
    TimedDelivery,
    encode_headers,
)
from scenarios_app.serving.fast.heads import HeadCache, PlainHead, read_plain_head
from scenarios_app.serving.fast.recent import RecentAnswers
from scenarios_app.serving.fast.short_path import PlainAnswer, ShortPath
from scenarios_app.serving.fast.websocket_protocol import WebSocketProtocol
from scenarios_app.serving.pipeline import Pipeline
from scenarios_app.serving.playback import Answer
from scenarios_app.serving.services import pipeline_now, services
from scenarios_app.serving.transports.asgi_scope import make_call, read_headers
from scenarios_app.serving.transports.websocket import refuse_handshake
from scenarios_app.wire.base import Call
from scenarios_app.wire.registry import find_intended_path, is_provider_path


class FastLayer:
    """The state that the connections of one process share. `running` returns the pipeline once it
    runs, and `record` gets each PlainAnswer; without it the pipeline records them."""

    def __init__(
        self,
        running: Callable[[], Pipeline | None],
        record: Callable[[PlainAnswer], None] | None = None,
    ) -> None:
        self.running = running
        self.heads = HeadCache()
        # Number of open connections whose latest request was of a session and path.
        self.siblings: Counter[tuple[str, str]] = Counter()
        self._record = record
        self._short_path: ShortPath | None = None

    def answers_on(self, connection: DirectConnection) -> "DirectAnswers":
        """Return the direct answers of a new connection."""
        return DirectAnswers(self, connection)

    def pipeline(self) -> Pipeline | None:
        """Return the pipeline if its answers may be sent directly: state is in this process, and
        nothing is being recorded."""
        pipeline = self.running()
        return None if pipeline is None or pipeline.waits or pipeline.recordings else pipeline

    def short_path(self, pipeline: Pipeline) -> ShortPath | None:
        """Return the short path of a pipeline, or None if its state is shared."""
        path = self._short_path
        if path is None or path.pipeline is not pipeline:
            path = self._short_path = None if pipeline.waits else ShortPath(pipeline, self._record)
        return path


def make_layer() -> FastLayer:
    """Return the layer of this process, whose services count and journal its answers in batches."""
    here = services()
    answers = RecentAnswers(here.record_all)
    here.add_source(answers)
    return FastLayer(pipeline_now, answers.add)


class Incoming:
    """A plain request whose body is not complete; `is_last` closes the connection after it."""

    def __init__(self, plain: PlainHead) -> None:
        self.plain = plain
        self.is_last = not plain.keep_alive
        self.pieces: list[bytes] = []


class DirectAnswers:
    """The direct answers of one connection. `current` is the request that comes in or the answer
    that is sent, None between them and while ASGI answers."""

    def __init__(self, layer: FastLayer, connection: DirectConnection) -> None:
        self.current: Incoming | Delivery | None = None
        self._layer = layer
        self._connection = connection
        self._sibling_key: tuple[str, str] | None = None

    def take_packet(self, raw: bytes, body: bytes) -> bool:
        """Answer a request that is whole in one packet and has a cached head, whose bytes are
        `raw`; return False for any other. The connection must be free."""
        plain, length = self._find_head(raw)
        if plain is None or length != len(body):
            return False
        self._answer(plain, body, is_last=not plain.keep_alive)
        return True

    def begin(self, parsed: ParsedHead, raw: bytes | None) -> bool:
        """Begin to collect a plain request; return False for any other. `raw` holds the head's
        bytes if they came in one packet."""
        plain = None
        if raw is not None:
            plain, _ = self._find_head(raw)
        if plain is None:
            pipeline = self._layer.pipeline()
            plain = read_plain_head(parsed, pipeline) if pipeline is not None else None
            if plain is None:
                return False
            if raw is not None:
                self._layer.heads.add(raw, plain, header_count=len(parsed.headers))
        self.current = Incoming(plain)
        return True

    def add(self, piece: bytes) -> None:
        """Collect a piece of the body."""
        assert isinstance(self.current, Incoming)
        self.current.pieces.append(piece)

    def complete(self) -> None:
        """Answer the request that was collected."""
        incoming = self.current
        assert isinstance(incoming, Incoming)
        pieces = incoming.pieces
        body = pieces[0] if len(pieces) == 1 else b"".join(pieces)
        self.current = None
        self._answer(incoming.plain, body, is_last=incoming.is_last)

    def open_websocket(self, url: bytes, headers: Iterable[tuple[bytes, bytes]]) -> bool:
        """Open or refuse a WebSocket of a provider; return False for any other."""
        pipeline, (path, _, query) = self._layer.running(), url.partition(b"?")
        raw = path.decode("latin-1")
        if pipeline is None or not (is_provider_path(raw) or find_intended_path("POST", raw)):
            return False
        call = make_call("GET", raw, query=query, headers=read_headers(headers), body=b"")
        self._connection.start_task(self._open_websocket(pipeline, call))
        return True

    async def _open_websocket(self, pipeline: Pipeline, call: Call) -> None:
        """Send the HTTP response that refuses a WebSocket, or open it if there is none."""
        connection = self._connection
        head, refusal = await refuse_handshake(pipeline, call)
        if connection.transport.is_closing():
            return
        if refusal is not None:
            self.send(refusal, is_last=True)
        else:
            rest = connection.hand_over()
            socket = WebSocketProtocol(connection.transport, connection.server_state)
            path = self._layer.short_path(pipeline)
            socket.open(pipeline, path, call, head, rest=rest)

    def send(self, answer: Answer | Awaitable[Answer], *, is_last: bool) -> None:
        """Send an answer: now if everything is due, else by timers or in a task."""
        connection = self._connection
        writer = ResponseWriter(connection, is_last=is_last)
        if isinstance(answer, Answer) and connection.is_writable:
            reply = answer.reply
            lines = encode_headers(reply.headers)
            if answer.is_immediate and lines is not None:
                body = answer.immediate_body()
                # First the journal: who has an answer may look there at once.
                answer.finish()
                writer.write_whole(reply.status, lines, body, chunked=reply.streaming)
                return
            if reply.streaming and not reply.cut and lines is not None:
                delivery = TimedDelivery(answer, writer, end=self._end)
                self.current = delivery
                delivery.go_on()
                return
        self.current = TaskDelivery(answer, writer, connection=connection, end=self._end)

    def block(self) -> None:
        """Stop writing until `unblock`, because the client reads too slowly."""
        if isinstance(self.current, TimedDelivery):
            self.current.block()

    def unblock(self) -> None:
        """Go on writing."""
        if isinstance(self.current, TimedDelivery):
            self.current.unblock()

    def leave(self) -> None:
        """Drop what is under way, because the client disconnected or was refused."""
        self._join_siblings(None)
        current, self.current = self.current, None
        if current is not None and not isinstance(current, Incoming):
            current.leave()

    def close_after_current(self) -> bool:
        """Close the connection after the answer under way; return False if there is none."""
        match self.current:
            case None:
                return False
            case Incoming() as incoming:
                incoming.is_last = True
            case delivery:
                delivery.writer.is_last = True
        return True

    def _join_siblings(self, key: tuple[str, str] | None) -> None:
        """Count this connection among those of a session and path, and no longer among others."""
        siblings = self._layer.siblings
        if (previous := self._sibling_key) is not None:
            siblings[previous] -= 1
            if not siblings[previous]:
                del siblings[previous]
        if key is not None:
            siblings[key] += 1
        self._sibling_key = key

    def _find_head(self, raw: bytes) -> tuple[PlainHead | None, int]:
        """Return the cached head of these bytes, or None, and the length of the body."""
        pipeline = self._layer.pipeline()
        return self._layer.heads.find(raw, pipeline) if pipeline is not None else (None, 0)

    def _answer(self, plain: PlainHead, body: bytes, *, is_last: bool) -> None:
        """Answer a request: on the short path, else with the pipeline."""
        call, path = self._call(plain, body), self._layer.short_path(plain.pipeline)
        answer: PlainAnswer | Answer | Awaitable[Answer] | None = None
        if path is not None and self._connection.is_writable:
            answer = path.answer(plain.head, call)
        if isinstance(answer, PlainAnswer):
            self._send_plain(answer, is_last=is_last)
            return
        if answer is None:
            answer = run_eagerly(plain.pipeline.answer(call, plain.head))
        self.send(answer, is_last=is_last)

    def _call(self, plain: PlainHead, body: bytes) -> Call:
        """Return the call with this head and body."""
        key = plain.head.session, plain.call.path
        if key != self._sibling_key:
            self._join_siblings(key)
        return plain.call_with(body, self._layer.siblings[key] - 1)

    def _send_plain(self, answer: PlainAnswer, *, is_last: bool) -> None:
        """Send an answer that was filled into a template."""
        lines, body = answer.template.encode(answer.values)
        writer = ResponseWriter(self._connection, is_last=is_last)
        status = answer.template.reply.status
        writer.write_whole(status, lines, body, chunked=answer.is_stream)

    def _end(self) -> None:
        """End the current delivery."""
        self.current = None
