"""The routes that Django answers; a light server has those of `light_urls` alone."""

from django.urls import include, path

from chat_app import pages as chat_pages
from chat_app.api.urls import NotFoundView as NothingBelowApi
from mockllm_site.light_urls import light_patterns
from mockllm_site.pages import docs, docs_search, home, metrics
from scenarios_app.journal.live import journal_page
from traces_app import pages as trace_pages

urlpatterns = [
    path("", home.home),
    path("metrics", metrics.metrics),
    path("docs/", docs.documentation_page),
    path("docs/search/", docs_search.search_page),
    path("docs/<path:name>/", docs.documentation_page),
    path("docs/<path:name>", docs.docs_file),
    path("chat/", chat_pages.chat_page),
    path("chat/leaderboard/", chat_pages.leaderboard_page),
    path("journal/", journal_page),
    path("traces/<str:trace_id>/", trace_pages.trace_page, name="trace"),
    # As a path, so that the admin's pages are imported with the first request for one.
    path("admin/", ("mockllm_site.admin_urls", "admin", "admin")),
    # Unknown provider URLs get the provider's errors; other paths below `api/` are the chat's.
    *light_patterns,
    path("api", NothingBelowApi.as_view()),
    path("api/", include("chat_app.api.urls")),
]

handler400 = "mockllm_site.pages.errors.bad_request"
handler403 = "mockllm_site.pages.errors.forbidden"
handler404 = "mockllm_site.pages.errors.not_found"
handler500 = "mockllm_site.pages.errors.server_error"
