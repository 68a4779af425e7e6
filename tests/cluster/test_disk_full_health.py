"""`/healthz` on a full disk, where small writes may still succeed."""

import os
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from django.test import Client

from mockllm_site.pages import health
from mockllm_site.pages.health import MIN_FREE_BYTES
from scenarios_app.journal import journal

SQLITE, POSTGRES = "django.db.backends.sqlite3", "django.db.backends.postgresql"


def database_check() -> tuple[int, str]:
    response = Client().get("/healthz")
    return response.status_code, response.json()["checks"]["database"]


def set_free_blocks(patch: pytest.MonkeyPatch, *, others: int, root: int, user: int = 0) -> None:
    disk = SimpleNamespace(f_bavail=others, f_bfree=root, f_frsize=MIN_FREE_BYTES)
    patch.setattr(os, "statvfs", lambda _: disk)
    patch.setattr(os, "geteuid", lambda: user)


@pytest.mark.parametrize(
    ("others", "root", "user", "problem"),
    [
        (0, 0, 0, "the disk is full"),
        (0, 1, 0, None),
        (0, 1, 1000, "the disk is full"),
        (1, 1, 1000, None),
    ],
)
def test_disk_of_a_sqlite_file_is_full_for_who_runs_the_server(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    *,
    others: int,
    root: int,
    user: int,
    problem: str | None,
) -> None:
    file = tmp_path / "db.sqlite3"
    file.touch()
    set_free_blocks(monkeypatch, others=others, root=root, user=user)
    assert health._disk_problem({"ENGINE": SQLITE, "NAME": file}) == problem


@pytest.mark.parametrize(
    "database",
    [
        {"ENGINE": SQLITE, "NAME": "file:/mockllm?vfs=memdb"},
        {"ENGINE": POSTGRES, "NAME": "mockllm"},
    ],
)
def test_disk_of_another_database_is_not_known(
    monkeypatch: pytest.MonkeyPatch, database: dict[str, Any]
) -> None:
    set_free_blocks(monkeypatch, others=0, root=0)
    assert health._disk_problem(database) is None


@pytest.mark.django_db(transaction=True)
def test_full_disk_and_a_failing_journal_are_problems_of_the_database(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert database_check() == (200, "ok")
    with monkeypatch.context() as patch:
        patch.setattr(health, "_disk_problem", lambda _: "the disk is full")
        assert database_check() == (503, "the disk is full")
    monkeypatch.setattr(journal, "problem", "OperationalError")
    assert database_check() == (503, "OperationalError")
