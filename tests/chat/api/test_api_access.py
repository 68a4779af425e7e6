"""Access to the API: in dev and test this machine; in prod logins and holders of the token.

A login is its own client and chats only with the permission to."""

from collections.abc import Callable
from typing import Any
from uuid import uuid4

import pytest
from django.contrib.auth.models import Group, User
from django.test import Client

from chat_app.models import Conversation
from mockllm_site.kit.api.access import login_client_id
from mockllm_site.roles import EDITOR, READER
from tests.admin.chat.talks import create_conversation
from tests.chat.api_client import Api, error_of
from tests.chat.chat_helpers import scenario
from tests.chat.routes import ResourceIds, route_request, routes
from tests.support.live_server import Live

pytestmark = pytest.mark.django_db

TOKEN = "the-chat-token-of-this-test"
UNKNOWN_IDS = ResourceIds(str(uuid4()), str(uuid4()), str(uuid4()), str(uuid4()))
ROUTES = [route for route in routes() if "stream" not in route]
# POST requests that change nothing.
READING_POSTS = {"POST load_conversation", "POST trace/{trace}/scenario"}
CHANGING_ROUTES = [r for r in routes() if r.startswith("POST") and r not in READING_POSTS]
# Kinds of users in prod, with whether they may read and chat.
USER_PERMISSIONS = {
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


def send_request(client: Client, route: str, **headers: str) -> Any:
    """Send the sample request of a route; any status but 401 and 403 means access."""
    route_sample = route_request(route)
    fields = {**route_sample.fields_for(UNKNOWN_IDS), "client_id": "reader"}
    if route_sample.path in ("schema/", "docs/"):
        fields = {}
    path = f"/api/{route_sample.path_for(UNKNOWN_IDS)}"
    if route_sample.method == "GET":
        return client.get(path, fields, headers=headers)
    return client.post(path, fields, "application/json", headers=headers)


def create_logged_in_client(*, active: bool = True) -> Client:
    client = Client(enforce_csrf_checks=True)
    client.force_login(create_user(EDITOR))
    if not active:
        User.objects.update(is_active=False)
    return client


def create_user(role: str | None = None) -> User:
    user = User.objects.create_user(f"qa {role}")
    user.groups.set(Group.objects.filter(name=role))
    return user


def client_of_user(user_kind: str) -> tuple[Client, dict[str, str]]:
    """Return a client of this kind of user, and the headers to send."""
    client = Client()
    match user_kind:
        case "a login without rights":
            client.force_login(create_user())
        case "read-only QA":
            client.force_login(create_user(READER))
        case "an editor":
            client.force_login(create_user(EDITOR))
        case "the superuser":
            client.force_login(User.objects.create_superuser("root"))
        case "the token":
            return client, {"authorization": f"Bearer {TOKEN}"}
    return client, {}


def fetch_csrf_token(client: Client) -> str:
    """Return the CSRF token that a page sets."""
    client.get("/api/docs/")
    return str(client.cookies["csrftoken"].value)


@pytest.mark.parametrize("mode", ["dev", "test"])
@pytest.mark.parametrize("route", ROUTES)
def test_routes_are_open_in_dev_and_test(settings: Any, mode: str, route: str) -> None:
    settings.MOCKLLM_ENV = mode
    status = send_request(Client(), route).status_code
    assert status < 500 and status not in (401, 403)


@pytest.mark.parametrize("route", routes())
def test_anonymous_requests_are_unauthorized_in_prod(prod: None, route: str) -> None:
    response = send_request(Client(), route)
    assert error_of(response) == (401, "UNAUTHORIZED", None)
    assert response.headers["WWW-Authenticate"] == "Bearer"


@pytest.mark.parametrize("route", ROUTES)
def test_the_token_opens_every_route(prod: None, route: str) -> None:
    client = Client(enforce_csrf_checks=True)
    status = send_request(client, route, authorization=f"Bearer {TOKEN}").status_code
    assert status < 500 and status not in (401, 403)


@pytest.mark.parametrize("wrong_token", ["", "wrong", TOKEN[:-1], f"{TOKEN}x", TOKEN.upper()])
def test_wrong_token_is_unauthorized(prod: None, wrong_token: str) -> None:
    response = send_request(
        Client(), "GET list_conversations", authorization=f"Bearer {wrong_token}"
    )
    assert error_of(response) == (401, "UNAUTHORIZED", None)
    assert TOKEN not in response.content.decode()


@pytest.mark.parametrize("authorization", ["Bearer ", "Bearer x", "Bearer None", "Basic Og=="])
def test_no_token_is_accepted_when_none_is_configured(
    prod: None, settings: Any, authorization: str
) -> None:
    settings.CHAT_TOKEN = ""
    assert (
        send_request(Client(), "GET list_conversations", authorization=authorization).status_code
        == 401
    )


def test_wrong_token_with_a_login_is_unauthorized(prod: None) -> None:
    response = send_request(
        create_logged_in_client(), "GET list_conversations", authorization="Bearer wrong"
    )
    assert error_of(response) == (401, "UNAUTHORIZED", None)


@pytest.mark.parametrize("user_kind", USER_PERMISSIONS)
def test_users_read_and_chat_by_their_permissions(prod: None, user_kind: str) -> None:
    client, headers = client_of_user(user_kind)
    may_read, may_chat = USER_PERMISSIONS[user_kind]
    for route in ROUTES:
        status = send_request(client, route, **headers).status_code
        refusal_status = 403 if may_read else 401
        has_access = may_chat if route in CHANGING_ROUTES else may_read
        assert (status == refusal_status) is not has_access, (route, status)
        assert status < 500


@pytest.mark.parametrize("user_kind", list(USER_PERMISSIONS)[1:])
def test_login_cannot_act_as_another_client(prod: None, user_kind: str) -> None:
    client, headers = client_of_user(user_kind)
    victims = Conversation.objects.create(client_id="reader", title="secret")
    logins = [user.pk for user in User.objects.all()]
    own = [Conversation.objects.create(client_id=f"login-{pk}", title="own") for pk in logins]
    listed = send_request(client, "GET list_conversations", **headers).json()["conversations"]
    visible_ids = {row["conversation_id"] for row in listed}
    assert visible_ids == (
        {str(victims.pk)} if user_kind == "the token" else {str(row.pk) for row in own}
    )
    load = client.get(
        "/api/load_conversation",
        {"client_id": "reader", "conversation_id": str(victims.pk)},
        headers=headers,
    )
    assert load.status_code == (200 if user_kind == "the token" else 404)


def test_traces_of_others_need_the_permission_and_no_client_id(prod: None) -> None:
    """Traces of others are visible to users who may see them in the admin."""
    conversation = create_conversation("words", preference="a")
    trace = conversation.comparisons.get().trace_a_id
    expected = {"a login without rights": 404, "read-only QA": 200, "an editor": 200}
    for user_kind, status in expected.items():
        client, _ = client_of_user(user_kind)
        path = f"/api/trace/{trace}"
        assert client.get(path).status_code == status
        assert client.get(path, {"client_id": conversation.client_id}).status_code == 404
        assert client.get(f"/traces/{trace}/").status_code == status


def test_a_login_without_rights_sees_its_own_traces(prod: None) -> None:
    conversation = create_conversation("words", preference="a")
    trace = conversation.comparisons.get().trace_a_id
    client = Client()
    user = create_user()
    client.force_login(user)
    Conversation.objects.update(client_id=login_client_id(user))
    assert client.get(f"/api/trace/{trace}").status_code == 200
    assert client.get(f"/traces/{trace}/").status_code == 200


@pytest.mark.parametrize("route", CHANGING_ROUTES)
@pytest.mark.parametrize("token", [None, "x" * 32])
def test_a_login_changes_nothing_without_its_csrf_token(
    prod: None, route: str, token: str | None
) -> None:
    headers = {"x-csrftoken": token} if token else {}
    assert error_of(send_request(create_logged_in_client(), route, **headers)) == (
        403,
        "FORBIDDEN",
        None,
    )


@pytest.mark.parametrize("route", [route for route in CHANGING_ROUTES if "stream" not in route])
def test_login_with_csrf_token_changes_what_it_may(prod: None, route: str) -> None:
    client = create_logged_in_client()
    token = fetch_csrf_token(client)
    response = send_request(client, route, **{"x-csrftoken": token})
    by_token = send_request(Client(), route, authorization=f"Bearer {TOKEN}")
    assert response.status_code == by_token.status_code < 500


def test_inactive_user_is_unauthorized(prod: None) -> None:
    assert (
        send_request(create_logged_in_client(active=False), "GET list_conversations").status_code
        == 401
    )


@pytest.mark.parametrize(
    "create_client",
    [lambda: Client(), lambda: create_logged_in_client()],
    ids=["nobody", "logged in"],
)
def test_unknown_path_is_unauthorized_without_a_login(
    prod: None, create_client: Callable[[], Client]
) -> None:
    client = create_client()
    expected = 404 if "sessionid" in client.cookies else 401
    assert client.get("/api/nothing").status_code == expected


def test_a_login_streams(live: Live, settings: Any) -> None:
    live.load(scenario({"text": "Hi"}))
    settings.MOCKLLM_ENV = "prod"
    client = create_logged_in_client()
    token = fetch_csrf_token(client)
    cookies = "; ".join(f"{name}={cookie.value}" for name, cookie in client.cookies.items())
    api = Api(live.base_url, headers={"Cookie": cookies, "X-CSRFToken": token})
    stream = api.send()
    assert stream.text == "Hi"
    assert api.follow(stream.trace_id).raw == stream.raw
    api_without_token = Api(live.base_url, headers={"Cookie": cookies})
    response = api_without_token.post("get_chat_response_stream", message="Hello")
    assert error_of(response) == (403, "FORBIDDEN", None)
