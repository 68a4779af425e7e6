"""Errors below `/api/` are `{"code", "message", "field"}`; Ollama's routes there keep their own."""

import json
from typing import Any

import httpx2
import pytest
from django.contrib.messages.middleware import MessageMiddleware
from django.db import OperationalError
from django.test import Client, override_settings

from chat_app.api.kit import answer_error
from chat_app.errors import STATUSES, ChatError
from chat_app.models import Conversation
from mockllm_site.kit.api.errors import CODES
from tests.chat.api_client import Api, assert_documented, error_of
from tests.chat.chat_helpers import scenario
from tests.chat.routes import ResourceIds, route_request, routes
from tests.support.live_server import Live

# Routes without any field ignore unknown fields.
ROUTES_WITHOUT_FIELDS = ("GET schema/", "GET docs/", "GET ab/leaderboard")
ROUTES_WITH_FIELDS = [route for route in routes() if route not in ROUTES_WITHOUT_FIELDS]
METHODS = ("PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "GET", "POST")
WRITING_ROUTES = [
    route for route in routes() if route.startswith("POST") and "scenario" not in route
]
INVALID_IDS = ResourceIds("x", "x", "x", "x")


@pytest.fixture
def client(db: None) -> Client:
    return Client(headers={"host": "localhost"})


def path_of(route: str) -> str:
    return f"/api/{route_request(route).path_for(INVALID_IDS)}"


@pytest.mark.parametrize("method", ["GET", "POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE"])
@pytest.mark.parametrize("path", ["", "nobody", "stream", "stream/x/y", "trace", "chats", "Chat"])
def test_unknown_path_is_not_found(client: Client, method: str, path: str) -> None:
    response = client.generic(method, f"/api/{path}", b"{}", "application/json")
    assert error_of(response) == (404, "NOT_FOUND", None)
    assert f"/api/{path}" in response.json()["message"]


def test_the_prefix_without_its_slash_is_not_found_either(client: Client) -> None:
    assert error_of(client.get("/api")) == (404, "NOT_FOUND", None)


def test_api_requests_skip_the_middleware_of_pages(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    """API requests are answered right after the authentication middleware."""

    def refuse(*_: Any) -> None:
        raise AssertionError("a page is being made")

    monkeypatch.setattr(MessageMiddleware, "process_request", refuse)
    assert client.get("/api/list_conversations/", {"client_id": "c"}).status_code == 200
    with pytest.raises(AssertionError, match="a page"):
        client.get("/chat/")


def test_errors_of_one_request_do_not_appear_in_the_next(client: Client) -> None:
    """Serializer fields are shared between requests."""
    body = {"client_id": "c", "title": 3}
    for _ in range(2):
        error_response = client.post("/api/new_conversation/", body, "application/json")
        assert error_of(error_response) == (400, "VALIDATION_ERROR", "title")
        body["title"] = "A title"
        valid_response = client.post("/api/new_conversation/", body, "application/json")
        assert valid_response.status_code == 200
        body["title"] = 3


def allowed_methods(path: str) -> set[str]:
    return {route.partition(" ")[0] for route in routes() if path_of(route) == path}


@pytest.mark.parametrize(
    ("path", "method"),
    [
        (path, method)
        for path in sorted({path_of(route) for route in routes()})
        for method in METHODS
        if method not in allowed_methods(path)
    ],
)
def test_unsupported_method_is_405_with_the_allowed_ones(
    client: Client, path: str, method: str
) -> None:
    response = client.generic(method, path, b"{}", "application/json")
    assert error_of(response) == (405, "VALIDATION_ERROR", None)
    assert set(response.headers["Allow"].split(", ")) - {"HEAD"} == allowed_methods(path)


@pytest.mark.parametrize("route", routes())
def test_a_slash_at_the_end_changes_nothing(client: Client, route: str) -> None:
    method, path = route_request(route).method, path_of(route)
    slash_variant = path[:-1] if path.endswith("/") else f"{path}/"
    responses = [
        client.generic(method, variant, b"{}", "application/json")
        for variant in (path, slash_variant)
    ]
    assert len({response.status_code for response in responses}) == 1
    assert responses[0].status_code not in (301, 302, 308)
    if responses[0].status_code >= 400:
        assert responses[0].json() == responses[1].json()


@pytest.mark.parametrize("route", WRITING_ROUTES)
@pytest.mark.parametrize(
    "content_type",
    [
        "application/x-www-form-urlencoded",
        "multipart/form-data; boundary=x",
        "text/plain",
        "application/jsonp",
        "*/*",
    ],
)
def test_body_with_another_content_type_is_refused(
    client: Client, route: str, content_type: str
) -> None:
    """A page of another origin can send these types without a preflight request."""
    body = b'{"client_id": "c"}'
    response = client.generic("POST", path_of(route), body, content_type)
    assert_documented("POST", path_of(route), response)
    assert error_of(response) == (415, "VALIDATION_ERROR", None)


@pytest.mark.parametrize("route", WRITING_ROUTES)
@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b'{"client_id": "c",}',
        b"{'client_id': 'c'}",
        b'{"client_id": "c"} x',
        b'{"client_id": "\xff"}',
        b"\xef\xbb\xbf{}",
        '{"client_id": "c"}'.encode("utf-16"),
        b'{"client_id": "\\ud800"}',
        b'{"client_id": NaN}',
        b'{"client_id": Infinity}',
        b'{"client_id": 1e999}',
        b'{"client_id": "c", "client_id": "d"}',
        b"[" * 100_000,
        b"1" * 10_000,
    ],
)
def test_malformed_json_is_refused(client: Client, route: str, body: bytes) -> None:
    response = client.generic(
        "POST", path_of(route), body, "application/json", CONTENT_TYPE="application/json"
    )
    assert_documented("POST", path_of(route), response)
    assert error_of(response)[:2] == (400, "VALIDATION_ERROR")
    assert not Conversation.objects.exists()


