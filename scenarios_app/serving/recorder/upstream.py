"""Sends one request to the provider itself, and turns failures into provider errors.

The HTTP client is imported with the first such request: most servers forward none.
"""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from mockllm_site.kit.addresses import AddressRefused, endpoint_at
from scenarios_app.engine.canonical import ErrorAnswer
from scenarios_app.engine.secrets import secrets_of
from scenarios_app.recording import RecordedRequest
from scenarios_app.recording.bodies import (
    BodyTooLong,
    UnreadableBody,
    make_body_reader,
    readable_encodings,
)
from scenarios_app.recording.redaction import SecretMask
from scenarios_app.wire.base import Call, Headers
from scenarios_app.wire.upstreams import routing_headers

if TYPE_CHECKING:
    import httpx2

    from mockllm_site.kit.dial import PinnedTransport

CONNECT_SECONDS: Final = 10.0
# Headers about one connection and not about the message (RFC 9110, section 7.6.1).
_HOP_BY_HOP: Final = frozenset(
    {"connection", "keep-alive", "proxy-authenticate", "proxy-authorization", "proxy-connection"}
    | {"te", "trailer", "transfer-encoding", "upgrade"}
)
# Headers for this server, or set anew; cookies are those of this server's pages.
_OURS: Final = frozenset({"accept-encoding", "content-length", "cookie", "expect", "host"})
_PREFIX: Final = "x-mockllm-"
_HANDSHAKE: Final = "sec-websocket-"
# Response headers about the provider's own origin; every server dates its answers.
_THEIRS: Final = frozenset({"alt-svc", "date", "set-cookie", "strict-transport-security"})
_REDIRECTS: Final = frozenset({301, 302, 303, 307, 308})


class UpstreamFailed(Exception):
    """The upstream sent no response that could be forwarded."""

    def __init__(self, error: ErrorAnswer) -> None:
        super().__init__(error.message)
        self.error = error


@dataclass(frozen=True, slots=True)
class Outgoing:
    """A request to be forwarded. `name` is the provider. `path` (with its query) and `routing`
    headers are stored in the recording, so that this server can route the request again. `keys` are
    the client's and the operator's, to be masked."""

    name: str
    method: str
    url: str
    headers: Headers
    body: bytes
    path: str
    routing: Headers = ()
    keys: tuple[str, ...] = field(default=(), repr=False)

    @property
    def place(self) -> str:
        """Return scheme and host, without path and query, which may contain a key."""
        return "/".join(self.url.split("/")[:3])

    @property
    def recorded(self) -> RecordedRequest:
        """Return the request for the recording; keys are still in it."""
        headers = (*self.headers, *self.routing)
        return RecordedRequest(self.method, self.path, headers, self.body)


def make_outgoing(
    call: Call, *, name: str, url: str, key: str | None, real: str | None
) -> Outgoing:
    """Return the request to forward. A `real` key replaces the client's `key` in headers and query.
    `url` has no query yet."""

    def with_real(text: str) -> str:
        """Return the text with the client's key, where it is a whole word, replaced by `real`."""
        if not key or not real:
            return text
        return real.join(re.split(rf"(?<![\w-]){re.escape(key)}(?![\w-])", text))

    named = {part.strip().lower() for part in call.headers.get("connection", "").split(",")}
    headers = tuple(
        (name, with_real(value))
        for name, value in call.headers.items()
        if name not in _HOP_BY_HOP | _OURS | named and not name.startswith((_PREFIX, _HANDSHAKE))
    )
    encoding = readable_encodings(call.headers.get("accept-encoding", ""))
    query = with_real(call.raw_query)
    asked_for = f"?{query}" if query else ""
    return Outgoing(
        name,
        call.method,
        url + asked_for,
        (*headers, ("accept-encoding", encoding)),
        call.body,
        path=call.path + asked_for,
        routing=tuple((n, value) for n in routing_headers() if (value := call.headers.get(n))),
        keys=tuple(candidate for candidate in (key, real) if candidate),
    )


def forwarded_headers(headers: Iterable[tuple[str, str]]) -> Headers:
    """Return the headers of a response that are forwarded with it."""
    lowered = [(name.lower(), value) for name, value in headers]
    connection = ",".join(value for name, value in lowered if name == "connection")
    named = {part.strip().lower() for part in connection.split(",")}
    return tuple(
        (name, value)
        for name, value in lowered
        if name not in _HOP_BY_HOP | _THEIRS | named
        and not name.startswith((_PREFIX, "access-control-"))
    )


