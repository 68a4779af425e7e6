"""Speaking to the one place that a base URL names, at addresses that were looked at before."""

import asyncio
import socket
from functools import cache
from ssl import SSLContext

import httpx2

from chat_app.clients.allowed import check_addresses, literal, place_at, place_of, refused


async def resolve(host: str, port: int) -> tuple[str, ...]:
    """A host's addresses, in the order in which this machine would try them."""
    found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return tuple(dict.fromkeys(str(address[0]) for *_, address in found))


@cache
def tls() -> SSLContext:
    """Made once: reading the machine's certificates takes 40 ms."""
    return httpx2.create_ssl_context(trust_env=False)


class Dialing(httpx2.AsyncBaseTransport):
    """Speaks to one place, at the addresses that its name had when it was first asked for and
    that were found to be allowed: a name that changes its mind changes nothing."""

    def __init__(self, base_url: str) -> None:
        self._place = place_of(base_url)
        self._addresses: tuple[str, ...] = ()
        self._inner: httpx2.AsyncHTTPTransport | None = None

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        if (place := place_at(request.url)) != self._place:
            raise refused(f"{place} is not {self._place}")
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
            check_addresses(self._place.host, addresses)
            self._addresses = addresses
        return self._addresses

    async def _looked_up(self, seconds: float) -> tuple[str, ...]:
        host, port = self._place.host, self._place.port
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
