"""The routes that Django answers; a light server has those of `routes/light` alone."""

from django.urls import path

from mockllm_site.routes.first import first_patterns

urlpatterns = [
    *first_patterns,
    path("admin/", ("mockllm_site.admin_urls", "admin", "admin")),
    # Some paths below `api/` are Ollama's; the others are the chat's.
    path("api/", ("chat_app.api.urls", "chat_api", "chat_api")),
    path("", ("mockllm_site.routes.pages", None, None)),  # type: ignore[arg-type]
]

handler400 = "mockllm_site.pages.errors.bad_request"
handler403 = "mockllm_site.pages.errors.forbidden"
handler404 = "mockllm_site.pages.errors.not_found"
handler500 = "mockllm_site.pages.errors.server_error"
