"""The in-memory database of test mode: threads share it, and its tables equal migrated ones."""

import json
import sqlite3
from contextlib import closing
from importlib.util import find_spec
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
from django.apps import apps
from django.contrib.auth.models import User
from django.db import OperationalError, connection, connections

from mockllm_site import settings_test
from mockllm_site.kit.setting_kinds import parse_database
from mockllm_site.kit.sqlite3.base import DatabaseWrapper
from mockllm_site.serve import database
from tests.project import processes
from tests.support import fork_server

LOAD_DEMO_CODE = """
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
DESCRIBE_TABLES_CODE = """
import json
from mockllm_site.kit import env; env.configure()
import django; django.setup()
from django.db import connection
from mockllm_site.serve import database
database.prepare()
introspection, tables = connection.introspection, {}
with connection.cursor() as cursor:
    for table in introspection.table_names():
        cursor.execute(f'PRAGMA table_info("{table}")')
        # Migrations append columns and add unnamed constraints, so order and names are ignored.
        columns = sorted(column[1:] for column in cursor.fetchall())
        constraints = introspection.get_constraints(cursor, table).items()
        named = [("" if name.startswith(("__", "fk_")) else name, of) for name, of in constraints]
        tables[table] = [columns, sorted(json.dumps(constraint) for constraint in named)]
print(json.dumps(tables))
"""


@pytest.mark.django_db(transaction=True)
def test_threads_share_the_in_memory_database() -> None:
    User.objects.create(username="seen")
    usernames: list[str] = []

    def read_usernames() -> None:
        usernames.extend(User.objects.values_list("username", flat=True))
        connection.close()

    thread = Thread(target=read_usernames)
    thread.start()
    thread.join()
    assert usernames == ["seen"]


def test_transactions_take_the_write_lock_immediately() -> None:
    assert connection.settings_dict["OPTIONS"]["transaction_mode"] == "IMMEDIATE"


def test_separate_process_keeps_its_in_memory_rows(tmp_path: Path) -> None:
    variables = {"MOCKLLM_ENV": "test"}
    done = processes.python("-P", "-c", LOAD_DEMO_CODE, cwd=tmp_path, variables=variables)
    assert (done.stdout, done.stderr) == ("True True\nTrue\n", "")


@pytest.mark.django_db
def test_database_of_a_test_run_is_not_kept_open() -> None:
    database.keep_in_memory_database(connection=connection)
    assert str(connection.settings_dict["NAME"]) not in database._keepers


def describe_tables(folder: Path, **variables: str) -> dict[str, Any]:
    """Return the columns and constraints of each table that a process creates."""
    process = processes.run(
        fork_server.python(), "-P", "-c", DESCRIBE_TABLES_CODE, cwd=folder, variables=variables
    )
    schema: dict[str, Any] = json.loads(process.stdout)
    return schema


def test_in_memory_tables_equal_migrated_tables(tmp_path: Path) -> None:
    test_mode_tables = describe_tables(tmp_path, MOCKLLM_ENV="test")
    migrated_tables = describe_tables(tmp_path, MOCKLLM_ENV="dev")
    assert migrated_tables.pop("django_migrations")
    assert test_mode_tables == migrated_tables


def wrapper_of(file: Path) -> DatabaseWrapper:
    settings = connections.settings["default"] | parse_database(f"sqlite:///{file}")
    return DatabaseWrapper(settings)


def open_database(database: DatabaseWrapper) -> sqlite3.Connection:
    """Return what Django opens, without its checks of tests."""
    opened: sqlite3.Connection = database.get_new_connection(database.get_connection_params())
    return opened


def test_connection_creates_no_file(tmp_path: Path) -> None:
    file = tmp_path / "a?b.sqlite3"
    with pytest.raises(OperationalError, match="no such file, run `mockllm migrate`"):
        open_database(wrapper_of(file))
    assert not file.exists()


def test_new_database_file_is_for_its_owner_alone(tmp_path: Path) -> None:
    file = tmp_path / "a b%20.sqlite3"
    database = wrapper_of(file)
    database.create_file()
    with closing(open_database(database)) as connected:
        connected.execute("CREATE TABLE a (b)")
        assert [one.stat().st_mode & 0o777 for one in tmp_path.iterdir()] == [0o600] * 3


def test_mode_of_an_existing_database_file_stays(tmp_path: Path) -> None:
    file = tmp_path / "a.sqlite3"
    file.touch(0o640)
    wrapper_of(file).create_file()
    assert file.stat().st_mode & 0o777 == 0o640


def test_migrate_creates_the_in_memory_tables(tmp_path: Path) -> None:
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


def test_database_in_a_directory_of_others_is_a_problem_in_one_line(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setitem(connection.settings_dict, "NAME", "/srv/private/mockllm.sqlite3")
    monkeypatch.setattr(Path, "stat", refuse)
    monkeypatch.setattr("os.stat", refuse)
    error = OperationalError("unable to open database file")
    assert database._error_reason(error) == "unable to open database file"
