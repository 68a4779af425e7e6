"""The routes that Django answers."""

from django.urls import include, path, re_path

from chat_app import pages as chat_pages
from chat_app.api.urls import NothingHere as NothingBelowApi
from mockllm_site.pages import docs, home
from mockllm_site.pages import health as pages
from scenarios_app.control.urls import UnknownPathView
from scenarios_app.journal.live import journal_page
from scenarios_app.serving.transports.django import provider
from scenarios_app.wire.registry import url_patterns
from traces_app import pages as trace_pages

urlpatterns = [
    path("", home.home),
    path("livez", pages.livez),
    path("healthz", pages.healthz),
    path("readyz", pages.readyz),
    path("metrics", pages.metrics),
    path("docs/", docs.docs_page),
    path("docs/<path:name>/", docs.docs_page),
    path("docs/<path:name>", docs.docs_file),
    path("chat/", chat_pages.chat_page),
    path("chat/leaderboard/", chat_pages.leaderboard_page),
    path("journal/", journal_page),
    path("traces/<str:trace_id>/", trace_pages.trace_page),
    # By name: its pages are imported with the first of these routes that is wanted.
    path("admin/", ("mockllm_site.admin_urls", "admin", "admin")),
    path("control", UnknownPathView.as_view()),
    path("control/", include("scenarios_app.control.urls")),
    # What is a provider's is so with its errors; the chat API has the rest of `api/`.
    *(re_path(pattern, provider) for pattern in url_patterns()),
    path("api", NothingBelowApi.as_view()),
    path("api/", include("chat_app.api.urls")),
]

handler400 = "mockllm_site.pages.errors.bad_request"
handler403 = "mockllm_site.pages.errors.forbidden"
handler404 = "mockllm_site.pages.errors.not_found"
handler500 = "mockllm_site.pages.errors.server_error"
