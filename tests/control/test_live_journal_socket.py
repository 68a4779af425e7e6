"""Who may listen to the journal over a WebSocket."""

from typing import Any

import pytest
from channels.testing import WebsocketCommunicator
from django.contrib.auth.models import AnonymousUser, Group, User

from mockllm_site.sockets import live_journal
from scenarios_app.admin.roles import READER
from scenarios_app.live_journal import NOT_ALLOWED, LiveJournal, row_json
from tests.admin.traffic import served, unmatched
from traces_app.database import in_database

pytestmark = pytest.mark.django_db(transaction=True)


def listener(user: Any) -> WebsocketCommunicator:
    socket = WebsocketCommunicator(LiveJournal.as_asgi(), "/ws/journal/")
    socket.scope["user"] = user
    return socket


async def test_a_reader_hears_what_is_there_and_then_what_comes() -> None:
    def reader() -> User:
        served(model="first")
        user = User.objects.create_user("reader")
        user.groups.add(Group.objects.get(name=READER))
        return user

    socket = listener(await in_database(reader))
    await socket.connect()
    assert [row["model"] for row in (await socket.receive_json_from(5))["rows"]] == ["first"]
    await in_database(lambda: served(model="second"))
    assert [row["model"] for row in (await socket.receive_json_from(5))["rows"]] == ["second"]
    await socket.disconnect()


@pytest.mark.parametrize("known", [True, False])
async def test_others_hear_nothing(known: bool) -> None:
    user = await in_database(lambda: User.objects.create_user("x")) if known else AnonymousUser()
    socket = listener(user)
    await socket.connect()
    assert await socket.receive_output(5) == {"type": "websocket.close", "code": NOT_ALLOWED}


async def test_a_page_of_another_origin_is_refused() -> None:
    headers = [(b"origin", b"https://elsewhere.example")]
    socket = WebsocketCommunicator(live_journal, "/ws/journal/", headers=headers)
    connected, _ = await socket.connect()
    assert not connected


def test_a_row_says_what_kept_the_nearest_step_from_answering() -> None:
    mismatch = {"field": "match.model", "expected": 'equals "a"', "actual": '"b"'}
    near = [{"scenario": "s", "step": "1", "mismatches": [mismatch]}]
    assert row_json(unmatched(near_misses=near))["near"] == (
        's, step 1: match.model wanted equals "a", got "b"'
    )
    assert row_json(unmatched(near_misses=[{"scenario": "s"}]))["near"] == ""
