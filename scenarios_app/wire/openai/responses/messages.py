"""Writes and reads the messages between this server and a provider over the WebSocket of the
Responses API. What is read is part of an HTTP response, so that recordings of both are the same."""

from typing import Any, Final

import msgspec

from scenarios_app.wire.base import encode_json, named_sse
from scenarios_app.wire.sockets import ServerMessage

_LAST: Final = frozenset({"response.completed", "response.failed", "response.incomplete", "error"})
_decode = msgspec.json.Decoder(dict[str, Any]).decode


def encode_create_message(body: bytes, stream_id: str | None) -> bytes:
    """Return the `response.create` message for the body of an HTTP request."""
    fields = {"type": "response.create", **_decode(body)}
    fields.pop("stream", None)
    if stream_id is not None:
        fields["stream_id"] = stream_id
    return encode_json(fields)


def read_server_message(data: bytes) -> ServerMessage:
    """Decode a message of the provider, as a part of an HTTP response; raise ValueError if it is no
    JSON object."""
    fields = _decode(data)
    lane, kind = fields.pop("stream_id", None), str(fields.get("type") or "")
    is_line = lane is None and len(data.splitlines()) == 1
    event = named_sse(kind, data if is_line else encode_json(fields))
    lane = lane if isinstance(lane, str) else None
    status, headers = fields.get("status"), fields.get("headers")
    if kind != "error" or not isinstance(status, int) or not 400 <= status <= 599:
        return ServerMessage(lane, event, kind in _LAST)
    pairs = headers.items() if isinstance(headers, dict) else ()
    texts = tuple((name.lower(), str(value)) for name, value in pairs)
    body = encode_json({"error": fields.get("error")})
    return ServerMessage(lane, event, True, status, texts, body)
