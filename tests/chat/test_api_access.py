"""Who gets in: in dev and test everybody; in prod whoever is logged in or has the token."""

from collections.abc import Callable
from typing import Any
from uuid import uuid4

import pytest
from django.contrib.auth.models import User
from django.test import Client

from tests.chat.asking import Api, error_of
from tests.chat.chatting import scenario
from tests.chat.routes import Things, asked, routes
from tests.live import Live

pytestmark = pytest.mark.django_db

TOKEN = "the-chat-token-of-this-test"
THINGS = Things(str(uuid4()), str(uuid4()), str(uuid4()), str(uuid4()))
ROUTES = [route for route in routes() if "stream" not in route]
CHANGING = [route for route in routes() if route.startswith("POST")]


@pytest.fixture
def prod(settings: Any) -> None:
    settings.MOCKLLM_ENV = "prod"
    settings.CHAT_TOKEN = TOKEN


def ask(client: Client, route: str, **headers: str) -> Any:
    """Any answer but 401 and 403 means that one is in."""
    question = asked(route)
    fields = {**question.fields_for(THINGS), "client_id": "reader"}
    if question.path in ("schema/", "docs/"):
        fields = {}
    path = f"/api/{question.path_for(THINGS)}"
    if question.method == "GET":
        return client.get(path, fields, headers=headers)
    return client.post(path, fields, "application/json", headers=headers)


def logged_in(*, active: bool = True) -> Client:
    client = Client(enforce_csrf_checks=True)
    user = User.objects.create_user("qa")
    client.force_login(user)
    if not active:
        User.objects.update(is_active=False)
    return client


def with_token(client: Client) -> str:
    """A CSRF token, as a page gives it."""
    client.get("/api/docs/")
    return str(client.cookies["csrftoken"].value)


@pytest.mark.parametrize("mode", ["dev", "test"])
@pytest.mark.parametrize("route", ROUTES)
def test_in_dev_and_test_nothing_is_needed(settings: Any, mode: str, route: str) -> None:
    settings.MOCKLLM_ENV = mode
    status = ask(Client(), route).status_code
    assert status < 500 and status not in (401, 403)


@pytest.mark.parametrize("route", routes())
def test_in_prod_nobody_gets_in_without_a_login_or_the_token(prod: None, route: str) -> None:
    response = ask(Client(), route)
    assert error_of(response) == (401, "UNAUTHORIZED", None)
    assert response.headers["WWW-Authenticate"] == "Bearer"


@pytest.mark.parametrize("route", ROUTES)
def test_the_token_opens_every_route(prod: None, route: str) -> None:
    client = Client(enforce_csrf_checks=True)
    status = ask(client, route, authorization=f"Bearer {TOKEN}").status_code
    assert status < 500 and status not in (401, 403)


@pytest.mark.parametrize("given", ["", "wrong", TOKEN[:-1], f"{TOKEN}x", TOKEN.upper()])
def test_only_the_token_itself_is_the_token(prod: None, given: str) -> None:
    response = ask(Client(), "GET list_conversations", authorization=f"Bearer {given}")
    assert error_of(response) == (401, "UNAUTHORIZED", None)
    assert TOKEN not in response.content.decode()


@pytest.mark.parametrize("given", ["Bearer ", "Bearer x", "Bearer None", "Basic Og=="])
def test_without_a_token_set_none_opens(prod: None, settings: Any, given: str) -> None:
    settings.CHAT_TOKEN = ""
    assert ask(Client(), "GET list_conversations", authorization=given).status_code == 401


def test_a_wrong_token_is_not_made_good_by_a_login(prod: None) -> None:
    response = ask(logged_in(), "GET list_conversations", authorization="Bearer wrong")
    assert error_of(response) == (401, "UNAUTHORIZED", None)


@pytest.mark.parametrize("route", [route for route in ROUTES if route.startswith("GET")])
def test_a_login_reads(prod: None, route: str) -> None:
    status = ask(logged_in(), route).status_code
    assert status < 500 and status not in (401, 403)


@pytest.mark.parametrize("route", CHANGING)
@pytest.mark.parametrize("token", [None, "x" * 32])
def test_a_login_changes_nothing_without_its_csrf_token(
    prod: None, route: str, token: str | None
) -> None:
    headers = {"x-csrftoken": token} if token else {}
    assert error_of(ask(logged_in(), route, **headers)) == (403, "FORBIDDEN", None)


@pytest.mark.parametrize("route", [route for route in CHANGING if "stream" not in route])
def test_with_it_a_login_changes_what_it_may(prod: None, route: str) -> None:
    client = logged_in()
    response = ask(client, route, **{"x-csrftoken": with_token(client)})
    by_token = ask(Client(), route, authorization=f"Bearer {TOKEN}")
    assert response.status_code == by_token.status_code < 500


def test_a_user_who_was_shut_out_is_out(prod: None) -> None:
    assert ask(logged_in(active=False), "GET list_conversations").status_code == 401


@pytest.mark.parametrize(
    "login", [lambda: Client(), lambda: logged_in()], ids=["nobody", "logged in"]
)
def test_paths_that_are_not_there_tell_strangers_nothing(
    prod: None, login: Callable[[], Client]
) -> None:
    client = login()
    expected = 404 if "sessionid" in client.cookies else 401
    assert client.get("/api/nothing").status_code == expected


def test_a_login_streams(live: Live, settings: Any) -> None:
    live.load(scenario({"text": "Hi"}))
    settings.MOCKLLM_ENV = "prod"
    client = logged_in()
    token = with_token(client)
    cookies = "; ".join(f"{name}={one.value}" for name, one in client.cookies.items())
    api = Api(live.base_url, headers={"Cookie": cookies, "X-CSRFToken": token})
    stream = api.send()
    assert stream.text == "Hi"
    assert api.follow(stream.trace_id).raw == stream.raw
    bare = Api(live.base_url, headers={"Cookie": cookies})
    refused = bare.post("get_chat_response_stream", message="Hello")
    assert error_of(refused) == (403, "FORBIDDEN", None)
