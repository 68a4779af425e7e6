"""A Django project of one's own reaches providers, chat and control API in its tests."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.fresh.django_project import write_project
from tests.state.other_process import postgres_database

pytestmark = pytest.mark.timeout(600)


@pytest.mark.parametrize(
    ("command", "result"),
    [
        (("manage.py", "test", "shop.tests"), "Ran 14 tests"),
        (("-m", "pytest", "-q", "shop/test_shop.py"), "2 passed"),
    ],
    ids=["manage.py test", "pytest-django"],
)
def test_django_project_passes_its_own_tests(
    tmp_path: Path, command: tuple[str, ...], result: str
) -> None:
    assert result in run_in_project(tmp_path, *command)


def test_test_database_on_postgresql_is_deleted_at_the_end(tmp_path: Path) -> None:
    tests = ("test", "shop.tests.CommittedRows", "--settings", "shop.postgres_settings")
    with postgres_database(empty=True) as url:
        assert "Ran 3 tests" in run_in_project(tmp_path, "manage.py", *tests, SHOP_DATABASE=url)


def run_in_project(folder: Path, *command: str, **variables: str) -> str:
    """Run a Python command in the project in a fresh process; return its output."""
    write_project(folder)
    process = subprocess.run(
        [sys.executable, *command],
        cwd=folder,
        env={"PATH": os.environ["PATH"], **variables},
        capture_output=True,
        text=True,
        timeout=500,
        check=False,
    )
    output = process.stdout + process.stderr
    assert process.returncode == 0, output
    return output
