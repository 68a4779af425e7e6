"""Converts an ASGI scope to a `Call` with the raw path and headers, and closes a connection in the
middle of a response, for which ASGI has no message."""

import functools
from collections.abc import Awaitable, Callable, Iterable, Mapping, MutableMapping
from typing import Any, TypeAlias
from urllib.parse import parse_qsl, quote

from scenarios_app.serving.reply import Reply
from scenarios_app.wire.base import Call

# White space around a header's value.
BLANKS = b" \t"
# Characters of a path that are not escaped, if a server passes only the decoded path.
SAFE_IN_PATH = "/:@!$&'()*+,;=~-._"


def call_of_scope(scope: Mapping[str, Any], body: bytes) -> Call:
    """Return the call of an ASGI scope."""
    query: bytes | str = scope.get("query_string", b"")
    return make_call(
        scope["method"],
        path_of(scope),
        # Django's test client passes a str.
        query=query.encode() if isinstance(query, str) else query,
        headers=read_headers(scope["headers"]),
        body=body,
        scheme=scope.get("scheme", "http"),
    )


def path_of(scope: Mapping[str, Any]) -> str:
    """Return the raw path of an ASGI scope; the decoded one encoded anew if there is no other."""
    raw: bytes | None = scope.get("raw_path")
    if raw:
        return raw.partition(b"?")[0].decode("latin-1")
    return quote(scope["path"], safe=SAFE_IN_PATH)


def announced_length(scope: Mapping[str, Any], *, unknown: int) -> int:
    """Return the declared length of the body, 0 without one, or `unknown` if it is chunked."""
    if any(name == b"transfer-encoding" for name, _ in scope["headers"]):
        return unknown
    digits = next((value for name, value in scope["headers"] if name == b"content-length"), b"0")
    # More digits exceed any limit, and Python refuses to convert thousands.
    return int(digits[:18]) if digits.isdigit() else 0


def make_call(
    method: str,
    path: str,
    *,
    query: bytes,
    headers: Mapping[str, str],
    body: bytes,
    scheme: str = "http",
) -> Call:
    """Return a call with its query decoded; the last of repeated parameters counts."""
    raw_query = _decode_utf8_or_latin(query)
    pairs = dict(parse_qsl(raw_query, keep_blank_values=True)) if query else {}
    return Call(method.upper(), path, pairs, headers, body, raw_query, scheme, siblings=1)


def read_headers(headers: Iterable[tuple[bytes, bytes]]) -> dict[str, str]:
    """Return headers by lower-case name; repeated ones are joined."""
    joined: dict[str, str] = {}
    for raw_name, raw_value in headers:
        name, value = _header_name(raw_name), _decode_utf8_or_latin(raw_value.strip(BLANKS))
        joined[name] = f"{joined[name]}, {value}" if name in joined else value
    return joined


@functools.lru_cache(maxsize=256)
def _header_name(raw: bytes) -> str:
    """Return a header's name in lower case; the requests in the journal share these strings."""
    return raw.decode("latin-1").lower()


def _decode_utf8_or_latin(value: bytes) -> str:
    """Return bytes as text: UTF-8 if they are that, else Latin-1."""
    # Clients send UTF-8 although HTTP says Latin-1, which decodes any bytes.
    try:
        return value.decode()
    except UnicodeDecodeError:
        return value.decode("latin-1")


Message: TypeAlias = MutableMapping[str, Any]
Scope: TypeAlias = MutableMapping[str, Any]
Receive: TypeAlias = Callable[[], Awaitable[Message]]
Send: TypeAlias = Callable[[Message], Awaitable[None]]
App: TypeAlias = Callable[[Scope, Receive, Send], Awaitable[None]]
Close: TypeAlias = Callable[[], None]


def response_start(reply: Reply) -> Message:
    """Return the message that opens an HTTP response."""
    headers = [(name.encode("latin-1"), value.encode("latin-1")) for name, value in reply.headers]
    return {"type": "http.response.start", "status": reply.status, "headers": headers}


EXTENSION = "mockllm.close"


def close_of(send: Send) -> Close | None:
    """Return a function that closes the connection behind `send` once all data was flushed, or None
    on a server that offers no access to it.

    Never an abort: that drops unsent bytes, so how much of the response a client sees would be
    random.
    """
    cycle = getattr(send, "__self__", None)
    if type(cycle).__module__.startswith("uvicorn."):
        transport = getattr(cycle, "transport", None)
        return getattr(transport, "close", None)
    if isinstance(send, functools.partial) and send.args:
        request = send.args[0]
        if type(request).__module__.startswith("daphne."):
            return functools.partial(_lose_connection, request)
    return None


def _lose_connection(request: Any) -> None:
    """Close a daphne request's connection, unless the client was first: then it has no channel."""
    if request.channel is not None:
        request.channel.transport.loseConnection()


def with_prepared_scope(app: App) -> App:
    """Return the application with a scope that Django can read, and with an extension of it that
    closes the connection."""

    async def prepared(scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request with a copy of its scope."""
        query: bytes = scope.get("query_string", b"")
        # The headers are copied, since some servers append a body's trailers to their list. Django
        # refuses a query that is not UTF-8.
        scope = {
            **scope,
            "headers": list(scope["headers"]),
            "query_string": _decode_utf8_or_latin(query).encode(),
        }
        if close := close_of(send):
            scope["extensions"] = {**(scope.get("extensions") or {}), EXTENSION: close}
        await app(scope, receive, send)

    return prepared
