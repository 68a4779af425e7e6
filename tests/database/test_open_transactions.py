"""A transaction that was left open is rolled back before the next work of its thread."""

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


def open_transaction() -> None:
    transaction.atomic().__enter__()
    User.objects.create(username="left open")


def write_and_check() -> bool:
    """Write a row, and return whether the open transaction was rolled back."""
    with transaction.atomic():
        User.objects.create(username="next")
    return not connection.in_atomic_block and not User.objects.filter(username="left open").exists()


def open_without_autocommit() -> None:
    transaction.set_autocommit(False)
    User.objects.create(username="left open")


@pytest.mark.parametrize("open_transaction_by", [open_transaction, open_without_autocommit])
async def test_work_of_a_run_rolls_back_an_open_transaction(
    caplog: pytest.LogCaptureFixture, open_transaction_by: Callable[[], None]
) -> None:
    await in_database(open_transaction_by)
    assert await in_database(write_and_check)
    # Other connections can see and write it.
    assert await sync_to_async(User.objects.filter(username="next").exists)()
    await sync_to_async(User.objects.create)(username="other")
    assert "a transaction was left open" in caplog.text


def test_request_rolls_back_an_open_transaction(caplog: pytest.LogCaptureFixture) -> None:
    thread = DatabaseThread()
    thread.submit(open_transaction).result()
    thread.submit(request_started.send, sender=None).result()
    assert thread.submit(write_and_check).result()
    User.objects.create(username="other")
    assert "a transaction was left open" in caplog.text


def test_open_transaction_of_another_thread_is_kept() -> None:
    """A request that begins in the thread of a test case keeps the test case's transaction."""
    with ThreadPoolExecutor(1) as pool:
        pool.submit(open_transaction).result()
        pool.submit(request_started.send, sender=None).result()
        assert pool.submit(lambda: connection.in_atomic_block).result()
        pool.submit(roll_back_open_transactions).result()
