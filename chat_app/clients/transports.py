"""The way of a call to a provider: to the one endpoint that its base URL names, at addresses that
were looked at before, or in process.

SDKs take headers, proxies and patience from the environment; a call goes out as its route says.
"""

import asyncio
import socket
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import cache
from ssl import SSLContext
from urllib.parse import unquote

import httpx2
from django.conf import settings

from chat_app.clients.endpoints import check_addresses, endpoint_at, endpoint_of, literal, refused

# What SDKs are given in place of a key: they have no use for the real one.
NO_KEY = "set-by-the-route"
# What is left of an SDK's headers. No key, organisation, project, nor what its variables add.
_LEFT = frozenset(
    {"host", "content-type", "content-length", "transfer-encoding", "user-agent"}
    | {"accept", "anthropic-version"}
)
# By which the mock says what answered; no provider sends these.
SCENARIO, STEP = "x-mockllm-scenario", "x-mockllm-step"
# Where the call that this task makes is to note what answered it.
answered: ContextVar["Callable[[str], None] | None"] = ContextVar("answered", default=None)
# More than the longest answer of any model, told token by token.
MOST_BYTES = 100_000_000


@dataclass(frozen=True, slots=True)
class Route:
    """How a profile's calls get to their provider. `headers` are sent with each; `key` is among
    them, and here so that it can be kept out of what is said and logged."""

    base_url: str
    transport: httpx2.AsyncBaseTransport
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    key: str = field(default="", repr=False)

    @asynccontextmanager
    async def call(self) -> AsyncIterator[httpx2.AsyncClient]:
        """The HTTP client of one model call; what the call left open is closed at its end."""
        async with httpx2.AsyncClient(
            transport=_Gate(self), trust_env=False, follow_redirects=False
        ) as http:
            yield http

    async def aclose(self) -> None:
        await self.transport.aclose()


class _Gate(httpx2.AsyncBaseTransport):
    def __init__(self, route: Route) -> None:
        self._route = route
        self._open: list[_Body] = []

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        response = await self._route.transport.handle_async_request(self._sent(request))
        assert isinstance(response.stream, httpx2.AsyncByteStream)
        if (note := answered.get()) is not None and (scenario := response.headers.get(SCENARIO)):
            note(" · ".join(filter(None, (unquote(scenario), unquote(response.headers[STEP])))))
        body = _Body(response.stream)
        self._open.append(body)
        if response.headers.get("content-encoding", "identity") != "identity":
            raise httpx2.DecodingError("The answer is compressed, which was not asked for.")
        response.stream = body
        return response

    async def aclose(self) -> None:
        """Some responses nobody closed: SDKs leave that to generators which nobody reads."""
        for body in self._open:
            await body.aclose()

    def _sent(self, request: httpx2.Request) -> httpx2.Request:
        left = {name: value for name, value in request.headers.items() if name in _LEFT}
        connect, silent = settings.CHAT_CONNECT_SECONDS, settings.CHAT_READ_SECONDS
        timeout = {"connect": connect, "pool": connect, "read": silent, "write": silent}
        return httpx2.Request(
            request.method,
            request.url,
            headers={**left, "accept-encoding": "identity", **self._route.headers},
            stream=request.stream,
            extensions={**request.extensions, "timeout": timeout},
        )


class _Body(httpx2.AsyncByteStream):
    """An answer's bytes, up to what any answer may have."""

    def __init__(self, stream: httpx2.AsyncByteStream) -> None:
        self._stream = stream

    async def __aiter__(self) -> AsyncIterator[bytes]:
        left = MOST_BYTES
        async for piece in self._stream:
            left -= len(piece)
            if left < 0:
                raise httpx2.DecodingError(f"The answer has more than {MOST_BYTES} bytes.")
            yield piece

    async def aclose(self) -> None:
        await self._stream.aclose()


async def resolve(host: str, port: int) -> tuple[str, ...]:
    """A host's addresses, in the order in which this machine would try them."""
    found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return tuple(dict.fromkeys(str(address[0]) for *_, address in found))


@cache
def tls() -> SSLContext:
    """Made once: reading the machine's certificates takes 40 ms."""
    return httpx2.create_ssl_context(trust_env=False)


class Dialing(httpx2.AsyncBaseTransport):
    """Speaks to one endpoint, at the addresses that its name had when it was first asked for and
    that were found to be allowed: a name that changes its mind changes nothing."""

    def __init__(self, base_url: str) -> None:
        self._endpoint = endpoint_of(base_url)
        self._addresses: tuple[str, ...] = ()
        self._inner: httpx2.AsyncHTTPTransport | None = None

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        if (endpoint := endpoint_at(request.url)) != self._endpoint:
            raise refused(f"{endpoint} is not {self._endpoint}")
        inner = await self._transport()
        timeout = request.extensions["timeout"]
        addresses = await self._checked(timeout["connect"])
        # Each address gets its share of the time, so that one that is dead leaves some to the next.
        timeout = {**timeout, "connect": timeout["connect"] / len(addresses)}
        for number, address in enumerate(addresses, 1):
            try:
                return await inner.handle_async_request(_pinned(request, address, timeout))
            except (httpx2.ConnectError, httpx2.ConnectTimeout):
                if number == len(addresses):
                    raise
        raise AssertionError("a host without addresses")  # pragma: no cover

    async def aclose(self) -> None:
        if self._inner is not None:
            await self._inner.aclose()

    async def _transport(self) -> httpx2.AsyncHTTPTransport:
        if self._inner is None:
            context = await asyncio.to_thread(tls)
            self._inner = httpx2.AsyncHTTPTransport(verify=context, trust_env=False)
        return self._inner

    async def _checked(self, seconds: float) -> tuple[str, ...]:
        if not self._addresses:
            addresses = await self._looked_up(seconds)
            check_addresses(self._endpoint.host, addresses)
            self._addresses = addresses
        return self._addresses

    async def _looked_up(self, seconds: float) -> tuple[str, ...]:
        host, port = self._endpoint.host, self._endpoint.port
        if literal(host):
            return (host,)
        try:
            async with asyncio.timeout(seconds):
                addresses = await resolve(host, port)
        except TimeoutError:
            raise httpx2.ConnectTimeout(f"{host} could not be looked up in time") from None
        except (OSError, UnicodeError) as error:
            raise httpx2.ConnectError(f"{host} could not be looked up: {error}") from error
        if not addresses:
            raise httpx2.ConnectError(f"{host} has no address")
        return addresses


def _pinned(request: httpx2.Request, address: str, timeout: dict[str, float]) -> httpx2.Request:
    """The request to an address, which for TLS and in its Host header keeps the name."""
    return httpx2.Request(
        request.method,
        request.url.copy_with(host=address),
        headers=request.headers,
        stream=request.stream,
        extensions={
            **request.extensions,
            "timeout": timeout,
            "sni_hostname": request.url.raw_host.decode("ascii"),
        },
    )
