"""The in-memory database of test mode: one for all threads, with the settings that make it safe."""

from threading import Thread

import pytest
from django.contrib.auth.models import User
from django.db import connection


@pytest.mark.django_db(transaction=True)
def test_threads_share_the_in_memory_database() -> None:
    User.objects.create(username="seen")
    found: list[str] = []

    def look() -> None:
        found.extend(User.objects.values_list("username", flat=True))
        connection.close()

    thread = Thread(target=look)
    thread.start()
    thread.join()
    assert found == ["seen"]


def test_transactions_take_the_write_lock_at_once() -> None:
    assert connection.settings_dict["OPTIONS"]["transaction_mode"] == "IMMEDIATE"
