"""Routes of model calls: which hosts profiles may call, which key goes to which host, and how.

The host of a base URL must be in CHAT_ALLOWED_HOSTS and resolve to public addresses. The variable
of a key must be listed with its host: an editor of profiles chooses both, and could otherwise send
any variable of this server to an address of their own. SDKs read headers, proxies and timeouts from
the environment; a route replaces all of them.
"""

from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import cache
from http.cookiejar import CookieJar, DefaultCookiePolicy
from urllib.parse import unquote

import httpx2
from django.conf import settings

from chat_app.clients.providers import provider_of
from chat_app.errors import VALIDATION_ERROR, ChatError
from chat_app.models import MOCK_URL
from mockllm_site.kit import addresses
from mockllm_site.kit.dial import PinnedTransport

# SDKs get this instead of the key, which the route adds.
NO_KEY = "set-by-the-route"
# The headers of an SDK that are sent; keys, organisations and projects are dropped.
_KEPT_HEADERS = frozenset(
    {"host", "content-type", "content-length", "transfer-encoding", "user-agent"}
    | {"accept", "anthropic-version"}
)
# Headers of the mock that name the scenario and the step.
SCENARIO, STEP = "x-mockllm-scenario", "x-mockllm-step"
# Called with the scenario and step that answered this task's call.
on_answered: ContextVar["Callable[[str], None] | None"] = ContextVar("answered", default=None)
# More than the longest answer of any model, streamed token by token.
MAX_RESPONSE_BYTES = 100_000_000
# Clients of SDKs are cached, one for each base URL.
MAX_SDK_CLIENTS = 64
# The named providers over TLS, and a local Ollama.
DEFAULT_HOSTS = (
    "api.openai.com",
    "api.anthropic.com",
    "generativelanguage.googleapis.com",
    "openrouter.ai",
    "127.0.0.1:11434",
    "localhost:11434",
)


def check_base_url(provider_id: str, base_url: str) -> None:
    """Raise VALIDATION_ERROR for a base URL that this provider may not have. Resolves no names;
    addresses are checked when they are called."""
    if not base_url:
        if not provider_of(provider_id).base_url:
            raise base_url_error(f"needed for {provider_id}, which is no provider known by name")
    elif base_url != MOCK_URL:
        endpoint_of(base_url)


def endpoint_of(base_url: str) -> addresses.Endpoint:
    """Return the endpoint of an allowed base URL; raises VALIDATION_ERROR. Resolves no names."""
    try:
        endpoint = addresses.endpoint_at(addresses.parse_base_url(base_url))
        if not any(entry_allows(entry, endpoint) for entry in allowed_hosts()):
            raise addresses.AddressRefused(f"{endpoint} is not in CHAT_ALLOWED_HOSTS")
        addresses.check_ip_literal(endpoint.host)
    except addresses.AddressRefused as error:
        raise base_url_error(str(error)) from None
    return endpoint


def allowed_hosts() -> tuple[str, ...]:
    """Return CHAT_ALLOWED_HOSTS, or the default hosts."""
    return tuple(settings.CHAT_ALLOWED_HOSTS) or DEFAULT_HOSTS


def entry_allows(entry: str, endpoint: addresses.Endpoint) -> bool:
    """True if an entry of CHAT_ALLOWED_HOSTS allows an endpoint; without a port, it allows TLS on
    port 443 only."""
    try:
        url = httpx2.URL(f"https://{entry}")
    except httpx2.InvalidURL:
        return False
    if url.raw_host.decode("ascii") != endpoint.host:
        return False
    if url.port is None:
        return addresses.is_plain_tls(endpoint)
    return url.port == endpoint.port


def base_url_error(reason: str) -> ChatError:
    """Return the ChatError (VALIDATION_ERROR) for a refused base URL."""
    return ChatError(VALIDATION_ERROR, f"Base URL: {reason}", field="base_url")


# Variables of keys and their hosts; CHAT_KEYS adds more.
PROVIDER_KEYS = (
    ("OPENAI_API_KEY", "api.openai.com"),
    ("ANTHROPIC_API_KEY", "api.anthropic.com"),
    ("GEMINI_API_KEY", "generativelanguage.googleapis.com"),
    ("GOOGLE_API_KEY", "generativelanguage.googleapis.com"),
    ("OPENROUTER_API_KEY", "openrouter.ai"),
)


def check_key_host(name: str, base_url: str) -> None:
    """Raise VALIDATION_ERROR if this variable may not be sent to this base URL."""
    endpoint = endpoint_of(base_url)
    hosts = [host for variable, host in key_host_pairs() if variable == name]
    if not any(entry_allows(host, endpoint) for host in hosts):
        raise ChatError(
            VALIDATION_ERROR,
            f"{name} may not be sent to {endpoint}: "
            f"the operator's CHAT_KEYS has no {name}@{endpoint}",
            field="api_key_env",
        )


