"""The in-memory database of test mode: one for all threads, with the settings that make it safe."""

from pathlib import Path
from threading import Thread

import pytest
from django.contrib.auth.models import User
from django.db import connection

from mockllm_site.serve import database
from tests.project import processes

LOADED = """
from mockllm_site.kit import env; env.configure()
import django; django.setup()
from django.core.management import call_command
from django.db import connection
from scenarios_app.models import Scenario
call_command("migrate", verbosity=0)
before = len(connection.introspection.table_names())
call_command("loaddata", "demo", verbosity=0)
print(len(connection.introspection.table_names()) == before > 20, Scenario.objects.exists())
connection.close()
print(Scenario.objects.exists())
"""


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


def test_a_process_of_ones_own_keeps_what_it_loads(tmp_path: Path) -> None:
    variables = {"MOCKLLM_ENV": "test"}
    done = processes.python("-P", "-c", LOADED, cwd=tmp_path, variables=variables)
    assert (done.stdout, done.stderr) == ("True True\nTrue\n", "")


@pytest.mark.django_db
def test_the_database_of_a_test_run_is_left_to_its_runner() -> None:
    database.keep(connection=connection)
    assert str(connection.settings_dict["NAME"]) not in database._keepers
