"""The interface of an API over a WebSocket: what a transport plays, and its rules without I/O."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol, TypeAlias

import msgspec

from scenarios_app.engine.canonical import ErrorAnswer

# The header of a handshake that no two connections share. Every request of a connection has it.
SOCKET_KEY = "sec-websocket-key"
STREAM_HEADERS = (("content-type", "text/event-stream"),)


class Turn(msgspec.Struct, eq=False):
    """One request of a client on its connection: the body of the same request over HTTP.

    `stream_id` names its lane, None for the default lane. `recall` returns the stored response of a
    name if only this connection has it. `first_event` and `last_event` are the first and the latest
    event that were sent.
    """

    body: bytes
    stream_id: str | None = None
    recall: Callable[[str], bytes | None] | None = None
    first_event: bytes = b""
    last_event: bytes = b""
    # Bytes of an event that is not whole yet.
    partial: bytes = b""


class ServerMessage(msgspec.Struct, frozen=True):
    """A message of a provider, as a part of the response to the same request over HTTP.

    `event` is its server-sent event; the last one of an answer `ends` it. An error has a `status`
    and a `body`: it is the whole response if no message came before it.
    """

    stream_id: str | None
    event: bytes
    ends: bool
    status: int | None = None
    headers: tuple[tuple[str, str], ...] = ()
    body: bytes = b""

    @property
    def head(self) -> tuple[int, tuple[tuple[str, str], ...]]:
        """The status and headers of the response that begins with this message."""
        json = (("content-type", "application/json"), *self.headers)
        return (200, STREAM_HEADERS) if self.status is None else (self.status, json)

    def body_after(self, messages: int) -> bytes:
        """Return the message's part of the HTTP body: an error's body if it comes first, else the
        event. `messages` is the number of messages before it."""
        return self.body if self.body and not messages else self.event


class SocketLink(msgspec.Struct, frozen=True):
    """The data of a call over a WebSocket besides its HTTP form: the client's request (`turn`), and
    our connection to the recorded provider (`upstream`)."""

    turn: Turn
    upstream: Any = None


class StartTurn(msgspec.Struct, frozen=True):
    """Answer this request now, and report its end to `SocketProtocol.end`."""

    turn: Turn


class RefuseTurn(msgspec.Struct, frozen=True):
    """Answer this request with an error; its end is not reported."""

    turn: Turn
    error: ErrorAnswer


class SendEvent(msgspec.Struct, frozen=True):
    """Send an event that belongs to no request."""

    data: bytes


class CloseSocket(msgspec.Struct, frozen=True):
    """Close the connection."""

    code: int
    reason: str


SocketAction: TypeAlias = StartTurn | RefuseTurn | SendEvent | CloseSocket


class SocketProtocol(Protocol):
    """The rules of one connection. Its methods return what the transport has to do, in order."""

    def receive(self, data: bytes) -> Sequence[SocketAction]:
        """Process a text message of the client."""

    def encode(self, turn: Turn, piece: bytes) -> list[bytes]:
        """Return the events in a piece of a turn's event stream; the turn keeps a partial one."""

    def encode_error(
        self, turn: Turn, status: int, headers: Sequence[tuple[str, str]], body: bytes
    ) -> bytes:
        """Return the event that stands for an HTTP response with an error."""

    def end(self, turn: Turn, *, status: int) -> Sequence[SocketAction]:
        """Process the end of a turn, with the HTTP status of its answer."""

    def expire(self, age: float) -> Sequence[SocketAction]:
        """Return the end of a connection whose age in seconds is beyond the limit, else nothing."""

    def encode_request(self, body: bytes, stream_id: str | None) -> bytes:
        """Return the message that sends a request to the provider, for recordings."""

    def read_answer(self, data: bytes) -> ServerMessage:
        """Return a message of the provider, without its lane; raise ValueError if it is none."""


# Returns the rules of a new connection, of the query of its URL.
SocketFactory: TypeAlias = Callable[[Mapping[str, str]], SocketProtocol]
