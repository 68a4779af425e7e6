"""The routes of a light server: health, the control API, the providers and the docs as text."""

from django.http import HttpRequest, HttpResponse
from django.urls import include, path, re_path

from mockllm_site.kit.api.errors import API_PREFIXES, LIGHT_SERVER_HINT, error_response
from mockllm_site.pages import docs, health
from scenarios_app.control.urls import UnknownPathView
from scenarios_app.serving.transports.django import provider
from scenarios_app.wire.registry import url_patterns


def full_server_needed(request: HttpRequest) -> HttpResponse:
    """Answer 404 for pages and APIs that only a full server has."""
    message = f"There is no {request.path}: {LIGHT_SERVER_HINT}"
    if request.path.startswith(API_PREFIXES):
        return error_response(404, message)
    return HttpResponse(f"{message}\n", status=404, content_type="text/plain; charset=utf-8")


light_patterns = [
    *health.urlpatterns,
    path("control", UnknownPathView.as_view()),
    path("control/", include("scenarios_app.control.urls")),
    *(re_path(pattern, provider) for pattern in url_patterns()),
]
urlpatterns = [
    *light_patterns,
    path("docs/", docs.docs_text),
    path("docs/<path:name>/", docs.docs_text),
    re_path("", full_server_needed),
]

handler400 = "mockllm_site.pages.errors.bad_request"
handler403 = "mockllm_site.pages.errors.forbidden"
handler500 = "mockllm_site.pages.errors.server_error"
