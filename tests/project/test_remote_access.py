"""Routes that are open on loopback require a token or a login from anywhere else.

That includes the network, a proxy, and a page of another origin.
"""

import re
from collections.abc import Iterator
from typing import Any

import pytest
from django.test import Client
from django.urls import URLPattern, URLResolver, get_resolver

from mockllm_site.kit.api.locality import ADDRESS_VARIABLE
from scenarios_app.serving.transports.django import provider

pytestmark = pytest.mark.django_db

# The first word of a route tells which rule applies.
GUARDED = {"control", "api", "chat", "traces", "metrics"}
LOGINS = {"admin", "journal"}
PUBLIC = {"", "docs", "livez", "healthz", "readyz"}

LOCAL = {"host": "localhost:8000"}
PROXY_HEADERS = (
    "x-forwarded-for",
    "x-forwarded-host",
    "x-forwarded-proto",
    "x-real-ip",
    "forwarded",
    "via",
    "cf-connecting-ip",
    "cf-ray",
    "cdn-loop",
    "true-client-ip",
    "x-client-ip",
    "x-cluster-client-ip",
    "fastly-client-ip",
    "fly-client-ip",
    "x-azure-clientip",
    "x-nf-client-connection-ip",
    "x-envoy-external-address",
    "x-original-forwarded-for",
    "cloudfront-viewer-address",
    "tailscale-user-login",
)
# The address that the server is bound to, and the request's headers.
REMOTE_CLIENTS: dict[str, tuple[str, dict[str, str]]] = {
    "the network, by a name of loopback": ("0.0.0.0", LOCAL),
    "the network, over IPv6": ("::", LOCAL),
    "the network, by the server's address": ("192.168.1.5", {"host": "192.168.1.5:8000"}),
    "a name that resolves to loopback": ("127.0.0.1", {"host": "evil.example:8000"}),
    "a page of another origin": ("127.0.0.1", {**LOCAL, "origin": "http://evil.example"}),
    "a page on another port": ("127.0.0.1", {**LOCAL, "origin": "http://localhost:3000"}),
    "a page without an origin": ("127.0.0.1", {**LOCAL, "origin": "null"}),
    **{
        f"a proxy that sends {name}": ("127.0.0.1", {**LOCAL, name: "127.0.0.1"})
        for name in PROXY_HEADERS
    },
}


def walk_routes(
    patterns: list[URLPattern | URLResolver], base: str = ""
) -> Iterator[tuple[str, Any]]:
    for pattern in patterns:
        route = f"{base}{pattern.pattern}"
        if isinstance(pattern, URLResolver):
            yield from walk_routes(pattern.url_patterns, route)
        else:
            yield route, pattern.callback


def routes() -> list[str]:
    """Return every route that does not belong to a provider's API."""
    views = walk_routes(get_resolver().url_patterns)
    return sorted({route for route, view in views if view is not provider})


def first_word(route: str) -> str:
    return route.partition("/")[0]


def example_path(route: str) -> str:
    """Return a path that the route matches, with `x` for its variables."""
    return "/" + re.sub(r"<\w+:\w+>|\(\?P<\w+>[^)]*\)", "x", route).replace("\\", "")


def is_refused(response: Any) -> bool:
    asks = response.headers.get("Location", "").startswith("/admin/login/")
    return asks or response.status_code in (401, 403)