def key_host_pairs() -> tuple[tuple[str, str], ...]:
    """Return the allowed pairs of a key's variable and a host."""
    return (*PROVIDER_KEYS, *settings.CHAT_KEYS)


def is_listed_key_name(name: str) -> bool:
    """True if a variable is listed for any host, so that pages may show if it is set."""
    return any(variable == name for variable, _ in key_host_pairs())


@dataclass(frozen=True, slots=True)
class Route:
    """The address, transport and headers of a profile's calls to its provider. `key` is the secret
    among the headers, to be redacted from errors."""

    base_url: str
    transport: httpx2.AsyncBaseTransport
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    key: str = field(default="", repr=False)

    @asynccontextmanager
    async def call(self) -> AsyncIterator[None]:
        """Route this task's requests on `http_client` here; close their responses at the end."""
        call = _RoutedCall(self)
        _current_call.set(call)
        try:
            yield
        finally:
            await call.aclose()

    async def aclose(self) -> None:
        await self.transport.aclose()


class _RoutedCall:
    """Sends the requests of one model call by its route, and limits their responses."""

    def __init__(self, route: Route) -> None:
        self._route = route
        self._open: list[_LimitedBody] = []

    async def send(self, request: httpx2.Request) -> httpx2.Response:
        """Send a request by the route; report the mock's scenario and step to `on_answered`. Raises
        DecodingError for a compressed response."""
        response = await self._route.transport.handle_async_request(self._rewrite(request))
        assert isinstance(response.stream, httpx2.AsyncByteStream)
        if (note := on_answered.get()) is not None and (scenario := response.headers.get(SCENARIO)):
            note(" · ".join(filter(None, (unquote(scenario), unquote(response.headers[STEP])))))
        response.stream = body = _LimitedBody(response.stream)
        self._open.append(body)
        if response.headers.get("content-encoding", "identity") != "identity":
            raise httpx2.DecodingError("The answer is compressed, which was not asked for.")
        return response

    async def aclose(self) -> None:
        """Close responses that the SDK left open in unread generators."""
        for body in self._open:
            await body.aclose()

    def _rewrite(self, request: httpx2.Request) -> httpx2.Request:
        """Return the request with the route's headers and timeouts only."""
        left = {name: value for name, value in request.headers.items() if name in _KEPT_HEADERS}
        connect, silent = settings.CHAT_CONNECT_SECONDS, settings.CHAT_READ_SECONDS
        timeout = {"connect": connect, "pool": connect, "read": silent, "write": silent}
        return httpx2.Request(
            request.method,
            request.url,
            headers={**left, "accept-encoding": "identity", **self._route.headers},
            stream=request.stream,
            extensions={**request.extensions, "timeout": timeout},
        )


# The call of the running task.
_current_call: ContextVar[_RoutedCall] = ContextVar("calling")


class _RoutingTransport(httpx2.AsyncBaseTransport):
    """Passes each request to the running task's call."""

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        return await _current_call.get().send(request)


@cache
def http_client() -> httpx2.AsyncClient:
    """Return the one HTTP client of all calls, which passes requests to the route of their task.
    Clients of SDKs are cached with it, because creating one costs a third of a call."""
    cookies = CookieJar(DefaultCookiePolicy(allowed_domains=()))
    return httpx2.AsyncClient(
        transport=_RoutingTransport(), trust_env=False, follow_redirects=False, cookies=cookies
    )


class _LimitedBody(httpx2.AsyncByteStream):
    """A response's bytes; raises DecodingError beyond MAX_RESPONSE_BYTES."""

    def __init__(self, stream: httpx2.AsyncByteStream) -> None:
        self._stream = stream

    async def __aiter__(self) -> AsyncIterator[bytes]:
        left = MAX_RESPONSE_BYTES
        async for piece in self._stream:
            left -= len(piece)
            if left < 0:
                raise httpx2.DecodingError(f"The answer has more than {MAX_RESPONSE_BYTES} bytes.")
            yield piece

    async def aclose(self) -> None:
        await self._stream.aclose()


class EndpointTransport(PinnedTransport):
    """Connects to the endpoint of one base URL; refusals become ChatError."""

    def __init__(self, base_url: str) -> None:
        super().__init__(endpoint_of(base_url))

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        try:
            return await super().handle_async_request(request)
        except addresses.AddressRefused as error:
            raise base_url_error(str(error)) from None
