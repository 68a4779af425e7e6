"""The host of the pages that people log in to (MOCKLLM_ADMIN_HOST). Scripted answers are then sent
on other hosts only, so browsers keep both apart."""

import re

from django.conf import settings

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
