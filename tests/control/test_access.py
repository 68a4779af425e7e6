"""Access to the control API: from loopback in dev and test mode, else with the token."""

from typing import Any

import pytest
from django.test import Client, RequestFactory
from django.urls import URLPattern

from mockllm_site.kit.api.locality import (
    ADDRESS_VARIABLE,
    is_loopback_host,
    is_on_loopback,
    is_open,
    set_listening_address,
)
from scenarios_app.control.urls import urlpatterns
from tests.control.control_client import Control, error_of

TOKEN = "the-token-of-this-test"
OPEN_HOSTS = ["localhost", "localhost:8000", "LOCALHOST", "127.0.0.1", "127.0.0.1:1", "127.8.9.1"]
OPEN_HOSTS += ["[::1]", "[::1]:8000", "[::ffff:127.0.0.1]"]
CLOSED_HOSTS = ["", "evil.example", "evil.example:8000", "localhost.evil.example", "0.0.0.0"]
CLOSED_HOSTS += ["192.168.1.5", "10.0.0.1:80", "127.0.0.1.evil.example", "localhost:", "::1"]
CLOSED_HOSTS += ["[127.0.0.1]", "[fe80::1]", "2130706433", "127.1", "localhost, evil.example"]
CLOSED_HOSTS += ["user@localhost", "localhost:80:80", "[::1", "localhost.", "[localhost]"]
PROXY_HEADERS = {
    "x-forwarded-for": "127.0.0.1",
    "x-forwarded-host": "localhost",
    "x-real-ip": "127.0.0.1",
    "forwarded": "for=127.0.0.1;host=localhost",
    "x-forwarded-server": "127.0.0.1",
}


@pytest.fixture
def make_client(control: Control, monkeypatch: pytest.MonkeyPatch, settings: Any) -> Any:
    """Return a function that sets listening address, mode and token, and returns a client."""
    settings.ALLOWED_HOSTS = ["*"]

    def bind(address: str, *, mode: str = "test", token: str = "", host: str = "localhost") -> Any:
        monkeypatch.setenv(ADDRESS_VARIABLE, address)
        settings.MOCKLLM_ENV = mode
        settings.MOCKLLM_CONTROL_TOKEN = token
        return Client(headers={"host": host})

    return bind


@pytest.mark.parametrize("host", OPEN_HOSTS)
def test_loopback_host_is_recognized(host: str) -> None:
    assert is_loopback_host(host)


@pytest.mark.parametrize("host", CLOSED_HOSTS)
def test_other_host_is_not_loopback(host: str) -> None:
    assert not is_loopback_host(host)


@pytest.mark.parametrize("mode", ["dev", "test", "prod"])
@pytest.mark.parametrize("address", ["127.0.0.1", "::1", "0.0.0.0", "::", "192.168.1.5", ""])
@pytest.mark.parametrize("host", ["localhost:8000", "evil.example"])
@pytest.mark.parametrize("token", ["", TOKEN])
@pytest.mark.parametrize("authorization", [None, f"Bearer {TOKEN}", "Bearer wrong"])
def test_access_by_mode_address_host_and_token(
    make_client: Any, mode: str, address: str, host: str, token: str, authorization: str | None
) -> None:
    client = make_client(address, mode=mode, token=token, host=host)
    response = client.get(
        "/control/requests", headers=authorization and {"authorization": authorization}
    )
    if mode != "prod" and address in ("127.0.0.1", "::1") and host.startswith("localhost"):
        assert response.status_code == 200
    elif not token:
        assert error_of(response) == (403, "FORBIDDEN", None)
    elif authorization == f"Bearer {TOKEN}":
        assert response.status_code == 200
    else:
        assert error_of(response) == (401, "UNAUTHORIZED", None)
        assert response.headers["WWW-Authenticate"] == "Bearer"


@pytest.mark.parametrize("header", PROXY_HEADERS)
def test_forwarded_headers_do_not_open_the_api(make_client: Any, header: str) -> None:
    client = make_client("0.0.0.0")
    response = client.get("/control/requests", headers={header: PROXY_HEADERS[header]})
    assert error_of(response) == (403, "FORBIDDEN", None)
    client = make_client("127.0.0.1", host="evil.example")
    response = client.get("/control/requests", headers={header: PROXY_HEADERS[header]})
    assert error_of(response) == (403, "FORBIDDEN", None)


