"""A WebSocket on the transport: an asyncio protocol that takes a connection over after its
handshake, reads frames with the `websockets` package and writes its own straight to the socket."""

import asyncio
import time
from collections.abc import Callable, Sequence
from typing import ClassVar

from websockets.frames import CloseCode, Frame, Opcode, apply_mask
from websockets.protocol import OPEN, SERVER, Protocol
from websockets.utils import accept_key

from scenarios_app.serving.exchange import RequestHead
from scenarios_app.serving.fast.connection import Server
from scenarios_app.serving.fast.short_path import ShortPath, is_plain_head
from scenarios_app.serving.fast.websocket_templates import PlainFrames, encode_text
from scenarios_app.serving.pipeline import Pipeline
from scenarios_app.serving.transports.websocket import MAX_MESSAGE_BYTES, SocketSession
from scenarios_app.serving.transports.websocket_frames import (
    FLOODED,
    MASKED,
    ReceivedBytes,
    frame_bounds,
)
from scenarios_app.wire.base import Call
from scenarios_app.wire.sockets import SOCKET_KEY

# After this many messages of one client the event loop runs other tasks.
MESSAGES_PER_TURN = 8
# Limit of unparsed bytes and incomplete messages of all connections together. With what is read
# before a connection is counted, and the allocator's share, it is 64 MiB of memory.
MAX_ALL_HELD_BYTES = 46_137_344
# A silent client gets a ping, and is disconnected later. The second limit also applies to clients
# that read none of the written bytes.
PING_SECONDS = 20.0
SILENT_SECONDS = 60.0
# Time limit for the answer to a close frame.
CLOSING_SECONDS = 10.0
_FINAL_TEXT = 0x81


