"""Answers API clients that call an unknown URL with a provider's JSON 404, not with a page."""

from collections.abc import Iterable

from asgiref.sync import async_to_sync
from django.http import HttpRequest
from django.http.response import HttpResponseBase

from mockllm_site.kit.api.in_thread import GetResponse
from scenarios_app.serving.transports.asgi_scope import Scope, path_of
from scenarios_app.serving.transports.django import provider
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


def is_unknown_url(scope: Scope) -> bool:
    """Return True for an API client's request to a URL that no provider and no page has."""
    headers: Iterable[tuple[bytes, bytes]] = scope["headers"]
    values = {name: value.decode("latin-1") for name, value in headers if name in _HEADERS}
    return _is_unknown(scope["method"], path_of(scope), *(values.get(n, "") for n in _HEADERS))


def answer_unknown_urls(get_response: GetResponse) -> GetResponse:
    """Return middleware that answers unknown URLs of API clients as a provider does, before Django
    looks for a page."""

    def middleware(request: HttpRequest) -> HttpResponseBase:
        values = (request.headers.get(name.decode(), "") for name in _HEADERS)
        if _is_unknown(request.method or "", request.path_info, *values):
            return async_to_sync(provider)(request)
        return get_response(request)

    return middleware


def _is_unknown(method: str, path: str, accept: str, preflight: str) -> bool:
    """Return True if a client other than a browser calls an API: its path ends as a provider's, or
    it writes or accepts JSON at a path that is not ours. `preflight` is the method that a CORS
    preflight announces, else empty."""
    if "text/html" in accept or is_provider_path(path):
        return False
    # A CORS preflight names the method of the next request.
    method = preflight if method == "OPTIONS" else method
    intended = find_intended_path(method, path)
    if intended is not None and _first_segment(intended.lead) not in OUR_PREFIXES - {CHAT_API}:
        return True
    writes_or_reads_json = method in _WRITES or "application/json" in accept
    return writes_or_reads_json and _first_segment(path) not in OUR_PREFIXES | NO_API_SEGMENTS


def _first_segment(path: str) -> str:
    return path.strip("/").partition("/")[0]
