"""Who may listen to the journal over a WebSocket."""

import asyncio
from typing import Any

import pytest
from channels.testing import WebsocketCommunicator
from django.contrib.auth.models import AnonymousUser, Group, User
from django.db import InterfaceError

from mockllm_site.kit.database_thread import in_database
from mockllm_site.roles import READER
from mockllm_site.serve.sockets import live_journal
from scenarios_app.journal import live as module
from scenarios_app.journal.live import NOT_ALLOWED, LiveJournal, row_json
from scenarios_app.models import ServedRequest
from tests.admin.traffic import served, unmatched

pytestmark = pytest.mark.django_db(transaction=True)


def listener(user: Any) -> WebsocketCommunicator:
    socket = WebsocketCommunicator(LiveJournal.as_asgi(), "/ws/journal/")
    socket.scope["user"] = user
    return socket


async def test_reader_receives_existing_rows_then_new_ones() -> None:
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


def somebody() -> User:
    return User.objects.create_superuser("root")


async def heard(socket: WebsocketCommunicator, count: int) -> list[str]:
    """The models of so many rows, as they come."""
    models: list[str] = []
    while len(models) < count:
        models += [row["model"] for row in (await socket.receive_json_from(5))["rows"]]
    return models


async def test_several_listeners_share_one_journal_query(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    looks: list[int | None] = []
    read = module._read

    async def counted(after: int | None) -> Any:
        looks.append(after)
        return await read(after)

    monkeypatch.setattr(module, "_read", counted)
    user = await in_database(somebody)
    sockets = [listener(user) for _ in range(20)]
    for socket in sockets:
        await socket.connect()
        assert await heard(socket, 0) == []
        assert (await socket.receive_json_from(5)) == {"rows": []}
    looks.clear()
    row = await in_database(lambda: served(model="one"))
    assert [await heard(socket, 1) for socket in sockets] == [["one"]] * 20
    # One query for all pages, not one for each.
    assert looks.count(None) == 0
    assert len([after for after in looks if after is not None and after < row.pk]) < 20
    for socket in sockets:
        await socket.disconnect()
    assert module.feed()._looking is None


async def test_each_row_is_received_once_by_late_listeners() -> None:
    user = await in_database(somebody)
    first = listener(user)
    await first.connect()
    assert await first.receive_json_from(5) == {"rows": []}
    joined = []
    for number in range(10):
        await in_database(lambda number=number: served(model=f"m{number}"))  # type: ignore[misc]
        socket = listener(user)
        await socket.connect()
        joined.append(socket)
    expected = [f"m{number}" for number in range(10)]
    assert await heard(first, 10) == expected
    for socket in joined:
        assert await heard(socket, 10) == expected
        assert await socket.receive_nothing(timeout=0.3, interval=0.05)
    for socket in (first, *joined):
        await socket.disconnect()


async def test_listener_joins_after_the_rows_that_others_received_are_deleted() -> None:
    user = await in_database(somebody)
    first, second = listener(user), listener(user)
    await first.connect()
    await in_database(lambda: served(model="one"))
    assert await heard(first, 1) == ["one"]
    await in_database(ServedRequest.objects.all().delete)
    await second.connect()
    assert await second.receive_json_from(5) == {"rows": []}
    assert await second.receive_nothing(timeout=0.3, interval=0.05)
    assert len(module.feed()._pages) == 2
    for socket in (first, second):
        await socket.disconnect()


async def test_listener_receives_rows_after_the_database_connection_was_closed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    socket = listener(await in_database(somebody))
    await socket.connect()
    assert await socket.receive_json_from(5) == {"rows": []}

    async def fail(after: int | None) -> None:
        monkeypatch.undo()
        raise InterfaceError("connection already closed")

    monkeypatch.setattr(module, "_read", fail)
    await asyncio.sleep(2 * module.LOOK_SECONDS)
    await in_database(lambda: served(model="one"))
    assert await heard(socket, 1) == ["one"]
    await socket.disconnect()


async def test_slow_listener_is_closed_and_others_continue(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module, "SEND_SECONDS", 0.0)
    feed = module.Feed()

    class Page:
        last, shown, closed = 0, 0, False

        def __init__(self, *, dead: bool) -> None:
            self.dead = dead

        async def show(self, rows: object, text: str) -> None:
            if self.dead:
                await asyncio.Event().wait()
            self.shown += 1

        async def close(self) -> None:
            self.closed = True

    dead, alive = Page(dead=True), Page(dead=False)
    pages: Any = {dead, alive}
    feed._pages = pages
    for page in list(pages):
        await feed._show_to_page(page, [], "")
    assert (dead.closed, alive.shown, feed._pages) == (True, 1, {alive})


@pytest.mark.parametrize("known", [True, False])
async def test_users_without_permission_receive_no_rows(known: bool) -> None:
    user = await in_database(lambda: User.objects.create_user("x")) if known else AnonymousUser()
    socket = listener(user)
    await socket.connect()
    assert await socket.receive_output(5) == {"type": "websocket.close", "code": NOT_ALLOWED}


def test_row_names_the_failed_conditions_of_the_nearest_step() -> None:
    mismatch = {"field": "match.model", "expected": 'equals "a"', "actual": '"b"'}
    near = [{"scenario": "s", "step": "1", "mismatches": [mismatch]}]
    assert row_json(unmatched(near_misses=near))["near"] == (
        's, step 1: match.model wanted equals "a", got "b"'
    )
    assert row_json(unmatched(near_misses=[{"scenario": "s"}]))["near"] == ""


@pytest.mark.parametrize("origin", [None, "http://localhost:3000", "http://evil.example", "null"])
async def test_a_page_of_another_origin_is_refused(origin: str | None) -> None:
    headers = [(b"host", b"localhost:8000")]
    if origin is not None:
        headers.append((b"origin", origin.encode()))
    connected, _ = await WebsocketCommunicator(live_journal, "/ws/journal/", headers).connect()
    assert not connected


async def test_page_of_this_server_may_connect() -> None:
    headers = [(b"host", b"localhost:8000"), (b"origin", b"http://localhost:8000")]
    socket = WebsocketCommunicator(live_journal, "/ws/journal/", headers)
    connected, _ = await socket.connect()
    assert connected
    await socket.disconnect()
