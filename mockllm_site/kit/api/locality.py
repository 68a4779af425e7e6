"""Decides whether a request was sent, on purpose, from this machine.

Views that need no token or login on this machine call `is_open`. It checks three things: no other
machine reaches the socket; the Host header is a name of loopback (a web page whose host name
resolves to loopback sends another one); and no header says that a proxy forwarded the request from
elsewhere. Imports nothing of the APIs, since a server imports it before it listens.
"""

import os
import re
from collections.abc import Iterable, Mapping
from fnmatch import fnmatchcase
from typing import Any

from django.conf import settings
from django.http import HttpRequest

from mockllm_site.kit.addresses import parse_ip_address

OPEN_MODES = ("dev", "test")
# An environment variable, so that child processes that share the socket have it too.
ADDRESS_VARIABLE = "MOCKLLM_LISTENING_ON"
# Headers that only proxies, content delivery networks and tunnels add.
PROXY_HEADERS = re.compile(
    r"HTTP_(FORWARDED|VIA|CDN_LOOP|\w*CLIENT_?IP|\w*CONNECT(ING|ION)_IP(V6)?"
    r"|X_(REAL_IP|FORWARDED|PROXYUSER_IP|APPENGINE_USER_IP|AMZ_CF_ID|ARR_LOG_ID)"
    r"|X_(FORWARDED|ORIGINAL|ENVOY|AZURE|VERCEL)_\w+|CF_\w+|CLOUDFRONT_\w+|TAILSCALE_\w+)"
)
# The host of Django's test client, whose requests use no socket. Only Django's test environment
# allows this host.
TEST_CLIENT = "testserver"
# The end of the paths of an API's documentation, to which links may lead.
DOCS = "/docs"
FOREIGN_PAGE = "The request comes from a page of another origin."
_PORT = re.compile(r":[0-9]{1,5}$")


def set_listening_address(address: str) -> None:
    """Store the address that the socket is bound to; call it before the first request."""
    os.environ[ADDRESS_VARIABLE] = address


def is_open(request: HttpRequest) -> bool:
    """Return True if a request needs no token or login: in dev and test, from this machine."""
    return settings.MOCKLLM_ENV in OPEN_MODES and is_local(request)


def is_local(request: HttpRequest) -> bool:
    """Return True if only this machine can have sent a request and its Host is a loopback name."""
    if was_forwarded(request.META):
        return False
    by_test_client = ADDRESS_VARIABLE not in os.environ and is_test_client(request)
    if not by_test_client and not _was_sent_to_loopback(request):
        return False
    host = request.META.get("HTTP_HOST", TEST_CLIENT if is_test_client(request) else "")
    return is_loopback_host(host) or (host == TEST_CLIENT and is_test_client(request))


def is_test_client(request: HttpRequest) -> bool:
    """Return True for a request of Django's test client, sync or async, in a process that runs
    tests. The async client is known by its remote port 0, which no socket has."""
    if TEST_CLIENT not in settings.ALLOWED_HOSTS:
        return False
    meta = request.META
    by_async_client = meta.get("HTTP_HOST") == TEST_CLIENT and meta.get("REMOTE_PORT") == 0
    return by_async_client or meta.get("SERVER_NAME") == TEST_CLIENT


def was_forwarded(meta: Iterable[str]) -> bool:
    """Return True if one of these names in `request.META` is a header that proxies add."""
    return any(map(PROXY_HEADERS.fullmatch, meta))


def is_foreign(request: HttpRequest, *, is_page: bool = False) -> bool:
    """Return True if a page of another origin sent a request (`is_foreign_origin`). Browsers send
    no Origin for images, frames, links and forms that read, but say what they are for
    (Fetch Metadata); `is_page` allows links, which open in a tab of their own."""
    meta = request.META
    if (origin := meta.get("HTTP_ORIGIN")) is not None:
        return is_foreign_origin(origin, meta.get("HTTP_HOST", ""))
    if meta.get("HTTP_SEC_FETCH_SITE") not in ("cross-site", "same-site"):
        return False
    opens_tab = meta.get("HTTP_SEC_FETCH_MODE") == "navigate" and (
        meta.get("HTTP_SEC_FETCH_DEST") == "document"
    )
    return not (is_page and opens_tab and request.method in ("GET", "HEAD"))


def is_foreign_origin(origin: str | None, host: str) -> bool:
    """Return True if an Origin header has another host or port than the Host header and is not in
    CSRF_TRUSTED_ORIGINS, also for `null`; False for None. The scheme may differ, since a proxy may
    change it."""
    if origin is None:
        return False
    scheme, _, origin_host = origin.lower().partition("://")
    if scheme in ("http", "https") and origin_host == host.lower():
        return not host
    return not any(fnmatchcase(origin.lower(), own) for own in settings.CSRF_TRUSTED_ORIGINS)


def _was_sent_to_loopback(request: HttpRequest) -> bool:
    """Return True if only this machine reaches the socket of a request's server; under WSGI, if
    this machine opened the connection and the server does not say that it listens elsewhere."""
    scope = getattr(request, "scope", None)
    if scope is not None or ADDRESS_VARIABLE in os.environ:
        return is_on_loopback(scope)
    # WSGI does not tell the address that a connection was made to. SERVER_NAME is the bound address
    # or some name: of the machine, of a configuration, even that of the Host header. So no name
    # opens anything, and an address can only close.
    server, peer = request.META.get("SERVER_NAME", ""), request.META.get("REMOTE_ADDR", "")
    is_bound_elsewhere = parse_ip_address(server) is not None and not is_loopback(server)
    return is_loopback(peer) and not is_bound_elsewhere


def is_on_loopback(scope: Mapping[str, Any] | None) -> bool:
    """Return True if the server is bound to loopback; under another ASGI server than ours, if the
    connection of this scope was made to loopback. False if the address is unknown."""
    address = os.environ.get(ADDRESS_VARIABLE)
    if address is None:
        address = ((scope or {}).get("server") or ("",))[0]
    return is_loopback(address)


def is_loopback_host(host: str) -> bool:
    """Return True if a Host header is a name of loopback, with or without a port."""
    name = _PORT.sub("", host.strip())
    if name.startswith("[") and name.endswith("]"):
        return ":" in name and is_loopback(name[1:-1])
    return name.lower() == "localhost" or (":" not in name and is_loopback(name))


def is_loopback(address: str) -> bool:
    """Return True for a loopback IP address, also an IPv4-mapped one."""
    parsed = parse_ip_address(address)
    if parsed is None:
        return False
    mapped = getattr(parsed, "ipv4_mapped", None)
    return parsed.is_loopback or (mapped is not None and mapped.is_loopback)
