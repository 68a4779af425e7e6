"""Who gets in: in dev and test this machine; in prod whoever is logged in or has the token. A login
is its own client, and chats only where it may."""

from collections.abc import Callable
from typing import Any
from uuid import uuid4

import pytest
from django.contrib.auth.models import Group, User
from django.test import Client

from chat_app.models import Conversation
from mockllm_site.kit.api.access import login_client
from mockllm_site.roles import EDITOR, READER
from tests.admin.chat.talks import talk
from tests.chat.asking import Api, error_of
from tests.chat.chatting import scenario
from tests.chat.routes import Things, route_request, routes
from tests.support.live_server import Live

pytestmark = pytest.mark.django_db

TOKEN = "the-chat-token-of-this-test"
THINGS = Things(str(uuid4()), str(uuid4()), str(uuid4()), str(uuid4()))
ROUTES = [route for route in routes() if "stream" not in route]
# POST requests that change nothing.
READING_POSTS = {"POST load_conversation", "POST trace/{trace}/scenario"}
CHANGING = [r for r in routes() if r.startswith("POST") and r not in READING_POSTS]
# Users in prod: may they read, may they chat?
SIX = {
    "nobody": (False, False),
    "a login without rights": (True, False),
    "read-only QA": (True, False),
    "an editor": (True, True),
    "the superuser": (True, True),
    "the token": (True, True),
}


@pytest.fixture
def prod(settings: Any) -> None:
    settings.MOCKLLM_ENV = "prod"
    settings.CHAT_TOKEN = TOKEN


def ask(client: Client, route: str, **headers: str) -> Any:
    """Any answer but 401 and 403 means that one is in."""
    question = route_request(route)
    fields = {**question.fields_for(THINGS), "client_id": "reader"}
    if question.path in ("schema/", "docs/"):
        fields = {}
    path = f"/api/{question.path_for(THINGS)}"
    if question.method == "GET":
        return client.get(path, fields, headers=headers)
    return client.post(path, fields, "application/json", headers=headers)


def logged_in(*, active: bool = True) -> Client:
    client = Client(enforce_csrf_checks=True)
    client.force_login(login(EDITOR))
    if not active:
        User.objects.update(is_active=False)
    return client


def login(role: str | None = None) -> User:
    user = User.objects.create_user(f"qa {role}")
    user.groups.set(Group.objects.filter(name=role))
    return user


def one_of_six(who: str) -> tuple[Client, dict[str, str]]:
    """A client, and the headers that it sends."""
    client = Client()
    match who:
        case "a login without rights":
            client.force_login(login())
        case "read-only QA":
            client.force_login(login(READER))
        case "an editor":
            client.force_login(login(EDITOR))
        case "the superuser":
            client.force_login(User.objects.create_superuser("root"))
        case "the token":
            return client, {"authorization": f"Bearer {TOKEN}"}
    return client, {}


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


@pytest.mark.parametrize("who", SIX)
def test_one_reads_and_chats_where_one_may(prod: None, who: str) -> None:
    client, headers = one_of_six(who)
    reads, chats = SIX[who]
    for route in ROUTES:
        status = ask(client, route, **headers).status_code
        refused = 403 if reads else 401
        let_in = chats if route in CHANGING else reads
        assert (status == refused) is not let_in, (route, status)
        assert status < 500


@pytest.mark.parametrize("who", list(SIX)[1:])
def test_a_login_is_no_other_client_whatever_it_says(prod: None, who: str) -> None:
    client, headers = one_of_six(who)
    victims = Conversation.objects.create(client_id="reader", title="secret")
    logins = [user.pk for user in User.objects.all()]
    own = [Conversation.objects.create(client_id=f"login-{pk}", title="own") for pk in logins]
    listed = ask(client, "GET list_conversations", **headers).json()["conversations"]
    seen = {one["conversation_id"] for one in listed}
    assert seen == ({str(victims.pk)} if who == "the token" else {str(one.pk) for one in own})
    load = client.get(
        "/api/load_conversation",
        {"client_id": "reader", "conversation_id": str(victims.pk)},
        headers=headers,
    )
    assert load.status_code == (200 if who == "the token" else 404)


def test_a_login_that_reads_all_traces_asks_without_a_client(prod: None) -> None:
    """Others' traces are for those who may see them in the admin."""
    talked = talk("words", preference="a")
    trace = talked.comparisons.get().trace_a_id
    expected = {"a login without rights": 404, "read-only QA": 200, "an editor": 200}
    for who, status in expected.items():
        client, _ = one_of_six(who)
        path = f"/api/trace/{trace}"
        assert client.get(path).status_code == status
        assert client.get(path, {"client_id": talked.client_id}).status_code == 404
        assert client.get(f"/traces/{trace}/").status_code == status


def test_a_login_without_rights_sees_its_own_traces(prod: None) -> None:
    talked = talk("words", preference="a")
    trace = talked.comparisons.get().trace_a_id
    client = Client()
    user = login()
    client.force_login(user)
    Conversation.objects.update(client_id=login_client(user))
    assert client.get(f"/api/trace/{trace}").status_code == 200
    assert client.get(f"/traces/{trace}/").status_code == 200


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
    token = with_token(client)
    response = ask(client, route, **{"x-csrftoken": token})
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
