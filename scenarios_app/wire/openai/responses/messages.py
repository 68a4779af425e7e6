"""Reads messages that a provider sends over the WebSocket of the Responses API as parts of an HTTP
response, so that recordings of both are the same."""

from typing import Final

import msgspec

from scenarios_app.engine.canonical import Json
from scenarios_app.wire.base import Headers, encode_json, named_sse

_LAST: Final = frozenset({"response.completed", "response.failed", "response.incomplete", "error"})
STREAM: Final[Headers] = (("content-type", "text/event-stream"),)
_JSON: Final[Headers] = (("content-type", "application/json"),)
_decode = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode
_decode_value = msgspec.json.Decoder().decode


class ServerMessage(msgspec.Struct, frozen=True):
    """A message of the provider. `event` is its server-sent event, which `ends` a response or not.
    An error has a `status`, and is the body of a response of its own if nothing came before it."""

    stream_id: str | None
    event: bytes
    ends: bool
    status: int | None = None
    headers: Headers = ()
    body: bytes = b""

    @property
    def head(self) -> tuple[int, Headers]:
        """The status and headers of the response that begins with this message."""
        if self.status is None:
            return 200, STREAM
        return self.status, (*_JSON, *self.headers)

    def body_after(self, messages: int) -> bytes:
        """Return the message's part of the body after this number of messages."""
        return self.body if self.body and not messages else self.event


def read_server_message(data: bytes) -> ServerMessage:
    """Return a message of the provider, without its lane; raises ValueError if it is none."""
    fields = _decode(data)
    stream_id = _text(fields.pop("stream_id", None))
    kind = _text(fields.get("type")) or ""
    event = named_sse(kind, data if stream_id is None else encode_json(fields))
    status = _value(fields.get("status"))
    if kind != "error" or not isinstance(status, int) or not 400 <= status <= 599:
        return ServerMessage(stream_id, event, kind in _LAST)
    sent, error = _value(fields.get("headers")), _value(fields.get("error"))
    headers = tuple(sent.items()) if isinstance(sent, dict) else ()
    texts = tuple((name.lower(), str(value)) for name, value in headers)
    return ServerMessage(stream_id, event, True, status, texts, encode_json({"error": error}))


def _value(raw: msgspec.Raw | None) -> Json:
    return None if raw is None else _decode_value(raw)


def _text(raw: msgspec.Raw | None) -> str | None:
    value = _value(raw)
    return value if isinstance(value, str) else None
