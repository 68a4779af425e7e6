"""The host of the pages that people log in to (MOCKLLM_ADMIN_HOST). Scripted answers are then sent
on other hosts only, so browsers keep both apart."""

import re

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase

from mockllm_site.kit.api.in_thread import GetResponse

# First segments of the paths of pages; `ws` is the live journal's. APIs and probes have no login
# form, so every host has them.
PAGES = frozenset({"", "admin", "chat", "journal", "traces", "ws"})
NO_PAGES = "This host has no pages: they are on the host that MOCKLLM_ADMIN_HOST names.\n"
NO_PROVIDERS = (
    "This host has the admin's pages and no provider routes (MOCKLLM_ADMIN_HOST); "
    "use another host name of this server."
)
_PORT = re.compile(r":[0-9]{1,5}$")


def is_host(header: str, wanted: str) -> bool:
    """Return whether a Host header names the host `wanted`. Without a port in `wanted`, any port
    will do."""
    host = header.strip().lower()
    return bool(wanted) and wanted in (host, _PORT.sub("", host).removesuffix("."))


def has_pages(host: str) -> bool:
    """Return whether the host of a Host header has the pages."""
    admin_host: str = settings.MOCKLLM_ADMIN_HOST
    return not admin_host or is_host(host, admin_host)


def pages_on_admin_host(get_response: GetResponse) -> GetResponse:
    """Return middleware that answers 404 for pages on other hosts than theirs."""

    def middleware(request: HttpRequest) -> HttpResponseBase:
        is_page = request.path_info.strip("/").partition("/")[0] in PAGES
        if is_page and not has_pages(request.META.get("HTTP_HOST", "")):
            return HttpResponse(NO_PAGES, status=404, content_type="text/plain; charset=utf-8")
        return get_response(request)

    return middleware
