"""Keeps every answer of our own APIs JSON, also those that Django gives before a view can."""

from collections.abc import Awaitable, Callable

from asgiref.sync import iscoroutinefunction
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.utils.decorators import sync_and_async_middleware

from mockllm_site.kit.api.errors import PREFIXES, error_response
from scenarios_app.wire.registry import owns

MESSAGES = {400: "The request is malformed: its Host header or its address is not one of ours."}


@sync_and_async_middleware
def json_errors(
    get_response: Callable[[HttpRequest], HttpResponseBase | Awaitable[HttpResponseBase]],
) -> Callable[[HttpRequest], HttpResponseBase | Awaitable[HttpResponseBase]]:
    if iscoroutinefunction(get_response):

        async def asked(request: HttpRequest) -> HttpResponseBase:
            return _as_json(request, await get_response(request))

        return asked

    def asked_at_once(request: HttpRequest) -> HttpResponseBase:
        return _as_json(request, get_response(request))  # type: ignore[arg-type]

    return asked_at_once


def _as_json(request: HttpRequest, response: HttpResponseBase) -> HttpResponseBase:
    """Debug pages above all, which take the place of the error handlers."""
    status = response.status_code
    path = request.path_info
    if status < 400 or not path.startswith(PREFIXES) or owns(path):
        return response
    if response.headers.get("Content-Type", "").startswith("application/json"):
        return response
    return error_response(status, MESSAGES.get(status, "The request failed."))