def test_dns_rebinding_to_loopback_is_rejected(make_client: Any, settings: Any) -> None:
    # DNS rebinding reaches the right socket, but with the host name of the page.
    client = make_client("127.0.0.1", host="evil.example:8000")
    assert client.post("/control/reset", {}, "application/json").status_code == 403
    settings.ALLOWED_HOSTS = ["localhost"]
    response = client.post("/control/reset", {}, "application/json")
    assert error_of(response) == (400, "VALIDATION_ERROR", None)


@pytest.mark.parametrize(
    "authorization",
    [
        "",
        TOKEN,
        f"Basic {TOKEN}",
        f"Token {TOKEN}",
        "Bearer",
        "Bearer ",
        f"Bearer {TOKEN}x",
        f"Bearer {TOKEN[:-1]}",
        f"Bearer {TOKEN} {TOKEN}",
        f"Bearer {TOKEN.upper()}",
        "Bearer ünï",
    ],
)
def test_wrong_token_is_rejected(make_client: Any, authorization: str) -> None:
    client = make_client("0.0.0.0", token=TOKEN)
    response = client.get("/control/requests", headers={"authorization": authorization})
    assert error_of(response) == (401, "UNAUTHORIZED", None)
    assert TOKEN not in response.content.decode()


@pytest.mark.parametrize(
    "authorization", [f"bearer {TOKEN}", f"BEARER  {TOKEN}", f"Bearer {TOKEN} "]
)
def test_bearer_scheme_is_case_insensitive(make_client: Any, authorization: str) -> None:
    client = make_client("0.0.0.0", token=TOKEN)
    assert (
        client.get("/control/requests", headers={"authorization": authorization}).status_code == 200
    )


def test_a_token_may_hold_any_character(make_client: Any) -> None:
    client = make_client("0.0.0.0", token="pässwörd")
    # A header's bytes are decoded as Latin-1, whatever their encoding.
    authorization = "Bearer " + "pässwörd".encode().decode("latin-1")
    assert client.get("/control/requests", HTTP_AUTHORIZATION=authorization).status_code == 200


