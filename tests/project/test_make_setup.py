"""`make setup` with a fake Python: environments after failed and interrupted installations."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
# A Python that copies itself as an environment, and installs by running `install` beside it.
PYTHON = """#!/bin/sh
case "$*" in
    "-m venv .venv") mkdir -p .venv/bin && cp "$0" .venv/bin/python ;;
    *" install "*) . ./install ;;
esac
"""
WORKS = "touch .venv/installed"
FAILS = "touch .venv/half; exit 1"
IS_CUT_SHORT = "touch .venv/half; kill -9 $PPID; sleep 1"


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    for name in ("Makefile", "pyproject.toml", "constraints.txt"):
        shutil.copy(ROOT / name, tmp_path)
    python = tmp_path / "python"
    python.write_text(PYTHON)
    python.chmod(0o755)
    return tmp_path


def run_setup(checkout: Path, install: str) -> int:
    """Return the exit code of `make setup` if installing runs this shell code."""
    (checkout / "install").write_text(install)
    variables = {name: value for name, value in os.environ.items() if not name.startswith("MAKE")}
    command = ["make", "setup", "PYTHON=./python"]
    return subprocess.run(
        command, cwd=checkout, env=variables, capture_output=True, timeout=30, check=False
    ).returncode


def list_environment(checkout: Path) -> set[str]:
    return {path.name for path in (checkout / ".venv").iterdir()} - {"bin"}


def test_setup_does_not_install_again(checkout: Path) -> None:
    assert run_setup(checkout, WORKS) == 0
    assert list_environment(checkout) == {"installed", ".installed", ".runtime"}
    assert run_setup(checkout, FAILS) == 0


def test_an_environment_whose_installation_was_cut_short_is_made_anew(checkout: Path) -> None:
    assert run_setup(checkout, IS_CUT_SHORT) != 0
    assert "half" in list_environment(checkout)
    assert run_setup(checkout, WORKS) == 0
    assert list_environment(checkout) == {"installed", ".installed", ".runtime"}


def test_failed_installation_keeps_the_previous_environment(checkout: Path) -> None:
    assert run_setup(checkout, WORKS) == 0
    later = (checkout / ".venv/.installed").stat().st_mtime + 1
    os.utime(checkout / "pyproject.toml", (later, later))
    for _ in range(2):
        assert run_setup(checkout, FAILS) != 0
        assert "installed" in list_environment(checkout)
    assert run_setup(checkout, WORKS) == 0
