"""A Django project of one's own reaches providers, chat and control API in its tests."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.fresh.django_project import write_project


@pytest.mark.timeout(600)
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
    write_project(tmp_path)
    process = subprocess.run(
        [sys.executable, *command],
        cwd=tmp_path,
        env={"PATH": os.environ["PATH"]},
        capture_output=True,
        text=True,
        timeout=500,
        check=False,
    )
    output = process.stdout + process.stderr
    assert process.returncode == 0, output
    assert result in output
