"""What is open to this machine alone is so on every route: from the network, through a proxy or by
a page of another origin, each asks for a token or a login."""

import re
from collections.abc import Iterator
from typing import Any

import pytest
from django.test import Client
from django.urls import URLPattern, URLResolver, get_resolver

from mockllm_site.kit.api.locality import VARIABLE
from scenarios_app.serving.transports.django import provider

pytestmark = pytest.mark.django_db

# The first word of a route tells which rule applies.
GUARDED = {"control", "api", "chat", "traces", "metrics"}
LOGINS = {"admin", "journal"}
EVERYBODYS = {"", "docs", "livez", "healthz", "readyz"}

LOCAL = {"host": "localhost:8000"}
BEHIND = (
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
STRANGERS: dict[str, tuple[str, dict[str, str]]] = {
    "the network, by a name of loopback": ("0.0.0.0", LOCAL),
    "the network, over IPv6": ("::", LOCAL),
    "the network, by the server's address": ("192.168.1.5", {"host": "192.168.1.5:8000"}),
    "a name that resolves to loopback": ("127.0.0.1", {"host": "evil.example:8000"}),
    "a page of another origin": ("127.0.0.1", {**LOCAL, "origin": "http://evil.example"}),
    "a page on another port": ("127.0.0.1", {**LOCAL, "origin": "http://localhost:3000"}),
    "a page without an origin": ("127.0.0.1", {**LOCAL, "origin": "null"}),
    **{
        f"a proxy that sends {name}": ("127.0.0.1", {**LOCAL, name: "127.0.0.1"}) for name in BEHIND
    },
}


def walk(patterns: list[URLPattern | URLResolver], base: str = "") -> Iterator[tuple[str, Any]]:
    for pattern in patterns:
        route = f"{base}{pattern.pattern}"
        if isinstance(pattern, URLResolver):
            yield from walk(pattern.url_patterns, route)
        else:
            yield route, pattern.callback


def routes() -> list[str]:
    """Every route that is no provider's."""
    found = walk(get_resolver().url_patterns)
    return sorted({route for route, view in found if view is not provider})


def first_word(route: str) -> str:
    return route.partition("/")[0]


def path_of(route: str) -> str:
    """An address at which the route is found; where it takes any, one of nothing."""
    return "/" + re.sub(r"<\w+:\w+>|\(\?P<\w+>[^)]*\)", "x", route).replace("\\", "")


def is_refused(response: Any) -> bool:
    asks = response.headers.get("Location", "").startswith("/admin/login/")
    return asks or response.status_code in (401, 403)


@pytest.fixture(params=["dev", "test"])
def opened(request: Any, settings: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """A mode in which much is open to this machine, and no host name is refused by Django."""
    settings.MOCKLLM_ENV = request.param
    settings.ALLOWED_HOSTS = ["*"]
    monkeypatch.setenv(VARIABLE, "127.0.0.1")


GUARDED_ROUTES = [route for route in routes() if first_word(route) in GUARDED]


def test_each_route_has_a_rule() -> None:
    assert {first_word(route) for route in routes()} == GUARDED | LOGINS | EVERYBODYS


@pytest.mark.parametrize("origin", [None, "http://localhost:8000"])
def test_this_machine_needs_nothing(opened: None, origin: str | None) -> None:
    client = Client(headers={**LOCAL, **({"origin": origin} if origin else {})})
    for route in GUARDED_ROUTES:
        for ask in (client.get, client.post):
            assert not is_refused(ask(path_of(route))), route


@pytest.mark.parametrize("who", STRANGERS)
def test_strangers_get_in_nowhere(opened: None, monkeypatch: pytest.MonkeyPatch, who: str) -> None:
    address, headers = STRANGERS[who]
    monkeypatch.setenv(VARIABLE, address)
    client = Client(headers=headers)
    for route in GUARDED_ROUTES:
        for ask in (client.get, client.post):
            response = ask(path_of(route))
            # The chat's page takes no POST at all.
            is_nothing = ask == client.post and response.status_code in (404, 405)
            assert is_refused(response) or is_nothing, (route, response)


def test_the_first_page_tells_strangers_nothing_of_the_traffic(
    opened: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "traffic" in Client(headers=LOCAL).get("/").context
    monkeypatch.setenv(VARIABLE, "0.0.0.0")
    assert "traffic" not in Client(headers=LOCAL).get("/").context


@pytest.mark.parametrize(
    ("path", "setting"),
    [
        ("/control/requests", "MOCKLLM_CONTROL_TOKEN"),
        ("/api/list_conversations?client_id=me", "CHAT_TOKEN"),
        ("/metrics", "MOCKLLM_METRICS_TOKEN"),
    ],
)
def test_the_token_lets_in_from_anywhere_but_a_foreign_page(
    opened: None, settings: Any, monkeypatch: pytest.MonkeyPatch, path: str, setting: str
) -> None:
    monkeypatch.setenv(VARIABLE, "0.0.0.0")
    setattr(settings, setting, "the-token-of-this-test")
    authorised = {"host": "mock.example", "authorization": "Bearer the-token-of-this-test"}
    assert Client(headers=authorised).get(path).status_code == 200
    foreign = {**authorised, "origin": "https://evil.example"}
    assert Client(headers=foreign).get(path).status_code == 403
    settings.CSRF_TRUSTED_ORIGINS = ["https://*.example.org", "https://mock.example"]
    for origin, status in (("https://mock.example", 200), ("https://mock.example:1", 403)):
        asked = Client(headers={**authorised, "origin": origin}).get(path)
        assert asked.status_code == status
