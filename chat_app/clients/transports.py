"""The way of a call to a provider: where profiles may send requests, which key goes where, and how
a call gets there, at addresses that were looked at before, or in process.

A base URL's host has to be in CHAT_ALLOWED_HOSTS, and what its name resolves to has to be public. A
key's variable has to be listed with the host: who edits profiles chooses both, and could otherwise
read any variable of the server's by sending it to an address of their own. SDKs take headers,
proxies and patience from the environment; a call goes out as its route says.
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
from mockllm_site.kit.addresses import (
    Endpoint,
    Refused,
    check_literal,
    endpoint_at,
    is_plain_tls,
    read_base_url,
)
from mockllm_site.kit.dial import Dial

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
# SDKs' clients, each of one base URL, that are kept for the next call.
MOST_KEPT = 64
# The named providers, over TLS, and an Ollama of this machine.
DEFAULT_HOSTS = (
    "api.openai.com",
    "api.anthropic.com",
    "generativelanguage.googleapis.com",
    "openrouter.ai",
    "127.0.0.1:11434",
    "localhost:11434",
)


def check_base_url(provider_id: str, base_url: str) -> None:
    """Raises VALIDATION_ERROR for a base URL that a profile of this provider may not have. Cheap:
    where a name leads to is looked at when it is called."""
    if not base_url:
        if not provider_of(provider_id).base_url:
            raise refused(f"needed for {provider_id}, which is no provider known by name")
    elif base_url != MOCK_URL:
        endpoint_of(base_url)


def endpoint_of(base_url: str) -> Endpoint:
    """Whom a base URL speaks to, if it is allowed. Looks nothing up."""
    try:
        endpoint = endpoint_at(read_base_url(base_url))
        if not any(covers(entry, endpoint) for entry in allowed_hosts()):
            raise Refused(f"{endpoint} is not in CHAT_ALLOWED_HOSTS")
        check_literal(endpoint.host)
    except Refused as error:
        raise refused(str(error)) from None
    return endpoint


def allowed_hosts() -> tuple[str, ...]:
    return tuple(settings.CHAT_ALLOWED_HOSTS) or DEFAULT_HOSTS


def covers(entry: str, endpoint: Endpoint) -> bool:
    """Whether an entry of the list allows an endpoint. One without a port means TLS on its usual
    one: what is not encrypted needs a port that says so."""
    try:
        url = httpx2.URL(f"https://{entry}")
    except httpx2.InvalidURL:
        return False
    if url.raw_host.decode("ascii") != endpoint.host:
        return False
    if url.port is None:
        return is_plain_tls(endpoint)
    return url.port == endpoint.port


def refused(why: str) -> ChatError:
    return ChatError(VALIDATION_ERROR, f"Base URL: {why}", field="base_url")


# Each named provider's own pair; CHAT_KEYS adds more.
OWN = (
    ("OPENAI_API_KEY", "api.openai.com"),
    ("ANTHROPIC_API_KEY", "api.anthropic.com"),
    ("GEMINI_API_KEY", "generativelanguage.googleapis.com"),
    ("GOOGLE_API_KEY", "generativelanguage.googleapis.com"),
    ("OPENROUTER_API_KEY", "openrouter.ai"),
)


def check_key_host(name: str, base_url: str) -> None:
    """Raises VALIDATION_ERROR where the variable of this name may not be sent to this address."""
    endpoint = endpoint_of(base_url)
    if not any(variable == name and covers(host, endpoint) for variable, host in pairs()):
        raise ChatError(
            VALIDATION_ERROR,
            f"{name} may not be sent to {endpoint}: "
            f"the operator's CHAT_KEYS has no {name}@{endpoint}",
            field="api_key_env",
        )


def pairs() -> tuple[tuple[str, str], ...]:
    return (*OWN, *settings.CHAT_KEYS)


def is_listed(name: str) -> bool:
    """Whether a variable may go anywhere at all, so that one may ask whether it is set."""
    return any(variable == name for variable, _ in pairs())


@dataclass(frozen=True, slots=True)
class Route:
    """How a profile's calls get to their provider. `headers` are sent with each; `key` is among
    them, and here so that it can be kept out of what is said and logged."""

    base_url: str
    transport: httpx2.AsyncBaseTransport
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    key: str = field(default="", repr=False)

    @asynccontextmanager
    async def call(self) -> AsyncIterator[None]:
        """One model call: what this task sends through `http_client` goes this way, and what was
        left open of it is closed at the end."""
        call = _Call(self)
        _calling.set(call)
        try:
            yield
        finally:
            await call.aclose()

    async def aclose(self) -> None:
        await self.transport.aclose()


class _Call:
    """What one model call sends, and the answers to it."""

    def __init__(self, route: Route) -> None:
        self._route = route
        self._open: list[_Body] = []

    async def respond(self, request: httpx2.Request) -> httpx2.Response:
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


# The call that this task makes.
_calling: ContextVar[_Call] = ContextVar("calling")


class _Gate(httpx2.AsyncBaseTransport):
    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        return await _calling.get().respond(request)


@cache
def http_client() -> httpx2.AsyncClient:
    """The HTTP client of all calls, which keeps nothing of any: connections are the routes', and
    cookies are for nobody. SDKs are given it once for each base URL, and not made anew for a call:
    that costs as much as a third of it."""
    cookies = CookieJar(DefaultCookiePolicy(allowed_domains=()))
    return httpx2.AsyncClient(
        transport=_Gate(), trust_env=False, follow_redirects=False, cookies=cookies
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


class Dialing(Dial):
    """Speaks to the endpoint of one base URL; what it refuses is an error of the chat's."""

    def __init__(self, base_url: str) -> None:
        super().__init__(endpoint_of(base_url))

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        try:
            return await super().handle_async_request(request)
        except Refused as error:
            raise refused(str(error)) from None
