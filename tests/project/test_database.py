"""The in-memory database of test mode: one for all threads, with the settings that make it safe,
and the tables that migrations make."""

import json
from importlib.util import find_spec
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
from django.apps import apps
from django.contrib.auth.models import User
from django.db import connection

from mockllm_site import settings_test
from mockllm_site.serve import database
from tests.project import processes
from tests.support import fork_server

LOADED = """
from mockllm_site.kit import env; env.configure()
import django; django.setup()
from django.core.management import call_command
from django.db import connection
from scenarios_app.models import Scenario
from mockllm_site.serve import database
database.prepare()
before = len(connection.introspection.table_names())
call_command("loaddata", "demo", verbosity=0)
print(len(connection.introspection.table_names()) == before > 20, Scenario.objects.exists())
connection.close()
print(Scenario.objects.exists())
"""
TABLES = """
import json
from mockllm_site.kit import env; env.configure()
import django; django.setup()
from django.db import connection
from mockllm_site.serve import database
database.prepare()
look, found = connection.introspection, {}
with connection.cursor() as cursor:
    for table in look.table_names():
        cursor.execute(f'PRAGMA table_info("{table}")')
        # Migrations add columns behind the others, and the constraints that have no name.
        columns = sorted(column[1:] for column in cursor.fetchall())
        constraints = look.get_constraints(cursor, table).items()
        named = [("" if name.startswith(("__", "fk_")) else name, of) for name, of in constraints]
        found[table] = [columns, sorted(json.dumps(one) for one in named)]
print(json.dumps(found))
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
    database.keep_in_memory_database(connection=connection)
    assert str(connection.settings_dict["NAME"]) not in database._keepers


def tables(folder: Path, **variables: str) -> dict[str, Any]:
    """The columns and constraints of each table that a process makes."""
    done = processes.run(fork_server.python(), "-P", "-c", TABLES, cwd=folder, variables=variables)
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def test_its_tables_are_those_that_migrations_make(tmp_path: Path) -> None:
    made = tables(tmp_path, MOCKLLM_ENV="test")
    migrated = tables(tmp_path, MOCKLLM_ENV="dev")
    assert migrated.pop("django_migrations")
    assert made == migrated


def test_migrate_makes_them_too(tmp_path: Path) -> None:
    done = processes.run(
        fork_server.python(),
        "-P",
        "-m",
        "mockllm_site",
        "migrate",
        cwd=tmp_path,
        variables={"MOCKLLM_ENV": "test"},
    )
    assert "Creating table scenarios_app_scenario\n" in done.stdout


def test_no_app_is_migrated() -> None:
    migrated = {
        app.label
        for app in apps.get_app_configs()
        if find_spec(f"{app.module.__name__}.migrations")
    }
    assert migrated == set(settings_test.MIGRATION_MODULES)
