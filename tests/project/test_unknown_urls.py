"""Requests of API clients to unknown URLs get a provider's JSON 404; browsers get a page.

Paths of this site are not affected.
"""

import json
from typing import Any

import pytest
from django.test import AsyncClient, Client

from mockllm_site import urls
from mockllm_site.middleware.provider_requests import NO_API_SEGMENTS, OUR_PREFIXES, is_unknown_url
from mockllm_site.routes import pages as page_routes
from scenarios_app.engine.state import key_session
from scenarios_app.journal import journal
from scenarios_app.models import ServedRequest
from scenarios_app.wire.openai.dialects.rows import OWNED_PREFIXES

pytestmark = pytest.mark.django_db

JSON = {"accept": "application/json"}
BROWSER = {"accept": "text/html,application/xhtml+xml,*/*;q=0.8"}
MISDIRECTED = [
    ("POST", "/chat/completions", "openai"),
    ("POST", "/messages", "anthropic"),
    ("POST", "/models/m:generateContent", "gemini"),
    ("POST", "/chat", "ollama"),
    ("GET", "/models", "openai"),
    ("POST", "/api/paas/v4/chat/completions", "openai"),
    ("POST", "/inference/v1/chat/completions", "openai"),
]
UNOWNED_PATHS = ["/model/anthropic.claude-v1/converse", "/v2/chat", "/hf-inference/tasks/m", "/x"]


def scope(method: str, path: str, headers: dict[str, str]) -> dict[str, Any]:
    sent = [(name.encode(), value.encode()) for name, value in headers.items()]
    return {"method": method, "path": path, "headers": sent}


@pytest.mark.parametrize(("method", "path", "provider"), MISDIRECTED)
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
    entries = ServedRequest.objects.values_list("provider", "path", "status", "matched")
    assert list(entries) == [(provider, path, 404, False)]


async def test_async_django_in_debug_mode_answers_as_the_provider(settings: Any) -> None:
    settings.DEBUG = True
    response = await AsyncClient().post("/messages", "{}", content_type="application/json")
    error = json.loads(response.content)["error"]
    assert (response.status_code, error["type"]) == (404, "not_found_error")


@pytest.mark.parametrize(("method", "path", "provider"), MISDIRECTED)
def test_misdirected_request_is_an_unknown_url(method: str, path: str, provider: str) -> None:
    assert is_unknown_url(scope(method, path, {}))
    assert is_unknown_url(scope(method, path, {"accept": "application/json"}))
    asks_first = {"access-control-request-method": method}
    assert is_unknown_url(scope("OPTIONS", path, asks_first))
    assert not is_unknown_url(scope("OPTIONS", path, {}))
    assert not is_unknown_url(scope(method, path, BROWSER))


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
        ("POST", "/chat/v1/chat/completions"),
        ("POST", "/api/new_conversation"),
        ("POST", "/"),
    ],
)
def test_paths_of_this_site_and_plain_reads_are_not_unknown_urls(method: str, path: str) -> None:
    assert not is_unknown_url(scope(method, path, {}))


@pytest.mark.parametrize("path", ["/", "/health", "/metrics", "/favicon.ico", "/.well-known/x"])
def test_probe_of_a_usual_path_is_no_unknown_url(path: str) -> None:
    assert not is_unknown_url(scope("GET", path, JSON))


@pytest.mark.parametrize("path", UNOWNED_PATHS)
def test_write_or_json_read_of_another_path_is_an_unknown_url(path: str) -> None:
    assert is_unknown_url(scope("POST", path, {}))
    assert is_unknown_url(scope("GET", path, JSON))
    assert not is_unknown_url(scope("GET", path, {"accept": "*/*"}))
    assert not is_unknown_url(scope("HEAD", path, {}))
    assert not is_unknown_url(scope("POST", path, BROWSER))


@pytest.mark.parametrize("path", UNOWNED_PATHS)
def test_unowned_url_gets_a_json_404_in_the_session_of_the_key(path: str) -> None:
    response = Client(headers={"authorization": "Bearer k-1"}).post(path, {}, "application/json")
    body = response.json()
    assert (response.status_code, body["error"]["code"]) == (404, "unknown_url")
    assert body["message"] == body["error"]["message"]
    assert body["message"].startswith(f"Unknown request URL: POST {path}. No provider's API")
    assert response["x-amzn-errortype"] == "UnknownOperationException"
    assert response["x-mockllm-unmatched"] == "1"
    assert "openai-version" not in response
    assert journal.flush()
    row = ServedRequest.objects.get()
    assert (row.provider, row.path, row.outcome, row.way) == ("", path, "unmatched", "url")
    assert row.session == key_session("k-1")
    assert row.is_unmatched


def test_missing_slash_is_still_added() -> None:
    response = Client().get("/chat")
    assert (response.status_code, response["location"]) == (301, "/chat/")


def test_prefixes_of_all_routes_are_listed_as_ours() -> None:
    patterns = (*urls.urlpatterns, *page_routes.urlpatterns)
    all_routes = [str(pattern.pattern).lstrip("^") for pattern in patterns]
    below = {route.partition("/")[0] for route in all_routes if "/" in route}
    providers = {"v1(?:", "v1beta(?:", "v1alpha(?:", "openai(?:", "upload"}
    providers |= {f"{owned.strip('/')}(?:" for owned in OWNED_PREFIXES}
    assert below - providers == OUR_PREFIXES - {"static"}
    pages = {route for route in all_routes if "/" not in route and not route.endswith(("$", ")"))}
    assert pages - OUR_PREFIXES <= NO_API_SEGMENTS