def test_the_token_is_compared_in_constant_time(
    make_client: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    compared_pairs: list[tuple[bytes, bytes]] = []

    def compare(actual: bytes, expected: bytes) -> bool:
        compared_pairs.append((actual, expected))
        return True

    monkeypatch.setattr("mockllm_site.kit.api.tokens.hmac.compare_digest", compare)
    client = make_client("0.0.0.0", token=TOKEN)
    assert client.get("/control/requests", headers={"authorization": "Bearer x"}).status_code == 200
    assert compared_pairs == [(b"x", TOKEN.encode())]


@pytest.mark.parametrize("route", urlpatterns, ids=lambda route: str(route.pattern))
@pytest.mark.parametrize("method", ["GET", "POST", "PUT", "DELETE", "OPTIONS", "HEAD", "PATCH"])
def test_every_route_requires_access(make_client: Any, route: URLPattern, method: str) -> None:
    # Docs and schema are closed too, so that nobody without access learns the routes.
    path = str(route.pattern).replace("<path:name>", "x").replace("<str:id>", "x")
    for token, status in (("", 403), (TOKEN, 401)):
        client = make_client("0.0.0.0", token=token)
        response = client.generic(method, f"/control/{path}", b"{", "text/plain")
        assert response.status_code == status


@pytest.mark.parametrize(
    ("server", "is_ours"),
    [
        (("127.0.0.1", 8000), True),
        (("::1", 8000), True),
        (("::ffff:127.0.0.1", 8000), True),
        (("192.168.1.5", 8000), False),
        (("testserver", 80), False),
        (("/run/mockllm.sock", None), False),
        (None, False),
    ],
)
def test_address_of_connection_decides_under_another_server(
    monkeypatch: pytest.MonkeyPatch, server: Any, is_ours: bool
) -> None:
    monkeypatch.delenv(ADDRESS_VARIABLE, raising=False)
    assert is_on_loopback({"server": server}) is is_ours


def test_bound_address_wins_over_address_of_connection(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv(ADDRESS_VARIABLE, "0.0.0.0")
    assert not is_on_loopback({"server": ("127.0.0.1", 8000)})


def test_listening_address_decides_access(monkeypatch: pytest.MonkeyPatch) -> None:
    # monkeypatch removes the variable after the test.
    monkeypatch.setenv(ADDRESS_VARIABLE, "")
    for address, is_ours in (("127.0.0.1", True), ("0.0.0.0", False)):
        set_listening_address(address)
        assert is_on_loopback({}) is is_ours


def test_api_is_closed_without_a_known_address(
    monkeypatch: pytest.MonkeyPatch, settings: Any
) -> None:
    # Without Django's test environment, the test client's host name is unknown.
    settings.ALLOWED_HOSTS = ["localhost"]
    monkeypatch.delenv(ADDRESS_VARIABLE, raising=False)
    request = RequestFactory(REMOTE_ADDR="").get("/control/requests", headers={"host": "localhost"})
    assert not is_open(request)
    assert not is_on_loopback({})


@pytest.mark.parametrize(
    ("environ", "is_ours"),
    [
        ({}, True),
        ({"REMOTE_ADDR": "::1", "SERVER_NAME": "::1"}, True),
        # The name of a bound address may be any name of the machine.
        ({"SERVER_NAME": "build-7.example"}, True),
        ({"SERVER_NAME": "0.0.0.0"}, False),
        ({"SERVER_NAME": "192.168.1.5"}, False),
        # Some servers take this name from the Host header.
        ({"REMOTE_ADDR": "192.168.1.6"}, False),
        ({"REMOTE_ADDR": "192.168.1.6", "HTTP_X_FORWARDED_FOR": "127.0.0.1"}, False),
        # A Unix socket, whose client may be a proxy.
        ({"REMOTE_ADDR": ""}, False),
        # Middleware of a proxy may have written the address.
        ({"HTTP_X_FORWARDED_FOR": "127.0.0.1"}, False),
        ({"HTTP_HOST": "evil.example"}, False),
    ],
)
@pytest.mark.parametrize("mode", ["dev", "test", "prod"])
def test_client_address_decides_under_wsgi(
    monkeypatch: pytest.MonkeyPatch,
    settings: Any,
    environ: dict[str, str],
    is_ours: bool,
    mode: str,
) -> None:
    monkeypatch.delenv(ADDRESS_VARIABLE, raising=False)
    settings.ALLOWED_HOSTS, settings.MOCKLLM_ENV = ["*"], mode
    defaults = {"REMOTE_ADDR": "127.0.0.1", "SERVER_NAME": "localhost", "HTTP_HOST": "localhost:8"}
    request = RequestFactory().get("/control/requests", **{**defaults, **environ})
    assert is_open(request) is (is_ours and mode != "prod")


@pytest.mark.parametrize(("address", "is_ours"), [("127.0.0.1", True), ("0.0.0.0", False)])
def test_bound_address_decides_under_wsgi(
    monkeypatch: pytest.MonkeyPatch, settings: Any, address: str, is_ours: bool
) -> None:
    monkeypatch.setenv(ADDRESS_VARIABLE, address)
    settings.ALLOWED_HOSTS = ["*"]
    request = RequestFactory(SERVER_NAME="localhost").get("/", headers={"host": "localhost"})
    assert is_open(request) is is_ours


def test_a_request_without_a_host_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(ADDRESS_VARIABLE, "127.0.0.1")
    request = RequestFactory().get("/control/requests", SERVER_NAME="localhost")
    assert "HTTP_HOST" not in request.META
    assert not is_open(request)


def test_login_session_is_ignored_and_security_headers_are_set(control: Control) -> None:
    client = Client(headers={"host": "localhost"}, enforce_csrf_checks=True)
    client.cookies["sessionid"] = "of-somebody"
    response = client.post("/control/reset", "{}", "application/json")
    assert response.status_code == 200
    assert not {"session", "_messages"} & set(vars(response.wsgi_request))
    assert not response.cookies
    assert response.headers["X-Frame-Options"] == "DENY"
    assert response.headers["X-Content-Type-Options"] == "nosniff"


@pytest.mark.parametrize("path", ["/control/state?session=x", "/control/none", "/control/docs/"])
def test_unknown_host_is_rejected_before_any_view(
    control: Control, settings: Any, path: str
) -> None:
    settings.ALLOWED_HOSTS = ["localhost"]
    response = Client(headers={"host": "evil.example"}).get(path)
    assert error_of(response)[0] == 400
