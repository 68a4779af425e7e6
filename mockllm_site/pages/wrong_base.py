"""Answers provider requests that a wrong base URL sent to an unknown path in the provider's shape,
not with an HTML page."""

from collections.abc import Iterable

from asgiref.sync import async_to_sync, iscoroutinefunction
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.utils.decorators import sync_and_async_middleware

from mockllm_site.kit.middleware import Responder
from scenarios_app.serving.transports.asgi_scope import Scope, path_of
from scenarios_app.serving.transports.django import provider
from scenarios_app.wire.registry import find_intended_path, is_provider_path

# Paths below these belong to this site, which reports unknown ones itself.
OURS = frozenset({"admin", "api", "chat", "control", "docs", "journal", "static", "traces"})


def has_wrong_base_url(scope: Scope) -> bool:
    """Return whether an unknown path looks like a provider request that wants no page."""
    headers: Iterable[tuple[bytes, bytes]] = scope["headers"]
    values = {name: value.decode("latin-1") for name, value in headers if name in _HEADERS}
    return _is_misled(scope["method"], path_of(scope), *(values.get(n, "") for n in _HEADERS))


@sync_and_async_middleware
def answer_wrong_base_url(get_response: Responder) -> Responder:
    """Answer such requests before Django looks for a page or adds a missing slash."""
    if iscoroutinefunction(get_response):

        async def async_middleware(request: HttpRequest) -> HttpResponseBase:
            if _request_is_misled(request):
                return await provider(request)
            return await get_response(request)

        return async_middleware

    def sync_middleware(request: HttpRequest) -> HttpResponseBase:
        if _request_is_misled(request):
            return async_to_sync(provider)(request)
        return get_response(request)  # type: ignore[return-value]

    return sync_middleware


_HEADERS = (b"accept", b"access-control-request-method")


def _request_is_misled(request: HttpRequest) -> bool:
    values = (request.headers.get(name.decode(), "") for name in _HEADERS)
    return _is_misled(request.method or "", request.path_info, *values)


def _is_misled(method: str, path: str, accept: str, preflight: str) -> bool:
    if "text/html" in accept or is_provider_path(path):
        return False
    # A CORS preflight names the method of the request that follows.
    intended = find_intended_path(preflight if method == "OPTIONS" else method, path)
    return intended is not None and intended.lead.strip("/").partition("/")[0] not in OURS
