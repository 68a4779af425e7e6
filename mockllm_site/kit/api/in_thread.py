"""Middleware that calls views in its own thread.

Going back to the event loop and into another thread would take longer than most views do.
"""

from collections.abc import Callable
from functools import cache

from asgiref.sync import async_to_sync, iscoroutinefunction
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.urls import resolve
from django.utils.decorators import sync_only_middleware

from mockllm_site.kit.api.signals import first_call
from mockllm_site.kit.testcase import running_connection

GetResponse = Callable[[HttpRequest], HttpResponseBase]


def call_views_below(prefix: str) -> Callable[[GetResponse], GetResponse]:
    """Return middleware that calls the views below a path itself, in its thread. Later middleware
    does not run for them."""

    @sync_only_middleware
    def middleware(get_response: GetResponse) -> GetResponse:
        prepare = cache(_send_first_call)

        def handle(request: HttpRequest) -> HttpResponseBase:
            if not request.path_info.startswith(prefix):
                return get_response(request)
            prepare()
            match = resolve(request.path_info)
            # A coroutine runs on the event loop; the earlier middleware then continues here.
            coroutine = iscoroutinefunction(match.func)
            view = async_to_sync(match.func) if coroutine else match.func
            request.resolver_match = match
            response: HttpResponseBase = view(request, *match.args, **match.kwargs)
            render = getattr(response, "render", None)
            return render() if callable(render) else response

        return handle

    return middleware


def _send_first_call() -> None:
    """Send the signal, except in a test's transaction, for which another connection would wait."""
    if running_connection() is None:
        first_call.send_robust(sender=call_views_below)
