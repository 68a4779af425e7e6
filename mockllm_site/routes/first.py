"""The routes that every server has: health, the providers and the control API. Importing them
imports no page: modules of pages are named, and imported with the first request for one."""

from django.urls import path, re_path

from mockllm_site.pages import health
from scenarios_app.serving.transports.django import provider
from scenarios_app.wire.registry import url_patterns

first_patterns = [
    *health.urlpatterns,
    *(re_path(pattern, provider) for pattern in url_patterns()),
    path("control/", ("scenarios_app.control.urls", "control", "control")),
]
