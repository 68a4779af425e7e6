"""Whatever goes wrong below `/api/` is `{"code", "message", "field"}`, never a page; what is a
provider's there stays in the provider's words."""

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
from tests.chat.asking import Api, check, error_of
from tests.chat.chatting import scenario
from tests.chat.routes import Things, route_request, routes
from tests.support.live_server import Live

# Routes without any field ignore unknown fields.
OPEN = ("GET schema/", "GET docs/", "GET ab/leaderboard")
ASKING = [route for route in routes() if route not in OPEN]
METHODS = ("PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "GET", "POST")
WRITING = [route for route in routes() if route.startswith("POST") and "scenario" not in route]
NONE = Things("x", "x", "x", "x")


@pytest.fixture
def client(db: None) -> Client:
    return Client(headers={"host": "localhost"})


def path_of(route: str) -> str:
    return f"/api/{route_request(route).path_for(NONE)}"


@pytest.mark.parametrize("method", ["GET", "POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE"])
@pytest.mark.parametrize("path", ["", "nobody", "stream", "stream/x/y", "trace", "chats", "Chat"])
def test_a_path_that_is_not_there_is_not_found(client: Client, method: str, path: str) -> None:
    response = client.generic(method, f"/api/{path}", b"{}", "application/json")
    assert error_of(response) == (404, "NOT_FOUND", None)
    assert f"/api/{path}" in response.json()["message"]


def test_the_prefix_without_its_slash_is_not_found_either(client: Client) -> None:
    assert error_of(client.get("/api")) == (404, "NOT_FOUND", None)


def test_api_requests_skip_the_middleware_of_pages(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is answered where middleware is, once logins are known."""

    def refuse(*_: Any) -> None:
        raise AssertionError("a page is being made")

    monkeypatch.setattr(MessageMiddleware, "process_request", refuse)
    assert client.get("/api/list_conversations/", {"client_id": "c"}).status_code == 200
    with pytest.raises(AssertionError, match="a page"):
        client.get("/chat/")


def test_errors_of_one_request_do_not_appear_in_the_next(client: Client) -> None:
    """The fields that check them are kept."""
    body = {"client_id": "c", "title": 3}
    for _ in range(2):
        refused = client.post("/api/new_conversation/", body, "application/json")
        assert error_of(refused) == (400, "VALIDATION_ERROR", "title")
        body["title"] = "A title"
        made = client.post("/api/new_conversation/", body, "application/json")
        assert made.status_code == 200
        body["title"] = 3


def allowed(path: str) -> set[str]:
    return {one.partition(" ")[0] for one in routes() if path_of(one) == path}


@pytest.mark.parametrize(
    ("path", "method"),
    [
        (path, method)
        for path in sorted({path_of(route) for route in routes()})
        for method in METHODS
        if method not in allowed(path)
    ],
)
def test_a_method_that_is_not_there_is_named(client: Client, path: str, method: str) -> None:
    response = client.generic(method, path, b"{}", "application/json")
    assert error_of(response) == (405, "VALIDATION_ERROR", None)
    assert set(response.headers["Allow"].split(", ")) - {"HEAD"} == allowed(path)


@pytest.mark.parametrize("route", routes())
def test_a_slash_at_the_end_changes_nothing(client: Client, route: str) -> None:
    method, path = route_request(route).method, path_of(route)
    twin = path[:-1] if path.endswith("/") else f"{path}/"
    answers = [client.generic(method, one, b"{}", "application/json") for one in (path, twin)]
    assert len({answer.status_code for answer in answers}) == 1
    assert answers[0].status_code not in (301, 302, 308)
    if answers[0].status_code >= 400:
        assert answers[0].json() == answers[1].json()


@pytest.mark.parametrize("route", WRITING)
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
def test_a_body_that_is_not_said_to_be_json_is_refused(
    client: Client, route: str, content_type: str
) -> None:
    """These are what a page of another origin can send without being asked."""
    body = b'{"client_id": "c"}'
    response = client.generic("POST", path_of(route), body, content_type)
    check("POST", path_of(route), response)
    assert error_of(response) == (415, "VALIDATION_ERROR", None)


@pytest.mark.parametrize("route", WRITING)
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
    check("POST", path_of(route), response)
    assert error_of(response)[:2] == (400, "VALIDATION_ERROR")
    assert not Conversation.objects.exists()


@pytest.mark.parametrize("route", WRITING)
@pytest.mark.parametrize("body", [b"null", b"[]", b'"x"', b"7", b"true"])
def test_json_that_is_no_object_is_refused(client: Client, route: str, body: bytes) -> None:
    response = client.generic("POST", path_of(route), body, "application/json")
    assert error_of(response) == (400, "VALIDATION_ERROR", None)


@pytest.mark.parametrize("route", ASKING)
def test_an_unknown_key_is_refused_by_its_name(client: Client, route: str) -> None:
    question = route_request(route)
    fields = {**question.fields_for(NONE), "client_id": "c", "clientid": "c"}
    if question.method == "GET":
        response = client.get(path_of(route), fields)
    else:
        response = client.post(path_of(route), fields, "application/json")
    assert error_of(response) == (400, "VALIDATION_ERROR", "clientid")


@pytest.mark.parametrize("route", [one for one in ASKING if one.startswith("GET")])
def test_a_parameter_that_is_given_twice_is_refused(client: Client, route: str) -> None:
    response = client.get(f"{path_of(route)}?client_id=a&client_id=b")
    assert error_of(response) == (400, "VALIDATION_ERROR", "client_id")


@override_settings(MOCKLLM_MAX_BODY_BYTES=1_000)
@pytest.mark.parametrize("route", WRITING)
def test_a_body_that_is_too_large_is_refused(client: Client, route: str) -> None:
    body = json.dumps({"client_id": "c" * 1_000})
    response = client.generic("POST", path_of(route), body, "application/json")
    check("POST", path_of(route), response)
    assert error_of(response) == (413, "VALIDATION_ERROR", None)


@pytest.mark.parametrize("chunked", [False, True])
def test_a_server_refuses_it_while_it_comes_in(
    live: Live, api: Api, settings: Any, chunked: bool
) -> None:
    settings.MOCKLLM_MAX_BODY_BYTES = 1_000
    body = json.dumps({"client_id": "c", "message": "m" * 1_000}).encode()
    content: Any = iter([body[:500], body[500:]]) if chunked else body
    headers = {"Content-Type": "application/json"}
    path = "get_chat_response_stream"
    response = api.ask("POST", path, content=content, headers=headers)
    assert error_of(response) == (413, "VALIDATION_ERROR", None)


def test_a_host_that_is_not_ours_is_refused_in_the_same_form(client: Client) -> None:
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
    def broken(*_: Any, **__: Any) -> None:
        raise raised

    monkeypatch.setattr("chat_app.conversations.conversations_of", broken)
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
