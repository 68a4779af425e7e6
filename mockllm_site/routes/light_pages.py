"""The routes of a light server's docs, and its answers for pages that only a full server has."""

from django.http import HttpRequest, HttpResponse
from django.urls import path, re_path

from mockllm_site.kit.api.errors import API_PREFIXES, LIGHT_SERVER_HINT, error_response
from mockllm_site.pages import docs
from scenarios_app.control.urls import UnknownPathView


def full_server_needed(request: HttpRequest) -> HttpResponse:
    """Answer 404 for pages and APIs that only a full server has."""
    message = f"There is no {request.path}: {LIGHT_SERVER_HINT}"
    if request.path.startswith(API_PREFIXES):
        return error_response(404, message)
    return HttpResponse(f"{message}\n", status=404, content_type="text/plain; charset=utf-8")


urlpatterns = [
    path("control", UnknownPathView.as_view()),
    path("docs/", docs.docs_text),
    path("docs/<path:name>/", docs.docs_text),
    re_path("", full_server_needed),
]
