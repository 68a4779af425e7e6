"""Django middleware that changes responses, in synchronous and asynchronous request handling."""

from collections.abc import Awaitable, Callable

from asgiref.sync import iscoroutinefunction
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.utils.decorators import sync_and_async_middleware

Responder = Callable[[HttpRequest], HttpResponseBase | Awaitable[HttpResponseBase]]


def response_middleware(
    change: Callable[[HttpRequest, HttpResponseBase], HttpResponseBase],
) -> Callable[[Responder], Responder]:
    """Return a middleware that passes each response through `change`."""

    @sync_and_async_middleware
    def middleware(get_response: Responder) -> Responder:
        if iscoroutinefunction(get_response):

            async def handle_async(request: HttpRequest) -> HttpResponseBase:
                return change(request, await get_response(request))

            return handle_async

        def handle(request: HttpRequest) -> HttpResponseBase:
            return change(request, get_response(request))  # type: ignore[arg-type]

        return handle

    return middleware
