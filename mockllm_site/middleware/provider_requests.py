"""Tells providers' requests from those for pages, and keeps a provider's errors around its view.

An API client that calls an unknown URL gets a provider's JSON 404 too, not a page.
"""

from collections.abc import Awaitable, Callable, Iterable
from http import HTTPStatus
from typing import ClassVar

from asgiref.sync import iscoroutinefunction, markcoroutinefunction
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.urls import re_path

from scenarios_app.engine.canonical import ErrorAnswer
from scenarios_app.serving.transports.asgi_scope import App, Receive, Scope, Send, path_of
from scenarios_app.serving.transports.django import ProviderResponse, provider, refusal, scope_of
from scenarios_app.wire.registry import find_intended_path, is_provider_path

# Path prefixes of this site, which reports unknown paths itself.
OUR_PREFIXES = frozenset({"admin", "api", "chat", "control", "docs", "journal", "static", "traces"})
# Pages of this site, and paths that browsers, crawlers and health checks request.
NO_API_SEGMENTS = frozenset(
    {"", "livez", "healthz", "readyz", "metrics"}
    | {".well-known", "favicon.ico", "health", "robots.txt"}
)
# Other paths below this belong to the chat API, unless a provider's client means them.
CHAT_API = "api"
_WRITES = frozenset({"POST", "PUT", "PATCH", "DELETE"})
_HEADERS = (b"accept", b"access-control-request-method")
# The key of a scope that says whether its request is a provider's.
_MARK = "mockllm.for_provider"

# The routes of unknown URLs.
urlpatterns = [re_path("", provider)]
handler400 = "mockllm_site.pages.errors.bad_request"
handler403 = "mockllm_site.pages.errors.forbidden"
handler404 = "mockllm_site.pages.errors.not_found"
handler500 = "mockllm_site.pages.errors.server_error"


class ProviderRequests:
    """Middleware that routes unknown URLs to the providers' view, and gives Django's own error
    pages a provider's envelope."""

    sync_capable: ClassVar = True
    async_capable: ClassVar = True

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self._get_response = get_response
        self._is_async = iscoroutinefunction(get_response)
        if self._is_async:
            markcoroutinefunction(self)

    def __call__(self, request: HttpRequest) -> HttpResponseBase | Awaitable[HttpResponseBase]:
        if not is_for_provider(scope := scope_of(request)):
            return self._get_response(request)
        if not is_provider_path(path_of(scope)):
            request.urlconf = __name__
        if self._is_async:
            return self._answer(request)
        return _with_envelope(request, self._get_response(request))

    async def _answer(self, request: HttpRequest) -> HttpResponseBase:
        response: HttpResponseBase = await self._get_response(request)  # type: ignore[misc]
        return _with_envelope(request, response)


def _with_envelope(request: HttpRequest, response: HttpResponseBase) -> HttpResponseBase:
    """Return an error page of Django as the provider's error, and any other response unchanged."""
    is_page = response.headers.get("Content-Type", "").startswith("text/html")
    if response.status_code < 400 or isinstance(response, ProviderResponse) or not is_page:
        return response
    phrase = HTTPStatus(response.status_code).phrase
    return refusal(
        request, ErrorAnswer(response.status_code, f"{phrase}; the server's log says why.")
    )


def is_provider_request(request: HttpRequest) -> bool:
    """Return True for a request to a provider or to an unknown URL of an API client."""
    return is_for_provider(scope_of(request))


def split_requests(*, providers: App, pages: App) -> App:
    """Return an application with one part for providers' requests and one for all others."""

    async def split(scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request by the part for it."""
        await (providers if is_for_provider(scope) else pages)(scope, receive, send)

    return split


def is_for_provider(scope: Scope) -> bool:
    """Return True for the scope of a request to a provider or to an unknown URL of an API
    client; the scope keeps the result."""
    marked: bool | None = scope.get(_MARK)
    if marked is None:
        marked = scope[_MARK] = is_provider_path(path_of(scope)) or is_unknown_url(scope)
    return marked


def is_unknown_url(scope: Scope) -> bool:
    """Return True if a client other than a browser calls an API at a URL that no provider and no
    page has: its path ends as a provider's, or it writes or accepts JSON at a path that is not
    ours."""
    headers: Iterable[tuple[bytes, bytes]] = scope["headers"]
    values = {name: value.decode("latin-1") for name, value in headers if name in _HEADERS}
    accept, preflight = (values.get(name, "") for name in _HEADERS)
    path = path_of(scope)
    if "text/html" in accept or is_provider_path(path):
        return False
    # A CORS preflight names the method of the next request.
    method = preflight if scope["method"] == "OPTIONS" else scope["method"]
    intended = find_intended_path(method, path)
    if intended is not None and _first_segment(intended.lead) not in OUR_PREFIXES - {CHAT_API}:
        return True
    writes_or_reads_json = method in _WRITES or "application/json" in accept
    return writes_or_reads_json and _first_segment(path) not in OUR_PREFIXES | NO_API_SEGMENTS


def _first_segment(path: str) -> str:
    return path.strip("/").partition("/")[0]
