"""The WebSocket transport: each message of a client becomes a call that the pipeline answers, and
the events of its answer become messages.

A session needs nothing of its connection but the few methods of `SocketConnection`, so that it is
the same on any ASGI server (`websocket_asgi`) and on the transport of `serve`
(`fast/websocket_protocol`).
"""

import asyncio
import logging
import re
import time
from collections import deque
from collections.abc import Awaitable, Callable, Iterable, Sequence
from contextlib import aclosing
from typing import Any, Protocol, TypeAlias

from msgspec.structs import replace
from websockets.frames import CloseCode

from scenarios_app.engine.canonical import ErrorAnswer
from scenarios_app.engine.producing.faults import fault_error, kind_of
from scenarios_app.engine.scenario import Fault
from scenarios_app.serving.cors import is_foreign_page
from scenarios_app.serving.exchange import RequestHead, head_of
from scenarios_app.serving.executor import run_eagerly
from scenarios_app.serving.pipeline import Pipeline
from scenarios_app.serving.playback import Answer
from scenarios_app.serving.read import admit_head
from scenarios_app.serving.recorder.upstream_socket import UpstreamSocket
from scenarios_app.serving.reply import Reply
from scenarios_app.wire.base import Call
from scenarios_app.wire.errors import WireError
from scenarios_app.wire.sockets import (
    SOCKET_KEY,
    CloseSocket,
    RefuseTurn,
    SendEvent,
    SocketAction,
    SocketLink,
    SocketProtocol,
    StartTurn,
    Turn,
)

log = logging.getLogger(__name__)

MAX_MESSAGE_BYTES = 1_048_576
# After this many actions on one connection the event loop runs other tasks.
ACTIONS_PER_TURN = 32
# 16 bytes in base64.
_KEY = re.compile(r"[A-Za-z0-9+/]{21}[AQgw]==")
# Handshake headers that later requests do not have.
_OF_HANDSHAKE = {"connection", "sec-websocket-version", "sec-websocket-extensions"}
_EVENT_STREAM = "text/event-stream"
_GOING_DOWN = ErrorAnswer(503, "The server is shutting down.", retry_after_ms=1000)


class SocketConnection(Protocol):
    """The connection of a session, after the handshake."""

    @property
    def is_writable(self) -> bool:
        """Return whether the client reads fast enough for more to be sent."""

    def send(self, messages: Sequence[bytes]) -> None:
        """Send text messages."""

    async def wait_until_writable(self) -> None:
        """Wait until the client has read enough for more to be sent."""

    def close(self, code: int, reason: str) -> None:
        """Close the connection with a close frame; `reason` has at most 123 bytes."""

    def cut(self, half_of: bytes = b"") -> None:
        """Close the connection without a close frame, after everything was sent and the first half
        of a message."""

    def ignore_pings(self) -> None:
        """Answer no ping from now on."""


def head_of_upgrade(call: Call) -> RequestHead:
    """Return the head of the requests that an upgraded connection sends: POSTs to its path."""
    return head_of(replace(call, method="POST"))


def upgrade_error(pipeline: Pipeline, call: Call, head: RequestHead) -> ErrorAnswer | None:
    """Return the error that refuses a handshake, or None if the connection may be opened."""
    endpoint, error = head.target.endpoint, head.target.error
    if endpoint is None or endpoint.socket is None:
        message = f"There is no WebSocket API at {call.path}; send HTTP requests."
        message = error.answer.message if error is not None else message
        return ErrorAnswer(426, message, code="no_websocket_api")
    if call.headers.get("sec-websocket-version") != "13":
        message = "Only version 13 of WebSockets is spoken here."
        return ErrorAnswer(426, message, headers=(("sec-websocket-version", "13"),))
    if _KEY.fullmatch(call.headers.get(SOCKET_KEY, "")) is None:
        return ErrorAnswer(400, "The header Sec-WebSocket-Key has to be 16 bytes in base64.")
    if is_foreign_page(call, pipeline.options.cors_origins):
        message = "Pages of this origin may not connect; MOCKLLM_CORS_ORIGINS allows them."
        return ErrorAnswer(403, message)
    try:
        admit_head(call, head.target, pipeline.options)
    except WireError as refused:
        return refused.answer
    return None


# Answers the call of a turn by the rules of the API and returns True, or returns the answer that is
# to be sent; False if the pipeline has to answer.
AnswerAtOnce: TypeAlias = Callable[[SocketProtocol, Turn, Call], Answer | bool]


async def refuse_handshake(pipeline: Pipeline, call: Call) -> tuple[RequestHead, Answer | None]:
    """Return the head of a handshake, and the HTTP response that refuses it or None."""
    head = head_of_upgrade(call)
    error = upgrade_error(pipeline, call, head)
    if error is None:
        return head, await pipeline.refuse_upgrade(call, head)
    return head, pipeline.refuse(call, error, head)


