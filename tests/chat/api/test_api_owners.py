"""Each route for the owner, another client, staff, and without a client id.

A new route without a row in the matrix fails."""

from typing import Any

import httpx2
import pytest
from django.contrib.auth.models import User
from django.test import Client

from chat_app.models import ABComparison
from tests.chat.api_client import TIMEOUT_SECONDS, Api
from tests.chat.chat_helpers import scenario
from tests.chat.routes import ROUTE_REQUESTS, ResourceIds, route_request, routes
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
    # Ids cannot be guessed, so an id is enough to read, unless the client_id is another's.
    "GET ab/{comparison}": (200, 404, 200),
    "GET trace/{trace}": (200, 404, 200),
    "GET trace/by_message/{message}": (200, 404, 200),
    "POST trace/{trace}/scenario": (200, 404, 200),
    "GET schema/": (200, 200, 200),
    "GET docs/": (200, 200, 200),
}
PUBLIC_PATHS = ("schema/", "docs/", "ab/leaderboard")
REQUESTERS = ("owner", "other", "nobody", "staff")


@pytest.fixture
def resource_ids(live: Live, api: Api) -> ResourceIds:
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
    return ResourceIds(
        stream.conversation_id, stream.last["message_id"], stream.trace_id, str(comparison.pk)
    )


def test_every_route_has_a_row_in_the_matrix() -> None:
    assert set(routes()) == set(MATRIX) == set(ROUTE_REQUESTS)


@pytest.mark.parametrize("requester", REQUESTERS)
@pytest.mark.parametrize("route", MATRIX)
def test_clients_see_only_their_own_rows(
    live: Live, api: Api, resource_ids: ResourceIds, route: str, requester: str
) -> None:
    route_sample = route_request(route)
    fields: dict[str, Any] = route_sample.fields_for(resource_ids)
    cookies: dict[str, str] = {}
    if requester != "nobody":
        fields["client_id"] = api.client_id if requester == "owner" else "somebody else"
    if requester == "staff":
        client = Client()
        client.force_login(User.objects.create_superuser("root"))
        cookies = {name: morsel.value for name, morsel in client.cookies.items()}
    path = route_sample.path_for(resource_ids)
    if path in PUBLIC_PATHS:
        fields = {}
    response = httpx2.request(
        route_sample.method,
        f"{live.base_url}/api/{path}",
        **{"params" if route_sample.method == "GET" else "json": fields},
        headers={"Cookie": "; ".join(f"{key}={value}" for key, value in cookies.items())},
        timeout=TIMEOUT_SECONDS,
    )
    owner, other, anonymous = MATRIX[route]
    assert response.status_code == {"owner": owner, "nobody": anonymous}.get(requester, other)
    if requester in ("other", "staff"):
        assert SECRET not in response.text
        # The response names only ids of the request.
        listed_ids = {
            resource_id for resource_id in resource_ids.ids() if resource_id in response.text
        }
        assert listed_ids <= {
            resource_id for resource_id in resource_ids.ids() if resource_id in path
        }


@pytest.mark.parametrize("requester", ["other", "nobody"])
@pytest.mark.parametrize("route", [name for name in MATRIX if name.startswith("POST")])
def test_other_clients_cannot_change_a_conversation(
    live: Live, api: Api, resource_ids: ResourceIds, route: str, requester: str
) -> None:
    before = api.load_messages(resource_ids.conversation), api.get("list_conversations").json()
    route_sample = route_request(route)
    fields = route_sample.fields_for(resource_ids)
    if requester == "other":
        fields["client_id"] = "somebody else"
    url = f"{live.base_url}/api/{route_sample.path_for(resource_ids)}"
    httpx2.request(route_sample.method, url, json=fields, timeout=TIMEOUT_SECONDS)
    assert (
        api.load_messages(resource_ids.conversation),
        api.get("list_conversations").json(),
    ) == before
