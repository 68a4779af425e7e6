"""APIs answered by middleware, in the thread that it is in already, from where they stand in the
list on: way back to the event loop, and to threads from there, costs more than most answers."""

from collections.abc import Callable

from asgiref.sync import iscoroutinefunction
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.urls import resolve
from django.utils.decorators import sync_only_middleware

GetResponse = Callable[[HttpRequest], HttpResponseBase]


def answers_below(prefix: str) -> Callable[[GetResponse], GetResponse]:
    """Middleware for the views below a path. What stands before it (hosts, headers, errors in
    JSON) holds for them, what stands after it doesn't. Coroutines are left to the event loop."""

    @sync_only_middleware
    def middleware(get_response: GetResponse) -> GetResponse:
        def asked(request: HttpRequest) -> HttpResponseBase:
            if not request.path_info.startswith(prefix):
                return get_response(request)
            found = resolve(request.path_info)
            if iscoroutinefunction(found.func):
                return get_response(request)
            request.resolver_match = found
            response: HttpResponseBase = found.func(request, *found.args, **found.kwargs)
            render = getattr(response, "render", None)
            return render() if callable(render) else response

        return asked

    return middleware
