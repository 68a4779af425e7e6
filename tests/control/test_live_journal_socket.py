"""The live journal over a WebSocket: permissions, new rows, late and slow listeners."""

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
from tests.admin.traffic import create_journal_row, create_unmatched_row

pytestmark = pytest.mark.django_db(transaction=True)


def create_socket(user: Any) -> WebsocketCommunicator:
    socket = WebsocketCommunicator(LiveJournal.as_asgi(), "/ws/journal/")
    socket.scope["user"] = user
    return socket


async def test_reader_receives_existing_rows_then_new_ones() -> None:
    def reader() -> User:
        create_journal_row(model="first")
        user = User.objects.create_user("reader")
        user.groups.add(Group.objects.get(name=READER))
        return user

    socket = create_socket(await in_database(reader))
    await socket.connect()
    assert [row["model"] for row in (await socket.receive_json_from(5))["rows"]] == ["first"]
    await in_database(lambda: create_journal_row(model="second"))
    assert [row["model"] for row in (await socket.receive_json_from(5))["rows"]] == ["second"]
    await socket.disconnect()


def create_superuser() -> User:
    return User.objects.create_superuser("root")


async def receive_models(socket: WebsocketCommunicator, count: int) -> list[str]:
    """Return the models of the next `count` rows, in the order received."""
    models: list[str] = []
    while len(models) < count:
        models += [row["model"] for row in (await socket.receive_json_from(5))["rows"]]
    return models


async def test_several_listeners_share_one_journal_query(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    query_offsets: list[int | None] = []
    original_read = module._read

    async def count_read(after: int | None) -> Any:
        query_offsets.append(after)
        return await original_read(after)

    monkeypatch.setattr(module, "_read", count_read)
    user = await in_database(create_superuser)
    sockets = [create_socket(user) for _ in range(20)]
    for socket in sockets:
        await socket.connect()
        assert await receive_models(socket, 0) == []
        assert (await socket.receive_json_from(5)) == {"rows": []}
    query_offsets.clear()
    row = await in_database(lambda: create_journal_row(model="one"))
    assert [await receive_models(socket, 1) for socket in sockets] == [["one"]] * 20
    # One query for all pages, not one for each.
    assert query_offsets.count(None) == 0
    assert len([after for after in query_offsets if after is not None and after < row.pk]) < 20
    for socket in sockets:
        await socket.disconnect()
    assert module.feed()._looking is None


async def test_each_row_is_received_once_by_late_listeners() -> None:
    user = await in_database(create_superuser)
    first = create_socket(user)
    await first.connect()
    assert await first.receive_json_from(5) == {"rows": []}
    late_sockets = []
    for number in range(10):
        await in_database(lambda number=number: create_journal_row(model=f"m{number}"))
        socket = create_socket(user)
        await socket.connect()
        late_sockets.append(socket)
    expected = [f"m{number}" for number in range(10)]
    assert await receive_models(first, 10) == expected
    for socket in late_sockets:
        assert await receive_models(socket, 10) == expected
        assert await socket.receive_nothing(timeout=0.3, interval=0.05)
    for socket in (first, *late_sockets):
        await socket.disconnect()


async def test_listener_joins_after_the_rows_that_others_received_are_deleted() -> None:
    user = await in_database(create_superuser)
    first, second = create_socket(user), create_socket(user)
    await first.connect()
    await in_database(lambda: create_journal_row(model="one"))
    assert await receive_models(first, 1) == ["one"]
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
    socket = create_socket(await in_database(create_superuser))
    await socket.connect()
    assert await socket.receive_json_from(5) == {"rows": []}

    async def fail(after: int | None) -> None:
        monkeypatch.undo()
        raise InterfaceError("connection already closed")

    monkeypatch.setattr(module, "_read", fail)
    await asyncio.sleep(2 * module.LOOK_SECONDS)
    await in_database(lambda: create_journal_row(model="one"))
    assert await receive_models(socket, 1) == ["one"]
    await socket.disconnect()


async def test_slow_listener_is_closed_and_others_continue(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module, "SEND_SECONDS", 0.0)
    feed = module.Feed()

    class Page:
        last, shown_pages, closed = 0, 0, False

        def __init__(self, *, blocked: bool) -> None:
            self.blocked = blocked

        async def show(self, rows: object, text: str) -> None:
            if self.blocked:
                await asyncio.Event().wait()
            self.shown_pages += 1

        async def close(self) -> None:
            self.closed = True

    blocked, responsive = Page(blocked=True), Page(blocked=False)
    pages: Any = {blocked, responsive}
    feed._pages = pages
    for page in list(pages):
        await feed._show_to_page(page, [], "")
    assert (blocked.closed, responsive.shown_pages, feed._pages) == (True, 1, {responsive})


@pytest.mark.parametrize("has_account", [True, False])
async def test_users_without_permission_receive_no_rows(has_account: bool) -> None:
    user = (
        await in_database(lambda: User.objects.create_user("x")) if has_account else AnonymousUser()
    )
    socket = create_socket(user)
    await socket.connect()
    assert await socket.receive_output(5) == {"type": "websocket.close", "code": NOT_ALLOWED}


def test_row_names_the_failed_conditions_of_the_nearest_step() -> None:
    mismatch = {"field": "match.model", "expected": 'equals "a"', "actual": '"b"'}
    near_misses = [{"scenario": "s", "step": "1", "mismatches": [mismatch]}]
    assert row_json(create_unmatched_row(near_misses=near_misses))["near"] == (
        's, step 1: match.model wanted equals "a", got "b"'
    )
    assert row_json(create_unmatched_row(near_misses=[{"scenario": "s"}]))["near"] == ""


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
