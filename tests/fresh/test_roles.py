"""Every command that creates tables creates the roles too; each runs in a new process."""

import os
import subprocess
import sys
import threading
from pathlib import Path
from uuid import uuid4

import psycopg
import pytest

from tests.fresh.processes import SECONDS, dev_environment, mockllm, rows, run_script
from tests.support.database_engine import POSTGRES

ROLES = ["QA author", "QA editor", "QA read-only"]
GROUPS = "SELECT name FROM auth_group ORDER BY name"
PERMISSIONS = """
SELECT codename FROM auth_group
JOIN auth_group_permissions ON group_id = auth_group.id
JOIN auth_permission ON permission_id = auth_permission.id
WHERE auth_group.name = '{}' ORDER BY codename
"""


def groups(database: Path) -> list[str]:
    return [name for (name,) in rows(database, GROUPS)]


def permissions(database: Path, group: str) -> set[str]:
    return {name for (name,) in rows(database, PERMISSIONS.format(group))}


def migrate(database: Path) -> None:
    process = mockllm("migrate", "-v", "0", cwd=database.parent, **dev_environment(database))
    assert process.returncode == 0, process.stderr


@pytest.fixture(scope="module")
def migrated(tmp_path_factory: pytest.TempPathFactory) -> Path:
    database = tmp_path_factory.mktemp("migrated") / "mockllm.sqlite3"
    migrate(database)
    return database


def test_migrate_creates_the_roles(migrated: Path) -> None:
    assert groups(migrated) == ROLES


def test_only_the_editor_may_publish_and_change_published_scenarios(migrated: Path) -> None:
    author, editor = (permissions(migrated, role) for role in ("QA author", "QA editor"))
    drafts = {"add_draft", "change_draft", "delete_draft", "view_draft"}
    assert drafts < author < editor
    published = {"publish_draft", "add_scenario", "change_scenario", "delete_scenario"}
    assert published < editor
    assert author & published == set()
    assert permissions(migrated, "QA read-only") == author - (drafts - {"view_draft"})


def test_the_next_migrate_restores_deleted_roles_and_keeps_changed_ones(migrated: Path) -> None:
    rows(migrated, "DELETE FROM auth_group_permissions")
    rows(migrated, "DELETE FROM auth_group WHERE name <> 'QA editor'")
    migrate(migrated)
    assert groups(migrated) == ROLES
    assert permissions(migrated, "QA editor") == set()
    assert "change_draft" in permissions(migrated, "QA author")


@pytest.mark.parametrize("options", [(), ("--fixture", "demo"), ("--no-demo",)])
def test_serve_creates_the_roles(tmp_path: Path, options: tuple[str, ...]) -> None:
    database = tmp_path / "mockllm.sqlite3"
    server = subprocess.Popen(
        [sys.executable, "-P", "-m", "mockllm_site", "serve", "--port", "0", *options],
        cwd=tmp_path,
        env={"PATH": os.environ["PATH"], **dev_environment(database)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    timer = threading.Timer(SECONDS, server.kill)
    timer.start()
    try:
        assert server.stdout is not None
        assert server.stdout.readline()
    finally:
        timer.cancel()
        server.terminate()
        server.communicate()
    assert groups(database) == ROLES


def test_test_mode_has_the_roles(tmp_path: Path) -> None:
    script = """
from django.core.management import call_command
call_command("migrate", verbosity=0)
from django.contrib.auth.models import Group
print(json.dumps(sorted(Group.objects.values_list("name", flat=True))))
"""
    assert run_script(script, cwd=tmp_path, MOCKLLM_ENV="test") == ROLES


def test_migrate_creates_the_roles_on_postgresql(tmp_path: Path) -> None:
    name = f"roles_{uuid4().hex[:12]}"
    with psycopg.connect(POSTGRES, autocommit=True) as server:
        server.execute(f"CREATE DATABASE {name}")
        try:
            url = f"{POSTGRES.rpartition('/')[0]}/{name}"
            environment = {"MOCKLLM_ENV": "dev", "DATABASE_URL": url}
            process = mockllm("migrate", "-v", "0", cwd=tmp_path, **environment)
            assert process.returncode == 0, process.stderr
            with psycopg.connect(url) as connection:
                assert [name for (name,) in connection.execute(GROUPS)] == ROLES
        finally:
            server.execute(f"DROP DATABASE {name} WITH (FORCE)")