@pytest.mark.parametrize("route", WRITING_ROUTES)
@pytest.mark.parametrize("body", [b"null", b"[]", b'"x"', b"7", b"true"])
def test_json_that_is_no_object_is_refused(client: Client, route: str, body: bytes) -> None:
    response = client.generic("POST", path_of(route), body, "application/json")
    assert error_of(response) == (400, "VALIDATION_ERROR", None)


@pytest.mark.parametrize("route", ROUTES_WITH_FIELDS)
def test_an_unknown_key_is_refused_by_its_name(client: Client, route: str) -> None:
    route_sample = route_request(route)
    fields = {**route_sample.fields_for(INVALID_IDS), "client_id": "c", "clientid": "c"}
    if route_sample.method == "GET":
        response = client.get(path_of(route), fields)
    else:
        response = client.post(path_of(route), fields, "application/json")
    assert error_of(response) == (400, "VALIDATION_ERROR", "clientid")


@pytest.mark.parametrize(
    "route", [route for route in ROUTES_WITH_FIELDS if route.startswith("GET")]
)
def test_a_parameter_that_is_given_twice_is_refused(client: Client, route: str) -> None:
    response = client.get(f"{path_of(route)}?client_id=a&client_id=b")
    assert error_of(response) == (400, "VALIDATION_ERROR", "client_id")


@override_settings(MOCKLLM_MAX_BODY_BYTES=1_000)
@pytest.mark.parametrize("route", WRITING_ROUTES)
def test_a_body_that_is_too_large_is_refused(client: Client, route: str) -> None:
    body = json.dumps({"client_id": "c" * 1_000})
    response = client.generic("POST", path_of(route), body, "application/json")
    assert_documented("POST", path_of(route), response)
    assert error_of(response) == (413, "VALIDATION_ERROR", None)


@pytest.mark.parametrize("chunked", [False, True])
def test_server_refuses_a_large_body_while_reading_it(
    live: Live, api: Api, settings: Any, chunked: bool
) -> None:
    settings.MOCKLLM_MAX_BODY_BYTES = 1_000
    body = json.dumps({"client_id": "c", "message": "m" * 1_000}).encode()
    content: Any = iter([body[:500], body[500:]]) if chunked else body
    headers = {"Content-Type": "application/json"}
    path = "get_chat_response_stream"
    response = api.request("POST", path, content=content, headers=headers)
    assert error_of(response) == (413, "VALIDATION_ERROR", None)


def test_foreign_host_header_is_a_validation_error(client: Client) -> None:
    response = client.get("/api/list_conversations?client_id=c", headers={"host": "evil.example"})
    assert error_of(response) == (400, "VALIDATION_ERROR", None)


@pytest.mark.parametrize(
    ("raised", "expected"),
    [
        (OperationalError("locked"), (503, "SERVICE_UNAVAILABLE", None)),
        (RuntimeError("a secret"), (500, "INTERNAL_ERROR", None)),
    ],
)
def test_internal_errors_are_logged_and_hidden_from_clients(
    client: Client,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    raised: Exception,
    expected: tuple[int, str, None],
) -> None:
    def fail(*_: Any, **__: Any) -> None:
        raise raised

    monkeypatch.setattr("chat_app.conversations.conversations_of", fail)
    response = client.get("/api/list_conversations?client_id=c")
    assert error_of(response) == expected
    assert str(raised) not in response.content.decode()
    assert any(record.exc_info and record.exc_info[1] is raised for record in caplog.records)


@pytest.mark.parametrize("code", STATUSES)
def test_the_chats_errors_have_the_statuses_of_the_contract(code: str) -> None:
    response = answer_error(ChatError(code, "why", field="user_message"), {})
    assert response.status_code == STATUSES[code]
    assert CODES[response.status_code] == code
    assert json.loads(response.content) == {"code": code, "message": "why", "field": "message"}


def test_ollama_routes_below_api_keep_their_own_errors(live: Live) -> None:
    live.load(scenario({"text": "from the mock"}))
    body = {"model": "llama3", "messages": [{"role": "user", "content": "Hi"}], "stream": False}
    answer = httpx2.post(f"{live.base_url}/api/chat", json=body)
    assert answer.json()["message"]["content"] == "from the mock"
    wrong = httpx2.post(f"{live.base_url}/api/chat", content=b"{")
    assert set(wrong.json()) == {"error"}
    assert httpx2.get(f"{live.base_url}/api/version").json()["version"]
