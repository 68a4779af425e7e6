"""The routes of a light server: health, the control API, the providers and the docs as text."""

from django.urls import path

from mockllm_site.first_urls import first_patterns

urlpatterns = [
    *first_patterns,
    path("", ("mockllm_site.light_page_urls", None, None)),  # type: ignore[arg-type]
]

handler400 = "mockllm_site.pages.errors.bad_request"
handler403 = "mockllm_site.pages.errors.forbidden"
handler500 = "mockllm_site.pages.errors.server_error"
