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
from scenarios_app.journal.live import NOT_ALLOWED, LiveJournal
from scenarios_app.models import ServedRequest
from tests.admin.traffic import create_journal_row

pytestmark = pytest.mark.django_db(transaction=True)


def create_socket(user: Any) -> WebsocketCommunicator:
    socket = WebsocketCommunicator(LiveJournal.as_asgi(), "/ws/journal/")
    socket.scope["user"] = user
    return socket


def create_superuser() -> User:
    return User.objects.create_superuser("root")


async def receive_last(socket: WebsocketCommunicator) -> int | None:
    """Return the id in the next message."""
    message = await socket.receive_json_from(5)
    assert message.keys() == {"last"}
    last: int | None = message["last"]
    return last


async def test_reader_receives_the_newest_id_and_each_change_of_it() -> None:
    def reader() -> User:
        user = User.objects.create_user("reader")
        user.groups.add(Group.objects.get(name=READER))
        return user

    socket = create_socket(await in_database(reader))
    await socket.connect()
    assert await receive_last(socket) is None
    first = await in_database(create_journal_row)
    assert await receive_last(socket) == first.pk
    second = await in_database(create_journal_row)
    assert await receive_last(socket) == second.pk
    await in_database(ServedRequest.objects.all().delete)
    assert await receive_last(socket) is None
    assert await socket.receive_nothing(timeout=0.3, interval=0.05)
    await socket.disconnect()


async def test_several_listeners_share_one_journal_query(monkeypatch: pytest.MonkeyPatch) -> None:
    reads = 0
    original_read = module._read_last

    async def count_read() -> int | None:
        nonlocal reads
        reads += 1
        return await original_read()

    user = await in_database(create_superuser)
    sockets = [create_socket(user) for _ in range(20)]
    for socket in sockets:
        await socket.connect()
        assert await receive_last(socket) is None
    monkeypatch.setattr(module, "_read_last", count_read)
    row = await in_database(create_journal_row)
    assert [await receive_last(socket) for socket in sockets] == [row.pk] * 20
    assert 0 < reads < 20
    for socket in sockets:
        await socket.disconnect()
    assert module.feed()._looking is None


async def test_late_listeners_receive_the_newest_id_once() -> None:
    user = await in_database(create_superuser)
    sockets = [create_socket(user) for _ in range(3)]
    for socket in sockets:
        row = await in_database(create_journal_row)
        await socket.connect()
        assert await receive_last(socket) == row.pk
    for socket in sockets:
        # Rows that come soon after one another may be told together.
        while socket is not sockets[-1] and await receive_last(socket) != row.pk:
            pass
        assert await socket.receive_nothing(timeout=0.3, interval=0.05)
        await socket.disconnect()


async def test_listener_receives_rows_after_the_database_connection_was_closed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    socket = create_socket(await in_database(create_superuser))
    await socket.connect()
    assert await receive_last(socket) is None

    async def fail() -> None:
        monkeypatch.undo()
        raise InterfaceError("connection already closed")

    monkeypatch.setattr(module, "_read_last", fail)
    await asyncio.sleep(2 * module.LOOK_SECONDS)
    row = await in_database(create_journal_row)
    assert await receive_last(socket) == row.pk
    await socket.disconnect()


async def test_slow_listener_is_closed_and_others_continue(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module, "SEND_SECONDS", 0.0)
    feed = module.Feed()

    class Page:
        closed, last = False, 6

        def __init__(self, *, blocked: bool) -> None:
            self.blocked = blocked
            self.messages: list[object] = []

        async def send_json(self, content: object) -> None:
            if self.blocked:
                await asyncio.Event().wait()
            self.messages.append(content)

        async def close(self) -> None:
            self.closed = True

    blocked, responsive = Page(blocked=True), Page(blocked=False)
    pages: Any = {blocked, responsive}
    feed._pages = pages
    for page in list(pages):
        await feed._tell(page, 7)
    assert (blocked.closed, feed._pages) == (True, {responsive})
    assert responsive.messages == [{"last": 7}]


@pytest.mark.parametrize("has_account", [True, False])
async def test_users_without_permission_receive_no_rows(has_account: bool) -> None:
    user = (
        await in_database(lambda: User.objects.create_user("x")) if has_account else AnonymousUser()
    )
    socket = create_socket(user)
    await socket.connect()
    assert await socket.receive_output(5) == {"type": "websocket.close", "code": NOT_ALLOWED}


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
