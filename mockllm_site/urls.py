"""The routes that Django answers."""

import re

from django.contrib import admin
from django.urls import include, path, re_path

from mockllm_site import pages
from scenarios_app.control.pages import NothingHere
from scenarios_app.serving.view import provider
from scenarios_app.wire.registry import PREFIXES

urlpatterns = [
    path("", pages.index),
    path("healthz", pages.healthz),
    path("readyz", pages.readyz),
    path("admin/", admin.site.urls),
    path("control", NothingHere.as_view()),
    path("control/", include("scenarios_app.control.urls")),
    # Whatever lies below them is a provider's, so that its errors are too.
    *(re_path(rf"^{re.escape(prefix.strip('/'))}(?:/|$)", provider) for prefix in PREFIXES),
]

handler400 = "mockllm_site.errors.bad_request"
handler404 = "mockllm_site.errors.not_found"
handler500 = "mockllm_site.errors.server_error"