@pytest.fixture(params=["dev", "test"])
def local_access(request: Any, settings: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Use a mode that is open to this machine, and let Django accept all host names."""
    settings.MOCKLLM_ENV = request.param
    settings.ALLOWED_HOSTS = ["*"]
    monkeypatch.setenv(ADDRESS_VARIABLE, "127.0.0.1")


GUARDED_ROUTES = [route for route in routes() if first_word(route) in GUARDED]


def test_each_route_has_a_rule() -> None:
    assert {first_word(route) for route in routes()} == GUARDED | LOGINS | PUBLIC


@pytest.mark.parametrize("origin", [None, "http://localhost:8000"])
def test_loopback_client_needs_no_login(local_access: None, origin: str | None) -> None:
    client = Client(headers={**LOCAL, **({"origin": origin} if origin else {})})
    for route in GUARDED_ROUTES:
        for send in (client.get, client.post):
            assert not is_refused(send(example_path(route))), route


@pytest.mark.parametrize("remote_client", REMOTE_CLIENTS)
def test_remote_client_is_refused_on_every_guarded_route(
    local_access: None, monkeypatch: pytest.MonkeyPatch, remote_client: str
) -> None:
    address, headers = REMOTE_CLIENTS[remote_client]
    monkeypatch.setenv(ADDRESS_VARIABLE, address)
    client = Client(headers=headers)
    for route in GUARDED_ROUTES:
        for send in (client.get, client.post):
            response = send(example_path(route))
            # The page of the chat does not accept POST.
            is_nothing = send == client.post and response.status_code in (404, 405)
            assert is_refused(response) or is_nothing, (route, response)


def test_first_page_hides_the_traffic_from_remote_clients(
    local_access: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "traffic" in Client(headers=LOCAL).get("/").context
    monkeypatch.setenv(ADDRESS_VARIABLE, "0.0.0.0")
    assert "traffic" not in Client(headers=LOCAL).get("/").context


@pytest.mark.parametrize(
    ("path", "setting"),
    [
        ("/control/requests", "MOCKLLM_CONTROL_TOKEN"),
        ("/api/list_conversations?client_id=me", "CHAT_TOKEN"),
        ("/metrics", "MOCKLLM_METRICS_TOKEN"),
    ],
)
def test_token_is_accepted_except_from_foreign_pages(
    local_access: None, settings: Any, monkeypatch: pytest.MonkeyPatch, path: str, setting: str
) -> None:
    monkeypatch.setenv(ADDRESS_VARIABLE, "0.0.0.0")
    setattr(settings, setting, "the-token-of-this-test")
    headers = {"host": "mock.example", "authorization": "Bearer the-token-of-this-test"}
    assert Client(headers=headers).get(path).status_code == 200
    foreign_headers = {**headers, "origin": "https://evil.example"}
    assert Client(headers=foreign_headers).get(path).status_code == 403
    settings.CSRF_TRUSTED_ORIGINS = ["https://*.example.org", "https://mock.example"]
    for origin, status in (("https://mock.example", 200), ("https://mock.example:1", 403)):
        response = Client(headers={**headers, "origin": origin}).get(path)
        assert response.status_code == status


# What browsers send for an image, a frame, a form and a link of another page; none has an Origin.
IMAGE = {"sec-fetch-mode": "no-cors", "sec-fetch-dest": "image"}
FRAME = {"sec-fetch-mode": "navigate", "sec-fetch-dest": "iframe"}
LINK = {"sec-fetch-mode": "navigate", "sec-fetch-dest": "document"}
LINKED = {"/chat/", "/control/docs/", "/api/docs/", "/metrics", "/traces/x/"}
APIS = {"/control/requests", "/control/schema/", "/api/list_conversations?client_id=me"}


@pytest.mark.parametrize("site", ["cross-site", "same-site"])
@pytest.mark.parametrize("kind", [IMAGE, FRAME, LINK])
def test_page_of_another_site_is_refused_without_an_origin_too(
    local_access: None, site: str, kind: dict[str, str]
) -> None:
    client = Client(headers={**LOCAL, "sec-fetch-site": site, **kind})
    for path in APIS | LINKED:
        expected = {200, 404} if kind is LINK and path in LINKED else {403}
        assert client.get(path).status_code in expected, path


@pytest.mark.parametrize("site", ["same-origin", "none"])
def test_own_page_and_typed_address_are_answered(local_access: None, site: str) -> None:
    client = Client(headers={**LOCAL, "sec-fetch-site": site, **IMAGE})
    for path in APIS | (LINKED - {"/traces/x/"}):
        assert client.get(path).status_code == 200, path
