"""One call to a provider itself, in place of a client: what goes out, and what went wrong."""

import re
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Final

import httpx2

from mockllm_site.kit.addresses import Refused, endpoint_at
from mockllm_site.kit.dial import Dial
from scenarios_app.engine.canonical import ErrorAnswer
from scenarios_app.engine.secrets import secrets_of
from scenarios_app.recording import RecordedRequest
from scenarios_app.recording.bodies import TooLong, Unreadable, acceptable, reader_of
from scenarios_app.recording.redaction import SecretMask
from scenarios_app.recording.upstreams import DIALECT_HEADER
from scenarios_app.wire.base import Call, Headers

CONNECT_SECONDS: Final = 10.0
# About one connection and not about what is said over it (RFC 9110, section 7.6.1).
_HOP_BY_HOP: Final = frozenset(
    {"connection", "keep-alive", "proxy-authenticate", "proxy-authorization", "proxy-connection"}
    | {"te", "trailer", "transfer-encoding", "upgrade"}
)
# What is for this server, or is said anew; cookies are those of this server's pages.
_OURS: Final = frozenset({"accept-encoding", "content-length", "cookie", "expect", "host"})
_PREFIX: Final = "x-mockllm-"
# What a provider says of its own origin, which this one is not; every server dates its answers.
_THEIRS: Final = frozenset({"alt-svc", "date", "set-cookie", "strict-transport-security"})
_SHARED: Final = re.compile(r"access-control-.*")
_REDIRECTS: Final = frozenset({301, 302, 303, 307, 308})


class UpstreamFailed(Exception):
    """There is no answer to pass on."""

    def __init__(self, error: ErrorAnswer) -> None:
        super().__init__(error.message)
        self.error = error


@dataclass(frozen=True, slots=True)
class Outgoing:
    """A request as it is sent on. `name` is the provider; `path`, with its query, and `dialect` are
    by what this server knows where it belongs. `keys` are the client's and the operator's."""

    name: str
    method: str
    url: str
    headers: Headers
    body: bytes
    path: str
    dialect: str = ""
    keys: tuple[str, ...] = field(default=(), repr=False)

    @property
    def place(self) -> str:
        """Whom it goes to, without the path and the query, in which a key may stand."""
        return "/".join(self.url.split("/")[:3])

    @property
    def recorded(self) -> RecordedRequest:
        """The request as it is kept, keys and all: they are still to be taken out."""
        spoken = ((DIALECT_HEADER, self.dialect),) if self.dialect else ()
        return RecordedRequest(self.method, self.path, (*self.headers, *spoken), self.body)


def outgoing(call: Call, *, name: str, url: str, key: str | None, real: str | None) -> Outgoing:
    """What is sent on of a call. Where it brings a `key` in whose place the `real` one is known,
    that stands wherever the other stood in its headers and its query. `url` has no query yet."""

    def with_real(text: str) -> str:
        return text.replace(key, real) if key and real else text

    named = {part.strip().lower() for part in call.headers.get("connection", "").split(",")}
    headers = tuple(
        (name, with_real(value))
        for name, value in call.headers.items()
        if name not in _HOP_BY_HOP | _OURS | named and not name.startswith(_PREFIX)
    )
    encoding = acceptable(call.headers.get("accept-encoding", ""))
    query = with_real(call.raw_query)
    asked_for = f"?{query}" if query else ""
    return Outgoing(
        name,
        call.method,
        url + asked_for,
        (*headers, ("accept-encoding", encoding)),
        call.body,
        path=call.path + asked_for,
        dialect=call.headers.get(DIALECT_HEADER, ""),
        keys=tuple(one for one in (key, real) if one),
    )


def passed_headers(headers: Iterable[tuple[str, str]]) -> Headers:
    """The headers of an answer that are passed on with it, as it came."""
    given = [(name.lower(), value) for name, value in headers]
    connection = ",".join(value for name, value in given if name == "connection")
    named = {part.strip().lower() for part in connection.split(",")}
    return tuple(
        (name, value)
        for name, value in given
        if name not in _HOP_BY_HOP | _THEIRS | named
        and not name.startswith(_PREFIX)
        and not _SHARED.fullmatch(name)
    )


@asynccontextmanager
async def asked(out: Outgoing, *, seconds: float) -> AsyncIterator[httpx2.Response]:
    """The upstream's answer, its head there and its body not read yet; raises UpstreamFailed. The
    upstream may be silent for so many seconds. What fails inside is the caller's."""
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
        raise _failed(out, 502, f"cannot be asked: {error}") from None
    dial = Dial(endpoint_at(request.url))
    try:
        response = await _response(dial, request, out, seconds=seconds)
        try:
            yield response
        finally:
            await response.aclose()
    finally:
        await dial.aclose()


async def _response(
    dial: Dial, request: httpx2.Request, out: Outgoing, *, seconds: float
) -> httpx2.Response:
    try:
        response = await dial.handle_async_request(request)
    except Refused as error:
        raise _failed(out, 502, str(error)) from None
    except httpx2.ConnectTimeout:
        raise _failed(out, 504, f"did not answer in {CONNECT_SECONDS:g} s") from None
    except httpx2.ConnectError as error:
        raise _failed(out, 502, f"cannot be reached: {error}") from None
    except httpx2.TimeoutException:
        raise _failed(out, 504, f"said nothing for {seconds:g} s") from None
    except httpx2.TransportError as error:
        reason = str(error) or type(error).__name__
        raise _failed(out, 502, f"ended the connection: {reason}") from None
    if response.status_code in _REDIRECTS and "location" in response.headers:
        place = response.headers["location"].partition("?")[0][:200]
        await response.aclose()
        message = f"answers {response.status_code} to {place!r}; redirects are not followed"
        raise _failed(out, 502, message)
    return response


def _failed(out: Outgoing, status: int, message: str) -> UpstreamFailed:
    # A message of the client library may quote a header with its key.
    secrets = SecretMask((*out.keys, *secrets_of(dict(out.headers))))
    text = f"upstream_failed: The upstream of {out.name}, {out.place}, {secrets.text(message)}."
    error = ErrorAnswer(status, text, code="upstream_failed", retryable=False)
    return UpstreamFailed(error)


async def read_whole(response: httpx2.Response, out: Outgoing, *, most: int) -> bytes:
    """All of an answer's body, which was asked for as it is; raises UpstreamFailed where it is cut,
    compressed or longer than that."""
    encoding = response.headers.get("content-encoding", "")
    pieces: list[bytes] = []
    try:
        reader = reader_of(encoding, most=most)
        assert isinstance(response.stream, httpx2.AsyncByteStream)
        async for piece in response.stream:
            pieces.append(reader.read(piece))
    except httpx2.TransportError as error:
        reason = str(error) or type(error).__name__
        raise _failed(out, 502, f"ended its answer too soon: {reason}") from None
    except Unreadable as error:
        raise _failed(out, 502, f"gives an answer that cannot be read: {error}") from None
    except TooLong:
        raise _failed(out, 502, f"gives an answer of more than {most:,} bytes") from None
    return b"".join(pieces)


def raw_headers(response: httpx2.Response) -> Headers:
    """The headers of an answer, a repeated one as often as it came."""
    return tuple((k.decode("latin-1"), v.decode("latin-1")) for k, v in response.headers.raw)
