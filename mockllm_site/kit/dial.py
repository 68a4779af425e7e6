"""An HTTP transport for outbound calls that resolves a host once and checks its addresses."""

import asyncio
import socket
from functools import cache
from ssl import SSLContext

import httpx2

from mockllm_site.kit.addresses import (
    AddressRefused,
    Endpoint,
    check_resolved_addresses,
    endpoint_at,
    parse_ip_address,
)


async def resolve_host(host: str, port: int) -> tuple[str, ...]:
    """Return a host's addresses in the order in which this machine would try them. Raise OSError or
    UnicodeError if it cannot be looked up."""
    results = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return tuple(dict.fromkeys(str(address[0]) for *_, address in results))


@cache
def tls_context() -> SSLContext:
    """Return the cached TLS context: reading the machine's certificates takes 40 ms."""
    return httpx2.create_ssl_context(trust_env=False)


class PinnedTransport(httpx2.AsyncBaseTransport):
    """An HTTP transport to one endpoint, pinned to the allowed addresses of its first DNS lookup
    against DNS rebinding. Raises AddressRefused for other endpoints and addresses."""

    def __init__(self, endpoint: Endpoint) -> None:
        self._endpoint = endpoint
        self._addresses: tuple[str, ...] = ()
        self._inner: httpx2.AsyncHTTPTransport | None = None

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """Send a request to the endpoint, at its allowed addresses in turn; raise AddressRefused
        for another endpoint."""
        if (endpoint := endpoint_at(request.url)) != self._endpoint:
            raise AddressRefused(f"{endpoint} is not {self._endpoint}")
        inner = await self._inner_transport()
        timeout = request.extensions["timeout"]
        addresses = await self._allowed_addresses(timeout["connect"])
        # An equal share of the time for each address, so that a dead one leaves time for the rest.
        timeout = {**timeout, "connect": timeout["connect"] / len(addresses)}
        for number, address in enumerate(addresses, 1):
            try:
                return await inner.handle_async_request(_request_to(request, address, timeout))
            except (httpx2.ConnectError, httpx2.ConnectTimeout):
                if number == len(addresses):
                    raise
        raise AssertionError("a host without addresses")  # pragma: no cover

    async def aclose(self) -> None:
        if self._inner is not None:
            await self._inner.aclose()

    async def _inner_transport(self) -> httpx2.AsyncHTTPTransport:
        """Return the transport that sends the requests; create it at the first call."""
        if self._inner is None:
            context = await asyncio.to_thread(tls_context)
            # Another first call may have created it meanwhile.
            self._inner = self._inner or httpx2.AsyncHTTPTransport(verify=context, trust_env=False)
        return self._inner

    async def _allowed_addresses(self, seconds: float) -> tuple[str, ...]:
        """Return the endpoint's addresses, looked up once, within `seconds`. Raise ConnectTimeout,
        ConnectError, or AddressRefused if one is not allowed."""
        if self._addresses:
            return self._addresses
        host, port = self._endpoint.host, self._endpoint.port
        if parse_ip_address(host):
            return (host,)
        try:
            async with asyncio.timeout(seconds):
                addresses = await resolve_host(host, port)
        except TimeoutError:
            raise httpx2.ConnectTimeout(f"{host} could not be looked up in time") from None
        except (OSError, UnicodeError) as error:
            raise httpx2.ConnectError(f"{host} could not be looked up: {error}") from error
        if not addresses:
            raise httpx2.ConnectError(f"{host} has no address")
        check_resolved_addresses(host, addresses)
        self._addresses = addresses
        return addresses


def _request_to(request: httpx2.Request, address: str, timeout: dict[str, float]) -> httpx2.Request:
    """Return a request to this address; TLS and the Host header keep the host name."""
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
