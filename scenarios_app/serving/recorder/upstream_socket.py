"""Sends the requests of one client connection over one WebSocket to the provider, which alone knows
the responses of that connection that it does not store."""

import asyncio
import base64
import os
from collections.abc import AsyncGenerator
from contextlib import suppress
from dataclasses import replace
from typing import Any, Final

from websockets.exceptions import InvalidState
from websockets.frames import CloseCode, Frame, Opcode
from websockets.protocol import Protocol, Side

from scenarios_app.serving.recorder.upstream import Outgoing, UpstreamFailed, open_response
from scenarios_app.wire.sockets import ServerMessage, SocketProtocol

_READ_BYTES: Final = 65_536
_MAX_MESSAGE_BYTES: Final = 16_777_216
_SWITCHING_PROTOCOLS: Final = 101
_CLOSE_SECONDS: Final = 1.0
# Headers about bodies, which a handshake does not have.
_OF_BODIES: Final = frozenset({"content-type", "accept", "accept-encoding"})


class SocketCut(Exception):
    """The connection to the provider ended before the last message of an answer."""


class UpstreamSocket:
    """A WebSocket to the provider, opened with the first request. The requests of one lane (stream
    id) follow each other. `rules` encode and decode the messages."""

    def __init__(self, rules: SocketProtocol) -> None:
        self._rules = rules
        self._task: asyncio.Task[None] | None = None
        self._opened: asyncio.Future[bool] | None = None
        self._protocol: Protocol
        self._stream: Any = None
        self._writing = asyncio.Lock()
        # Messages by waiting lane; None ends the lane.
        self._lanes: dict[str | None, asyncio.Queue[ServerMessage | None]] = {}

    async def open(self, out: Outgoing, *, seconds: float) -> bool:
        """Connect if not connected yet. Return whether the provider accepts WebSockets at this URL;
        raise UpstreamFailed if it cannot be reached."""
        if self._opened is None:
            self._protocol = Protocol(Side.CLIENT, max_size=_MAX_MESSAGE_BYTES)
            self._opened = asyncio.get_running_loop().create_future()
            self._task = asyncio.create_task(self._run(_make_handshake(out), self._opened, seconds))
        return await asyncio.shield(self._opened)

    async def answer(
        self, body: bytes, stream_id: str | None, *, seconds: float
    ) -> AsyncGenerator[ServerMessage, None]:
        """Send a request with this body on a lane and yield the messages that answer it. Raises
        TimeoutError if nothing moves for `seconds`, and SocketCut if the connection ends."""
        messages: asyncio.Queue[ServerMessage | None] = asyncio.Queue()
        self._lanes[stream_id] = messages
        try:
            async with asyncio.timeout(seconds):
                await self._send(self._rules.encode_request(body, stream_id))
            while True:
                async with asyncio.timeout(seconds):
                    message = await messages.get()
                if message is None:
                    raise SocketCut
                yield message
                if message.ends:
                    return
        finally:
            del self._lanes[stream_id]

    def close(self) -> None:
        """Close the connection without waiting for the provider."""
        if self._task is not None:
            self._task.cancel()

    async def _run(self, out: Outgoing, opened: asyncio.Future[bool], seconds: float) -> None:
        """Open the connection, and pass its messages to their lanes until it ends."""
        # Imported late, as in `upstream`.
        import httpcore2

        try:
            async with open_response(out, seconds=seconds) as response:
                if response.status_code != _SWITCHING_PROTOCOLS:
                    opened.set_result(False)
                    return
                self._stream = response.extensions["network_stream"]
                opened.set_result(True)
                try:
                    await self._receive_frames()
                finally:
                    await self._send_close()
        except UpstreamFailed as failed:
            opened.set_exception(failed)
        except (OSError, httpcore2.NetworkError):
            # Running answers are cut.
            pass
        finally:
            if not opened.done():
                opened.cancel()
            for messages in self._lanes.values():
                messages.put_nowait(None)

    async def _send(self, message: bytes) -> None:
        """Send a text message; raise SocketCut if the connection has ended."""
        import httpcore2

        if self._task is None or self._task.done():
            raise SocketCut
        try:
            self._protocol.send_text(message)
            await self._flush()
        except (InvalidState, OSError, httpcore2.NetworkError):
            raise SocketCut from None

    async def _send_close(self) -> None:
        """Send the close frame; errors of the connection are ignored."""
        import httpcore2

        with suppress(InvalidState, OSError, httpcore2.NetworkError, TimeoutError):
            async with asyncio.timeout(_CLOSE_SECONDS):
                self._protocol.send_close(CloseCode.NORMAL_CLOSURE)
                await self._flush()

    async def _receive_frames(self) -> None:
        """Pass text messages to their lanes until the provider closes; other frames are dropped."""
        whole = b""
        while data := await self._stream.read(_READ_BYTES):
            self._protocol.receive_data(data)
            await self._flush()
            for frame in self._protocol.events_received():
                assert isinstance(frame, Frame)
                if frame.opcode is Opcode.CLOSE:
                    return
                if frame.opcode not in (Opcode.TEXT, Opcode.CONT):
                    continue
                whole += frame.data
                if frame.fin:
                    self._hand_over(whole)
                    whole = b""

    def _hand_over(self, data: bytes) -> None:
        """Pass a message to its lane; invalid messages and those without a lane are dropped."""
        try:
            message = self._rules.read_answer(data)
        except ValueError:
            return
        if (messages := self._lanes.get(message.stream_id)) is not None:
            messages.put_nowait(message)

    async def _flush(self) -> None:
        """Send what the protocol has to send, such as pongs."""
        async with self._writing:
            for data in self._protocol.data_to_send():
                if data:
                    await self._stream.write(data)


def _make_handshake(out: Outgoing) -> Outgoing:
    """Return the request that asks for a WebSocket at the URL of a request."""
    headers = [header for header in out.headers if header[0] not in _OF_BODIES]
    headers += [
        ("connection", "Upgrade"),
        ("upgrade", "websocket"),
        ("sec-websocket-version", "13"),
        ("sec-websocket-key", base64.b64encode(os.urandom(16)).decode()),
    ]
    return replace(out, method="GET", body=b"", headers=tuple(headers))