@asynccontextmanager
async def open_response(out: Outgoing, *, seconds: float) -> AsyncIterator[httpx2.Response]:
    """Open the upstream's response, with its head received and its body unread. Raises
    UpstreamFailed if none comes, or after `seconds` of silence. Errors inside the context are the
    caller's."""
    import httpx2

    from mockllm_site.kit.dial import PinnedTransport

    timeout = {"connect": CONNECT_SECONDS, "pool": CONNECT_SECONDS, "read": seconds}
    try:
        request = httpx2.Request(
            out.method,
            out.url,
            headers=[(name.encode(), value.encode()) for name, value in out.headers],
            content=out.body or None,
            extensions={"timeout": {**timeout, "write": seconds}},
        )
    except httpx2.InvalidURL as error:
        raise upstream_error(out, 502, f"cannot be asked: {error}") from None
    dial = PinnedTransport(endpoint_at(request.url))
    try:
        response = await _open_response(dial, request, out, seconds=seconds)
        try:
            yield response
        finally:
            await response.aclose()
    finally:
        await dial.aclose()


async def _open_response(
    dial: PinnedTransport, request: httpx2.Request, out: Outgoing, *, seconds: float
) -> httpx2.Response:
    """Return the response once its head came; raise UpstreamFailed with 502 or 504."""
    import httpx2

    try:
        response = await dial.handle_async_request(request)
    except AddressRefused as error:
        raise upstream_error(out, 502, str(error)) from None
    except httpx2.ConnectTimeout:
        raise upstream_error(out, 504, f"did not answer in {CONNECT_SECONDS:g} s") from None
    except httpx2.ConnectError as error:
        raise upstream_error(out, 502, f"cannot be reached: {error}") from None
    except httpx2.TimeoutException:
        raise upstream_error(out, 504, f"said nothing for {seconds:g} s") from None
    except httpx2.TransportError as error:
        reason = str(error) or type(error).__name__
        raise upstream_error(out, 502, f"ended the connection: {reason}") from None
    if response.status_code in _REDIRECTS and "location" in response.headers:
        place = response.headers["location"].partition("?")[0][:200]
        await response.aclose()
        message = f"answers {response.status_code} to {place!r}; redirects are not followed"
        raise upstream_error(out, 502, message)
    return response


def upstream_error(out: Outgoing, status: int, message: str) -> UpstreamFailed:
    """Return the failure of a forwarded request. `message` says, after the upstream's name, how it
    failed; keys in it are masked."""
    # The HTTP library's message may quote a header that contains the key.
    secrets = SecretMask((*out.keys, *secrets_of(dict(out.headers))))
    text = f"upstream_failed: The upstream of {out.name}, {out.place}, {secrets.mask(message)}."
    error = ErrorAnswer(status, text, code="upstream_failed", retryable=False)
    return UpstreamFailed(error)


async def read_whole(response: httpx2.Response, out: Outgoing, *, max_bytes: int) -> bytes:
    """Return the whole body of a response; raises UpstreamFailed if it is cut, unreadable or too
    long."""
    import httpx2

    encoding = response.headers.get("content-encoding", "")
    pieces: list[bytes] = []
    try:
        reader = make_body_reader(encoding, max_bytes=max_bytes)
        assert isinstance(response.stream, httpx2.AsyncByteStream)
        async for piece in response.stream:
            pieces.append(reader.read(piece))
        if not reader.is_complete:
            raise UnreadableBody("its compressed body is cut")
    except httpx2.TransportError as error:
        reason = str(error) or type(error).__name__
        raise upstream_error(out, 502, f"ended its answer too soon: {reason}") from None
    except UnreadableBody as error:
        raise upstream_error(out, 502, f"gives an answer that cannot be read: {error}") from None
    except BodyTooLong:
        raise upstream_error(
            out, 502, f"gives an answer of more than {max_bytes:,} bytes"
        ) from None
    return b"".join(pieces)


def raw_headers(response: httpx2.Response) -> Headers:
    """Return the headers of a response; repeated ones are repeated."""
    return tuple((k.decode("latin-1"), v.decode("latin-1")) for k, v in response.headers.raw)