class SocketSession:
    """One WebSocket connection: applies the rules of its API to the messages. `answer_at_once` is
    tried for each request before the pipeline."""

    def __init__(
        self,
        pipeline: Pipeline,
        call: Call,
        head: RequestHead,
        connection: SocketConnection,
        *,
        answer_at_once: AnswerAtOnce | None = None,
    ) -> None:
        endpoint = head.target.endpoint
        assert endpoint is not None and endpoint.socket is not None
        self._pipeline = pipeline
        headers = {k: v for k, v in call.headers.items() if k not in _OF_HANDSHAKE}
        headers["content-type"] = "application/json"
        self._call = replace(call, method="POST", headers=headers)
        head.is_admitted = True
        self._head = head
        self._answer_at_once = answer_at_once
        self._connection = connection
        self._rules: SocketProtocol = endpoint.socket(call.query)
        self._upstream = UpstreamSocket(self._rules)
        self._opened_at = time.monotonic()
        self._playing: set[asyncio.Task[Any]] = set()
        self._actions: deque[SocketAction] = deque()
        self._is_acting = False
        self._is_over = self._is_leaving = False

    def receive(self, data: bytes) -> None:
        """Handle a text message of the client."""
        if self._is_over:
            return
        if self._is_leaving:
            self._act([RefuseTurn(Turn(data), _GOING_DOWN)])
        elif len(data) > MAX_MESSAGE_BYTES:
            self.refuse_large()
        else:
            self._act(self._rules.receive(data))

    def refuse_binary(self) -> None:
        """Send an error for a binary message and close the connection."""
        message = "Messages have to be text, and this one is binary."
        self._act([RefuseTurn(Turn(b""), ErrorAnswer(400, message, code="binary_message"))])
        self._act([CloseSocket(CloseCode.UNSUPPORTED_DATA, message)])

    def refuse_large(self) -> None:
        """Send an error for a message that is too large and close the connection."""
        message = f"A message is larger than {MAX_MESSAGE_BYTES} bytes."
        self._act([RefuseTurn(Turn(b""), ErrorAnswer(413, message, code="message_too_large"))])
        self._act([CloseSocket(CloseCode.MESSAGE_TOO_BIG, message)])

    def close_if_too_old(self) -> None:
        """Close the connection if it is too old by the rules of the API; called at intervals."""
        if not self._is_over:
            self._act(self._rules.expire(time.monotonic() - self._opened_at))

    def shut_down(self) -> None:
        """Refuse new requests; close the connection once no answer is under way."""
        self._is_leaving = True
        self._close_if_left()

    def leave(self) -> None:
        """End all answers after the connection was lost."""
        self._is_over = True
        for task in tuple(self._playing):
            task.cancel()
        self._upstream.close()

    def _act(self, actions: Iterable[SocketAction]) -> None:
        """Carry out the rules' actions, in order; actions that result from one are queued after
        it."""
        self._actions.extend(actions)
        if self._is_acting:
            return
        self._is_acting = True
        try:
            for _ in range(ACTIONS_PER_TURN):
                if not self._actions or self._is_over:
                    return
                self._perform(self._actions.popleft())
            asyncio.get_running_loop().call_soon(self._act, ())
        finally:
            self._is_acting = False

    def _perform(self, action: SocketAction) -> None:
        """Do what the rules of the API want: start or refuse a turn, send an event, or close."""
        if type(action) is StartTurn:
            self._start(action.turn)
            return
        match action:
            case RefuseTurn(turn, error):
                answer = self._pipeline.refuse(self._call_of(turn), error, self._head)
                self._send_whole(turn, answer)
            case SendEvent(data):
                self._connection.send([data])
            case CloseSocket(code, reason):
                self._close_once(code, reason)

    def _call_of(self, turn: Turn) -> Call:
        """Return the call of a turn: the handshake's with the turn's body."""
        link = SocketLink(turn, self._upstream)
        return replace(self._call, body=turn.body, link=link)

    def _start(self, turn: Turn) -> None:
        """Answer a turn: immediately if it needs no waiting, else in a task."""
        call, is_writable = self._call_of(turn), self._connection.is_writable
        at_once = self._answer_at_once if is_writable and turn.recall is None else None
        short_answer = at_once(self._rules, turn, call) if at_once is not None else False
        if short_answer is True:
            self._actions += self._rules.end(turn, status=200)
            return
        answer = short_answer or self._answer(call)
        if is_writable and isinstance(answer, Answer) and _can_be_sent_whole(answer):
            self._send_whole(turn, answer)
            self._actions += self._rules.end(turn, status=answer.reply.status)
            return
        if isinstance(answer, Answer):
            self._ignore_pings_if_asked(answer)
        task = asyncio.get_running_loop().create_task(self._play(turn, answer))
        self._playing.add(task)
        task.add_done_callback(self._playing.discard)

    def _answer(self, call: Call) -> Answer | Awaitable[Answer]:
        """Return the pipeline's answer to a call, or an awaitable of it."""
        answering = self._pipeline.answer(call, self._head)
        return answering if self._pipeline.waits else run_eagerly(answering)

    def _send_whole(self, turn: Turn, answer: Answer) -> None:
        """Journal and send an answer that is due now."""
        body = answer.immediate_body()
        # First the journal: a client that has the answer may look there immediately.
        answer.finish()
        self._connection.send(events_of(self._rules, turn, answer.reply, body))

    async def _play(self, turn: Turn, answer: Answer | Awaitable[Answer]) -> None:
        """Send an answer that takes time; close the connection if that fails."""
        try:
            await self._play_to_end(turn, answer)
        except Exception:
            log.exception("an answer over a WebSocket could not be sent")
            self._close_once(CloseCode.INTERNAL_ERROR, "the server failed; its log says why")

    async def _play_to_end(self, turn: Turn, answer: Answer | Awaitable[Answer]) -> None:
        """Send the events of an answer as they become due, and break off by its fault if it has
        one."""
        connection, whole, sent = self._connection, b"", 0
        if not isinstance(answer, Answer):
            answer = await answer
            self._ignore_pings_if_asked(answer)
        fault = answer.reply.socket_fault
        last = fault.after_frames if fault is not None else None
        async with aclosing(answer.pieces()) as pieces:
            async for piece in pieces:
                if not _is_event_stream(answer.reply):
                    whole += piece
                    continue
                events = self._rules.encode(turn, piece) if piece else []
                sent += len(events)
                if fault is not None and last is not None and sent > last:
                    # First the journal, as everywhere.
                    answer.finish(early=True)
                    self._break_off(fault, events[: last - sent], events[last - sent])
                    return
                connection.send(events)
                await connection.wait_until_writable()
        if answer.reply.cut:
            self._is_over = True
            connection.cut()
            return
        if whole:
            connection.send(events_of(self._rules, turn, answer.reply, whole))
        if fault is not None:
            self._break_off(fault)
            return
        self._playing.discard(_this_task())
        self._act(self._rules.end(turn, status=answer.reply.status))
        self._close_if_left()

    def _ignore_pings_if_asked(self, answer: Answer) -> None:
        """Stop answering pings if the answer has a fault that is not inside its stream."""
        fault = answer.reply.socket_fault
        if fault is not None and not kind_of(fault).inside:
            self._connection.ignore_pings()

    def _break_off(self, fault: Fault, last: Sequence[bytes] = (), next_event: bytes = b"") -> None:
        """End the connection by a fault, after these last messages. A fault with `half_frame` sends
        half of `next_event`."""
        self._playing.discard(_this_task())
        self._connection.send(last)
        error = fault_error(fault)
        if fault.code is not None:
            body = self._head.target.wire.error(error, request_id="")
            self._connection.send([self._rules.encode_error(Turn(b""), error.status, (), body)])
        if fault.half_frame or fault.close_code == CloseCode.ABNORMAL_CLOSURE:
            self.leave()
            self._connection.cut(next_event if fault.half_frame else b"")
        else:
            self._close_once(fault.close_code, error.message)

    def _close_if_left(self) -> None:
        """Close the connection if the server shuts down and no answer is under way."""
        if self._is_leaving and not self._playing:
            self._close_once(CloseCode.SERVICE_RESTART, "the server is shutting down")

    def _close_once(self, code: int, reason: str) -> None:
        """End all answers and close the connection, unless that is done."""
        if not self._is_over:
            self.leave()
            # A close frame holds at most 123 bytes of reason.
            self._connection.close(code, reason.encode()[:123].decode("utf-8", "ignore"))


def events_of(rules: SocketProtocol, turn: Turn, reply: Reply, body: bytes) -> list[bytes]:
    """Return the messages of a whole answer: its events, one error event, or its body."""
    if _is_event_stream(reply):
        return rules.encode(turn, body)
    if reply.status >= 400:
        return [rules.encode_error(turn, reply.status, reply.headers, body)]
    return [body]


def _this_task() -> asyncio.Task[Any]:
    task = asyncio.current_task()
    assert task is not None
    return task


def _can_be_sent_whole(answer: Answer) -> bool:
    """Return True if everything of an answer is due now and no WebSocket fault breaks it."""
    return answer.is_immediate and answer.reply.socket_fault is None


def _is_event_stream(reply: Reply) -> bool:
    return any(
        name == "content-type" and value.startswith(_EVENT_STREAM) for name, value in reply.headers
    )
