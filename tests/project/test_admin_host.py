"""With MOCKLLM_ADMIN_HOST, pages have one host and provider routes the others."""

import json
from pathlib import Path
from typing import Any

import pytest
from django.test import Client

from mockllm_site.kit.api.admin_host import NO_PAGES, NO_PROVIDERS, has_pages, is_host
from scenarios_app.serving.pipeline import Pipeline
from scenarios_app.serving.transports.websocket import head_of_upgrade, upgrade_error
from scenarios_app.wire.base import Call
from tests.project import processes
from tests.serving.pipelines import Harness, chat, scenario, text_step
from tests.serving.short_path.connection import Connection

ADMIN = "admin.example.com"
PAGES = ("/", "/admin/", "/admin", "/admin/login/", "/chat/", "/journal/", "/traces/x/")
EVERYWHERE = ("/livez", "/healthz", "/readyz", "/docs/", "/control/schema/")


@pytest.fixture(autouse=True)
def hosts(settings: Any) -> None:
    settings.MOCKLLM_ADMIN_HOST = ADMIN
    settings.ALLOWED_HOSTS = ["*"]


@pytest.mark.parametrize(
    ("header", "wanted", "result"),
    [
        (ADMIN, ADMIN, True),
        ("Admin.Example.com", ADMIN, True),
        (f"{ADMIN}:8443", ADMIN, True),
        (f"{ADMIN}.", ADMIN, True),
        (f"{ADMIN}.:8443", ADMIN, True),
        ("api.example.com", ADMIN, False),
        (f"{ADMIN}.evil.example", ADMIN, False),
        (f"x.{ADMIN}", ADMIN, False),
        ("", ADMIN, False),
        ("localhost:8001", "localhost:8001", True),
        ("localhost:8000", "localhost:8001", False),
        ("localhost", "localhost:8001", False),
        ("[::1]:8000", "[::1]", True),
        ("[::1]", "[::1]", True),
        ("", "", False),
    ],
)
def test_host_is_compared_with_its_port_only_if_the_setting_has_one(
    header: str, wanted: str, result: bool
) -> None:
    assert is_host(header, wanted) is result


def test_every_host_has_pages_without_the_setting(settings: Any) -> None:
    settings.MOCKLLM_ADMIN_HOST = ""
    assert has_pages("any.example")


@pytest.mark.parametrize("path", PAGES)
@pytest.mark.django_db
def test_page_on_another_host_is_a_404_with_one_line(path: str) -> None:
    response = Client().get(path, headers={"host": "api.example.com"})
    assert (response.status_code, response.content.decode()) == (404, NO_PAGES)
    assert response.headers["content-type"].startswith("text/plain")


@pytest.mark.parametrize("path", ["/", "/admin/login/"])
@pytest.mark.django_db
def test_page_on_the_host_of_the_admin_is_shown(path: str) -> None:
    response = Client().get(path, headers={"host": f"{ADMIN}:443"})
    assert response.status_code == 200
    assert (
        "sdk" not in response.content.decode() or "another host name" in response.content.decode()
    )


@pytest.mark.parametrize("host", [ADMIN, "api.example.com"])
@pytest.mark.parametrize("path", EVERYWHERE)
@pytest.mark.django_db(transaction=True)
def test_probes_docs_and_apis_are_on_every_host(path: str, host: str) -> None:
    response = Client().get(path, headers={"host": host})
    assert response.content.decode() not in (NO_PAGES, NO_PROVIDERS)
    assert response.status_code != 404


async def test_provider_route_on_the_host_of_the_admin_is_refused_and_no_step_is_used() -> None:
    harness = Harness(scenario("s", text_step("Hi", consume=True)), admin_host=ADMIN)
    status, headers, body = await harness.ask(chat(headers={"host": f"{ADMIN}:8000"}))
    assert (status, json.loads(body)["error"]["message"]) == (421, NO_PROVIDERS)
    assert headers["x-mockllm-scenario"] == ""
    status, _, _ = await harness.ask(chat(headers={"host": "api.example.com"}))
    assert status == 200


async def test_short_path_refuses_the_host_of_the_admin_too() -> None:
    harness = Harness(scenario("s", text_step("Hi")), admin_host=ADMIN)
    connection = Connection(harness)
    for host, status in [("a.example", b"200"), (ADMIN, b"421")] * 4:
        answer = await connection.ask(chat(headers={"host": host}))
        assert answer.startswith(b"HTTP/1.1 " + status)
    assert connection.short


@pytest.mark.parametrize(("host", "status"), [(ADMIN, 421), ("api.example.com", None)])
def test_websocket_on_the_host_of_the_admin_is_refused(host: str, status: int | None) -> None:
    headers = {
        "host": host,
        "authorization": "Bearer k",
        "sec-websocket-version": "13",
        "sec-websocket-key": "AAAAAAAAAAAAAAAAAAAAAA==",
    }
    pipeline: Pipeline = Harness(admin_host=ADMIN).pipeline
    call = Call("GET", "/v1/responses", {}, headers, b"")
    error = upgrade_error(pipeline, call, head_of_upgrade(call))
    assert (error.status if error else None) == status


@pytest.mark.usefixtures("forked_processes")
def test_host_of_the_admin_is_allowed_and_in_prod_the_only_trusted_origin(tmp_path: Path) -> None:
    variables = {
        "MOCKLLM_ENV": "prod",
        "SECRET_KEY": "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOP",
        "ALLOWED_HOSTS": "api.example.com",
        "MOCKLLM_ADMIN_HOST": "Admin.example.com:8443",
    }
    chosen = processes.settings(cwd=tmp_path, variables=variables)
    assert chosen["ALLOWED_HOSTS"] == ["api.example.com", "admin.example.com"]
    assert chosen["CSRF_TRUSTED_ORIGINS"] == ["https://admin.example.com:8443"]
