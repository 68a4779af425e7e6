"""What looks like a provider's request at no provider's path: answered so, by the application and
by Django alone, unless a person's browser asks or the path is one of ours."""

import json
from typing import Any

import pytest
from django.test import AsyncClient, Client

from mockllm_site import urls
from mockllm_site.pages.wrong_base import OURS, has_wrong_base_url
from scenarios_app.journal import journal
from scenarios_app.models import ServedRequest
from scenarios_app.wire.openai.dialects.rows import OWNED_PREFIXES

pytestmark = pytest.mark.django_db

BROWSER = {"accept": "text/html,application/xhtml+xml,*/*;q=0.8"}
MISLED = [
    ("POST", "/chat/completions", "openai"),
    ("POST", "/messages", "anthropic"),
    ("POST", "/models/m:generateContent", "gemini"),
    ("POST", "/chat", "ollama"),
    ("GET", "/models", "openai"),
]


def scope(method: str, path: str, headers: dict[str, str]) -> dict[str, Any]:
    sent = [(name.encode(), value.encode()) for name, value in headers.items()]
    return {"method": method, "path": path, "headers": sent}


@pytest.mark.parametrize(("method", "path", "provider"), MISLED)
def test_django_answers_as_the_provider_and_journals_it(
    method: str, path: str, provider: str
) -> None:
    response = Client(headers={"host": "testserver"}).generic(
        method, path, "{}", "application/json"
    )
    assert response.status_code == 404
    assert response["content-type"].startswith("application/json")
    assert f"Unknown request URL: {method} {path}. Did you mean http://testserver/" in (
        response.content.decode()
    )
    assert journal.flush()
    found = ServedRequest.objects.values_list("provider", "path", "status", "matched")
    assert list(found) == [(provider, path, 404, False)]


async def test_django_answers_so_on_an_event_loop_and_in_debug_mode(settings: Any) -> None:
    settings.DEBUG = True
    response = await AsyncClient().post("/messages", "{}", content_type="application/json")
    error = json.loads(response.content)["error"]
    assert (response.status_code, error["type"]) == (404, "not_found_error")


@pytest.mark.parametrize(("method", "path", "provider"), MISLED)
def test_the_application_answers_so_before_django(method: str, path: str, provider: str) -> None:
    assert has_wrong_base_url(scope(method, path, {}))
    assert has_wrong_base_url(scope(method, path, {"accept": "application/json"}))
    asks_first = {"access-control-request-method": method}
    assert has_wrong_base_url(scope("OPTIONS", path, asks_first))
    assert not has_wrong_base_url(scope("OPTIONS", path, {}))
    assert not has_wrong_base_url(scope(method, path, BROWSER))


@pytest.mark.parametrize("path", ["/models", "/version", "/nothing"])
def test_a_person_gets_a_page(path: str) -> None:
    response = Client().get(path, headers=BROWSER)
    assert response.status_code == 404
    assert response["content-type"].startswith("text/html")
    assert journal.flush()
    assert not ServedRequest.objects.exists()


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", "/chat"),
        ("GET", "/chat/"),
        ("GET", "/nothing"),
        ("POST", "/v1/chat/completions"),
        ("POST", "/admin/v1/messages"),
        ("GET", "/control/models"),
        ("POST", "/api/v1/chat/completions"),
        ("POST", "/chat/v1/chat/completions"),
    ],
)
def test_known_paths_have_no_wrong_base(method: str, path: str) -> None:
    assert not has_wrong_base_url(scope(method, path, {}))


def test_a_slash_that_is_missing_is_still_added() -> None:
    response = Client().get("/chat")
    assert (response.status_code, response["location"]) == (301, "/chat/")


def test_whatever_begins_a_path_of_ours_is_known_to_be() -> None:
    routes = (str(pattern.pattern).lstrip("^") for pattern in urls.urlpatterns)
    below = {route.partition("/")[0] for route in routes if "/" in route}
    providers = {"v1(?:", "v1beta(?:", "v1alpha(?:", "openai(?:", "upload"}
    providers |= {f"{owned.strip('/')}(?:" for owned in OWNED_PREFIXES}
    assert below - providers == OURS - {"static"}
