"""The control API before what pages need: it knows tokens and no logins, so neither a session is
opened for it, nor a form's token or a message looked for."""

from collections.abc import Callable

from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.urls import resolve
from django.utils.decorators import sync_only_middleware

PREFIX = "/control/"


@sync_only_middleware
def answer_control(
    get_response: Callable[[HttpRequest], HttpResponseBase],
) -> Callable[[HttpRequest], HttpResponseBase]:
    """Its views answer in the thread that middleware is in already; way back to the event loop, and
    to a thread from there, costs more than most of them. What stands before this one in the list
    (hosts, headers, errors in JSON) holds for them, what stands after it doesn't."""

    def asked(request: HttpRequest) -> HttpResponseBase:
        if not request.path_info.startswith(PREFIX):
            return get_response(request)
        request.resolver_match = found = resolve(request.path_info)
        response = found.func(request, *found.args, **found.kwargs)
        render = getattr(response, "render", None)
        return render() if callable(render) else response

    return asked
