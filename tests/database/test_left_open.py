"""A transaction that nobody ended keeps nobody from writing: it is undone before the next work."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest
from asgiref.sync import sync_to_async
from django.contrib.auth.models import User
from django.core.signals import request_started
from django.db import connection, transaction

from mockllm_site.kit.database_thread import in_database, roll_back_open_transactions
from mockllm_site.serve.database_threads import DatabaseThread

pytestmark = pytest.mark.django_db(transaction=True)


def begin() -> None:
    transaction.atomic().__enter__()
    User.objects.create(username="left open")


def write() -> bool:
    """True if what was left open is gone, and can be taken the place of."""
    with transaction.atomic():
        User.objects.create(username="next")
    return not connection.in_atomic_block and not User.objects.filter(username="left open").exists()


def begin_by_hand() -> None:
    transaction.set_autocommit(False)
    User.objects.create(username="left open")


@pytest.mark.parametrize("begun", [begin, begin_by_hand])
async def test_by_work_of_a_run(
    caplog: pytest.LogCaptureFixture, begun: Callable[[], None]
) -> None:
    await in_database(begun)
    assert await in_database(write)
    # Other connections can see and write it.
    assert await sync_to_async(User.objects.filter(username="next").exists)()
    await sync_to_async(User.objects.create)(username="other")
    assert "a transaction was left open" in caplog.text


def test_by_a_request(caplog: pytest.LogCaptureFixture) -> None:
    thread = DatabaseThread()
    thread.submit(begin).result()
    thread.submit(request_started.send, sender=None).result()
    assert thread.submit(write).result()
    User.objects.create(username="other")
    assert "a transaction was left open" in caplog.text


def test_others_threads_keep_theirs() -> None:
    """A test case's transaction, say, stays what it is when a request begins in its thread."""
    with ThreadPoolExecutor(1) as pool:
        pool.submit(begin).result()
        pool.submit(request_started.send, sender=None).result()
        assert pool.submit(lambda: connection.in_atomic_block).result()
        pool.submit(roll_back_open_transactions).result()
