"""uvicorn's WebSocket protocol with a limit on the frames of each turn of the event loop, for pages
and, without the fast layer, for providers."""

import asyncio
from typing import Any

from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol
from websockets.frames import CloseCode

from scenarios_app.serving.transports.websocket_frames import FLOODED, ReceivedBytes

# Pages send nothing.
MAX_MESSAGE_BYTES = 4_096


class PageSocket(WebSocketsSansIOProtocol):
    """One WebSocket connection of the application, which gets the next message once it has read the
    previous one."""

    # The answer to the newest ping, and the scheduled call that parses received bytes.
    _pong = b""
    _turn: asyncio.Handle | None = None

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._received = ReceivedBytes()

    def data_received(self, data: bytes) -> None:
        """Parse the handshake, and then the frames of one turn."""
        if not self.handshake_initiated:
            super().data_received(data)
            return
        self._received.add(data)
        if self._turn is None:
            self._parse_some()

    def connection_lost(self, exc: Exception | None) -> None:
        self._received.clear()
        super().connection_lost(exc)

    def handle_ping(self) -> None:
        """Keep the answer; a later ping replaces it."""
        self._pong = b"".join(self.conn.data_to_send())

    async def receive(self) -> Any:
        """Return the next message, and parse on."""
        message = await super().receive()
        self._parse_on()
        return message

    def _parse_some(self) -> None:
        self._turn = None
        for piece in self._received.pieces():
            super().data_received(piece)
            if self._received.is_flooded and not self.transport.is_closing():
                self.conn.fail(CloseCode.POLICY_VIOLATION, FLOODED)
                self.handle_parser_exception()
            if self.transport.is_closing():
                self._received.clear()
                return
            if self.read_paused:
                break
        if self._pong:
            self.transport.write(self._pong)
            self._pong = b""
        self._parse_on()

    def _parse_on(self) -> None:
        """Schedule the next turn; pause reading while received bytes or a message wait."""
        if self.transport.is_closing():
            return
        if self._received:
            self.transport.pause_reading()
            if not self.read_paused and self._turn is None:
                self._turn = self.loop.call_soon(self._parse_some)
        elif not self.read_paused:
            self.transport.resume_reading()
