"""Requests of providers' clients that a wrong base URL has sent past every provider's path: they
are answered as a provider answers, not with a page."""

from collections.abc import Awaitable, Callable, Iterable

from asgiref.sync import async_to_sync, iscoroutinefunction
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.utils.decorators import sync_and_async_middleware

from scenarios_app.serving.transports.asgi_scope import Scope, path_of
from scenarios_app.serving.transports.django import provider
from scenarios_app.wire.registry import find_intended_path, is_provider_path

# Below these, it is ours to tell what is not there.
OURS = frozenset({"admin", "api", "chat", "control", "docs", "journal", "static", "traces"})


def is_misled(scope: Scope) -> bool:
    """Whether a request is no provider's by its path, looks meant for one, and wants no page."""
    headers: Iterable[tuple[bytes, bytes]] = scope["headers"]
    given = {name: value.decode("latin-1") for name, value in headers if name in _HEADERS}
    return _is_misled(scope["method"], path_of(scope), *(given.get(n, "") for n in _HEADERS))


@sync_and_async_middleware
def answer_misled(
    get_response: Callable[[HttpRequest], HttpResponseBase | Awaitable[HttpResponseBase]],
) -> Callable[[HttpRequest], HttpResponseBase | Awaitable[HttpResponseBase]]:
    """The same for what reaches Django, before it looks for a page or a slash that is missing."""
    if iscoroutinefunction(get_response):

        async def asked(request: HttpRequest) -> HttpResponseBase:
            if _request_is_misled(request):
                return await provider(request)
            return await get_response(request)

        return asked

    def asked_at_once(request: HttpRequest) -> HttpResponseBase:
        if _request_is_misled(request):
            return async_to_sync(provider)(request)
        return get_response(request)  # type: ignore[return-value]

    return asked_at_once


_HEADERS = (b"accept", b"access-control-request-method")


def _request_is_misled(request: HttpRequest) -> bool:
    given = (request.headers.get(name.decode(), "") for name in _HEADERS)
    return _is_misled(request.method or "", request.path_info, *given)


def _is_misled(method: str, path: str, accept: str, preflight: str) -> bool:
    if "text/html" in accept or is_provider_path(path):
        return False
    # Before a page of another origin may ask at all, its browser asks whether it may.
    found = find_intended_path(preflight if method == "OPTIONS" else method, path)
    return found is not None and found.lead.strip("/").partition("/")[0] not in OURS
