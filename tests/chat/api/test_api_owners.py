"""Each route × who asks: nobody, somebody else, the owner, staff. A route that comes without a row
fails."""

from typing import Any

import httpx2
import pytest
from django.contrib.auth.models import User
from django.test import Client

from chat_app.models import ABComparison
from tests.chat.asking import SECONDS, Api
from tests.chat.chatting import scenario
from tests.chat.routes import ROUTE_REQUESTS, Things, route_request, routes
from tests.support.live_server import Live
from traces_app.models import Status, Trace

SECRET = "the owner's own words"
# Statuses for the owner, for others (staff too), and without a client_id.
MATRIX: dict[str, tuple[int, int, int]] = {
    "POST get_chat_response_stream": (200, 404, 400),
    "GET stream/{trace}": (200, 404, 400),
    "POST cancel_stream": (409, 404, 400),
    "GET list_conversations": (200, 200, 400),
    "GET load_conversation": (200, 404, 400),
    "POST load_conversation": (200, 404, 400),
    "POST new_conversation": (200, 200, 400),
    "POST rename_conversation": (200, 404, 400),
    "POST delete_conversation": (200, 404, 400),
    # The id of an answer, which is not a user's message.
    "POST rewind_conversation": (400, 404, 400),
    "POST feedback": (200, 404, 400),
    "POST ab/stream": (200, 404, 400),
    "POST ab/vote": (200, 404, 400),
    "GET ab/pending": (200, 200, 400),
    "GET ab/leaderboard": (200, 200, 200),
    # Ids cannot be guessed: whoever has one may read, unless the client_id is another's.
    "GET ab/{comparison}": (200, 404, 200),
    "GET trace/{trace}": (200, 404, 200),
    "GET trace/by_message/{message}": (200, 404, 200),
    "POST trace/{trace}/scenario": (200, 404, 200),
    "GET schema/": (200, 200, 200),
    "GET docs/": (200, 200, 200),
}
ANYBODYS = ("schema/", "docs/", "ab/leaderboard")
WHO = ("owner", "other", "nobody", "staff")


@pytest.fixture
def things(live: Live, api: Api) -> Things:
    live.load(scenario({"text": SECRET}, {"text": "One"}, {"text": "Two"}))
    stream = api.send(SECRET)
    first = Trace.objects.get()
    second = Trace.objects.create(conversation=first.conversation, status=Status.COMPLETED)
    comparison = ABComparison.objects.create(
        conversation=first.conversation,
        user_message=first.user_message,
        seed=1,
        profile_a_name="one",
        profile_b_name="two",
        trace_a=first,
        trace_b=second,
    )
    return Things(
        stream.conversation_id, stream.last["message_id"], stream.trace_id, str(comparison.pk)
    )


def test_every_route_has_its_rows() -> None:
    assert set(routes()) == set(MATRIX) == set(ROUTE_REQUESTS)


@pytest.mark.parametrize("who", WHO)
@pytest.mark.parametrize("route", MATRIX)
def test_clients_see_their_own_things(
    live: Live, api: Api, things: Things, route: str, who: str
) -> None:
    question = route_request(route)
    fields: dict[str, Any] = question.fields_for(things)
    cookies: dict[str, str] = {}
    if who != "nobody":
        fields["client_id"] = api.client_id if who == "owner" else "somebody else"
    if who == "staff":
        client = Client()
        client.force_login(User.objects.create_superuser("root"))
        cookies = {name: morsel.value for name, morsel in client.cookies.items()}
    path = question.path_for(things)
    if path in ANYBODYS:
        fields = {}
    response = httpx2.request(
        question.method,
        f"{live.base_url}/api/{path}",
        **{"params" if question.method == "GET" else "json": fields},
        headers={"Cookie": "; ".join(f"{key}={value}" for key, value in cookies.items())},
        timeout=SECONDS,
    )
    owner, other, nobody = MATRIX[route]
    assert response.status_code == {"owner": owner, "nobody": nobody}.get(who, other)
    if who in ("other", "staff"):
        assert SECRET not in response.text
        # The response names only ids of the request.
        listed_ids = {one for one in things.ids() if one in response.text}
        assert listed_ids <= {one for one in things.ids() if one in path}


@pytest.mark.parametrize("who", ["other", "nobody"])
@pytest.mark.parametrize("route", [name for name in MATRIX if name.startswith("POST")])
def test_other_clients_cannot_change_a_conversation(
    live: Live, api: Api, things: Things, route: str, who: str
) -> None:
    before = api.loaded(things.conversation), api.get("list_conversations").json()
    question = route_request(route)
    fields = question.fields_for(things)
    if who == "other":
        fields["client_id"] = "somebody else"
    url = f"{live.base_url}/api/{question.path_for(things)}"
    httpx2.request(question.method, url, json=fields, timeout=SECONDS)
    assert (api.loaded(things.conversation), api.get("list_conversations").json()) == before