class WebSocketProtocol(asyncio.Protocol):
    """One WebSocket connection after its request was parsed. Compression is not offered."""

    _session: SocketSession
    _all_held: ClassVar[int] = 0
    _held = 0

    def __init__(
        self,
        transport: asyncio.Transport,
        server: Server,
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.transport = transport
        self._server = server
        self._loop = asyncio.get_running_loop()
        self._frames = Protocol(SERVER, state=OPEN, max_size=MAX_MESSAGE_BYTES)
        self._received = ReceivedBytes(clock)
        # The fragments of an incomplete message, joined; fragments may be tiny.
        self._fragments: bytearray | None = None
        # The answer to the newest ping.
        self._pong = b""
        # True if nothing is read any more: the client left, or broke the rules.
        self._has_ended = False
        self._turn: asyncio.Handle | None = None
        self.is_writable = True
        self._writable = asyncio.Event()
        self._writable.set()
        self._heard_at = self._taken_at = time.monotonic()
        self._has_pinged = self._is_paused = False
        self._answers_pings = True
        self._unread = 0
        self._closing_since: float | None = None

    def open(
        self,
        pipeline: Pipeline,
        path: ShortPath | None,
        call: Call,
        head: RequestHead,
        *,
        rest: bytes,
    ) -> None:
        """Take over the connection: send the 101 that completes the handshake, and handle `rest`,
        the bytes that came after the request. Plain requests take the short path, if there is
        one."""
        at_once = None
        if path is not None and is_plain_head(head, call):
            at_once = PlainFrames(path, head, self, write=self.transport.write).answer
        self._session = SocketSession(pipeline, call, head, self, answer_at_once=at_once)
        self._server.connections.add(self)
        ours = [b"%b: %b\r\n" % header for header in self._server.default_headers]
        token = accept_key(call.headers[SOCKET_KEY]).encode()
        self.transport.write(
            b"HTTP/1.1 101 Switching Protocols\r\nupgrade: websocket\r\nconnection: Upgrade\r\n"
            b"sec-websocket-accept: %b\r\n%b\r\n" % (token, b"".join(ours))
        )
        self.transport.set_protocol(self)
        self.transport.resume_reading()
        if rest:
            self.data_received(rest)

    def data_received(self, data: bytes) -> None:
        """Pass a text message that is the whole packet to the session; parse all other bytes."""
        self._heard_at, self._has_pinged = time.monotonic(), False
        if self._has_ended:
            # A client that still sends would see a reset instead of the close frame, so its bytes
            # are dropped until it ends or `look` disconnects it.
            return
        received = self._received
        if self.is_writable and self._fragments is None and received.is_between_frames:
            begin, end = frame_bounds(data)
            if end == len(data) and data[0] == _FINAL_TEXT and data[1] & MASKED:
                self._session.receive(apply_mask(data[begin:], data[begin - 4 : begin]))
                return
        received.add(data)
        if self._turn is None:
            self._handle_some()

    def _count_held(self) -> int:
        """Update and return the bytes that all connections hold."""
        # A growing buffer takes up to an eighth more than its content.
        buffers = (self._received.held, self._frames.reader.buffer, self._fragments)
        held = sum(buffer.__alloc__() for buffer in buffers if buffer)
        WebSocketProtocol._all_held += held - self._held
        self._held = held
        return WebSocketProtocol._all_held

    def _drop_held(self) -> None:
        """Free what is held of messages, which the garbage collector would find much later."""
        self._received.clear()
        self._frames.reader.discard()
        self._fragments = None
        self._count_held()

    def connection_lost(self, exc: Exception | None) -> None:
        self._drop_held()
        self._server.connections.discard(self)
        if self._turn is not None:
            self._turn.cancel()
        self._writable.set()
        self._session.leave()

    def pause_writing(self) -> None:
        self.is_writable = False
        self._writable.clear()
        self._read_on()

    def resume_writing(self) -> None:
        """Also go on with the bytes that waited for the client to read."""
        self.is_writable = True
        self._writable.set()
        self._read_on()

    def shutdown(self) -> None:
        """Close the connection once no answer is under way; uvicorn calls this at its end."""
        self._session.shut_down()

    def send(self, messages: Sequence[bytes]) -> None:
        """Send text messages in one write."""
        if not self.transport.is_closing():
            self.transport.write(b"".join(map(encode_text, messages)))

    async def wait_until_writable(self) -> None:
        await self._writable.wait()

    def close(self, code: int, reason: str) -> None:
        if self._frames.state is OPEN and not self.transport.is_closing():
            self._closing_since = time.monotonic()
            self._frames.send_close(code, reason)
            self.transport.write(b"".join(self._frames.data_to_send()))
            if code == CloseCode.SERVICE_RESTART:
                # The checks of connections have ended.
                self.transport.close()

    def cut(self, half_of: bytes = b"") -> None:
        """Send half of a frame and close the transport, as a connection that breaks off."""
        frame = encode_text(half_of) if half_of else b""
        self.transport.write(frame[: len(frame) // 2])
        self.transport.close()

    def ignore_pings(self) -> None:
        self._answers_pings = False

    def close_if_stalled(self, now: float) -> None:
        """Close a connection whose client is silent or reads nothing; called about twice a
        second."""
        unread, before = self.transport.get_write_buffer_size(), self._unread
        self._unread = unread
        if not before or unread < before:
            self._taken_at = now
        silent, closing = now - self._heard_at, self._closing_since
        is_stuck = unread > 0 and now - self._taken_at > SILENT_SECONDS
        is_silent = silent > SILENT_SECONDS and self.is_writable
        if is_stuck or is_silent or (closing is not None and now - closing > CLOSING_SECONDS):
            self.transport.abort()
        elif silent > PING_SECONDS and not self._has_pinged and closing is None:
            self._has_pinged = True
            self._frames.send_ping(b"")
            self.transport.write(b"".join(self._frames.data_to_send()))
        self._session.close_if_too_old()

    def _handle_some(self) -> None:
        """Handle the frames of one turn, as long as the client is writable."""
        self._turn, messages = None, 0
        for piece in self._received.pieces():
            self._frames.receive_data(piece)
            for frame in self._frames.events_received():
                messages += self._handle(frame)  # type: ignore[arg-type]
            if self._frames.parser_exc is not None:
                self._end_broken()
            elif self._received.is_flooded:
                self._frames.fail(CloseCode.POLICY_VIOLATION, FLOODED)
                self._leave()
            is_over = self._has_ended or self.transport.is_closing()
            if is_over or messages == MESSAGES_PER_TURN or not self.is_writable:
                break
        if self._pong and not (self._has_ended or self.transport.is_closing()):
            self.transport.write(self._pong)
        self._pong = b""
        if self._count_held() > MAX_ALL_HELD_BYTES:
            self._session.leave()
            self.close(CloseCode.TRY_AGAIN_LATER, "other clients are sending large messages")
            self.transport.close()
            # Now, or all others that send in this turn would be closed too.
            self._drop_held()
        self._read_on()

    def _read_on(self) -> None:
        """Resume reading only if all received bytes are parsed and no answers wait to be sent."""
        is_paused = bool(self._received) or not self.is_writable
        if self.transport.is_closing():
            return
        if is_paused != self._is_paused:
            self._is_paused = is_paused
            (self.transport.pause_reading if is_paused else self.transport.resume_reading)()
        if self._received and self.is_writable and self._turn is None:
            self._turn = self._loop.call_soon(self._handle_some)

    def _handle(self, frame: Frame) -> bool:
        """Handle a frame; return True if it completed a message, which the session got."""
        opcode = frame.opcode
        if opcode is Opcode.TEXT and frame.fin:
            self._session.receive(bytes(frame.data))
            return True
        if opcode is Opcode.TEXT:
            self._fragments = bytearray(frame.data)
        elif opcode is Opcode.CONT and self._fragments is not None:
            self._fragments += frame.data
            if frame.fin:
                message, self._fragments = bytes(self._fragments), None
                self._session.receive(message)
                return True
        elif opcode is Opcode.BINARY:
            self._session.refuse_binary()
        elif opcode is Opcode.CLOSE:
            self._leave()
            self.transport.close()
        elif (output := self._frames.data_to_send()) and self._answers_pings:
            self._pong = b"".join(output)
        return False

    def _end_broken(self) -> None:
        """End the connection after an error in its frames."""
        close = self._frames.close_sent
        if close is not None and close.code == CloseCode.MESSAGE_TOO_BIG:
            self._session.refuse_large()
        self._leave()

    def _leave(self) -> None:
        """End the connection after a close frame of the client or an error in its frames."""
        self._has_ended = True
        self._drop_held()
        self._closing_since = self._closing_since or time.monotonic()
        self.transport.write(b"".join(self._frames.data_to_send()))
        self.transport.write_eof()
        self._session.leave()
