"""The routes of a light server: health, the control API, the providers and the docs as text."""

from django.urls import path

from mockllm_site.routes.first import first_patterns

urlpatterns = [
    *first_patterns,
    path("", ("mockllm_site.routes.light_pages", None, None)),  # type: ignore[arg-type]
]

handler400 = "mockllm_site.pages.errors.bad_request"
handler403 = "mockllm_site.pages.errors.forbidden"
handler500 = "mockllm_site.pages.errors.server_error"
