"""The admin's routes, a module of their own: Django imports it at the first request for one."""

from django.contrib import admin
from django.urls import path

from mockllm_site.kit.admin.kept_forms import session_state
from scenarios_app.admin.palette import palette_results

admin.autodiscover()

_site_patterns, _, _ = admin.site.urls
urlpatterns = [
    path("session/", session_state, name="session"),
    # Before the site's own route of this path, whose results are unlimited and cached.
    path("search/", admin.site.admin_view(palette_results)),
    *_site_patterns,
]
