"""What Django answers when no view does: in the shape that belongs to the path."""

from django.http import HttpRequest, HttpResponseBase, JsonResponse
from django.views import defaults

from mockllm_site.kit.api.errors import PREFIXES
from scenarios_app.engine.errors import ErrorAnswer
from scenarios_app.serving.doors.django import refusal
from scenarios_app.wire.registry import owns


def bad_request(request: HttpRequest, exception: Exception) -> HttpResponseBase:
    """A Host header that is not ours, a form that is none."""
    shaped = _shaped(request, 400, "VALIDATION_ERROR", "The request is malformed.")
    return shaped or defaults.bad_request(request, exception)


def not_found(request: HttpRequest, exception: Exception) -> HttpResponseBase:
    shaped = _shaped(request, 404, "NOT_FOUND", f"There is no {request.path}.")
    return shaped or defaults.page_not_found(request, exception)


def server_error(request: HttpRequest) -> HttpResponseBase:
    shaped = _shaped(request, 500, "INTERNAL_ERROR", "The server failed; its log says why.")
    return shaped or defaults.server_error(request)


def _shaped(request: HttpRequest, status: int, code: str, message: str) -> HttpResponseBase | None:
    if owns(request.path):
        return refusal(request, ErrorAnswer(status, message))
    if request.path.startswith(PREFIXES):
        return JsonResponse({"code": code, "message": message, "field": None}, status=status)
    return None
