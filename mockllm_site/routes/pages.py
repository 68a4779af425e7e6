"""The routes of the pages."""

from django.urls import path

from chat_app import pages as chat_pages
from chat_app.api.urls import NotFoundView as NothingBelowApi
from mockllm_site.pages import docs, docs_search, home, metrics
from scenarios_app.control.urls import UnknownPathView
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
    path("control", UnknownPathView.as_view()),
    path("api", NothingBelowApi.as_view()),
]
