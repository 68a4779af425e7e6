"""Listing the project's files with and without git."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.support.project_files import list_git_files, source_files, walk_files

ROOT = Path(__file__).resolve().parents[1]
RULES = ".venv/\n__pycache__/\n*.sqlite3\n/build\nlogs/*\n!logs/kept.txt\n"
FILES = {
    ".gitignore": True,
    ".env.example": True,
    "manage.py": True,
    "data.sqlite3": False,
    "build/out.py": False,
    "app/build/in.py": True,
    "app/__pycache__/x.pyc": False,
    "app/new.py": True,
    "app/größe.txt": True,
    ".venv/lib/x.py": False,
    "logs/day.txt": False,
    "logs/kept.txt": True,
    "app/inner/.gitignore": True,
    "app/inner/secret.txt": False,
    "app/inner/again.sqlite3": True,
}


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """Create a project's files as unpacked from an archive, with ignored files."""
    for name in FILES:
        file = tmp_path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("")
    (tmp_path / ".gitignore").write_text(RULES)
    (tmp_path / "app/inner/.gitignore").write_text("secret.*\n!again.sqlite3\n")
    return tmp_path


def test_without_git_all_files_except_ignored_ones_are_listed(
    tree: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "")
    expected = sorted(name for name, is_included in FILES.items() if is_included)
    assert source_files(tree) == expected
    (tree / ".git").write_text("gitdir: gone\n")
    assert source_files(tree) == expected


def test_archive_inside_another_checkout_does_not_run_git(
    tree: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail_on_git(*_: object, **__: object) -> None:
        raise AssertionError("git was asked about somebody else's checkout")

    monkeypatch.setattr(subprocess, "run", fail_on_git)
    assert "manage.py" in source_files(tree)


def test_checkout_that_git_cannot_read_is_walked(tree: Path) -> None:
    (tree / ".git").write_text("gitdir: gone\n")
    assert source_files(tree) == sorted(name for name, is_included in FILES.items() if is_included)


@pytest.fixture
def git(monkeypatch: pytest.MonkeyPatch) -> None:
    """Remove git's environment variables and global settings; skip if git is missing."""
    if shutil.which("git") is None:
        pytest.skip("there is no git")
    for name in [name for name in os.environ if name.startswith("GIT_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", os.devnull)


@pytest.mark.usefixtures("git")
def test_a_walk_finds_what_git_lists(tree: Path) -> None:
    subprocess.run(["git", "init", "--quiet"], cwd=tree, check=True)
    assert list_git_files(tree) == walk_files(tree)


@pytest.mark.usefixtures("git")
def test_a_walk_finds_everything_that_this_checkout_holds() -> None:
    git_files = list_git_files(ROOT) if (ROOT / ".git").exists() else None
    if git_files is None:
        pytest.skip("this is no checkout")
    assert git_files - walk_files(ROOT) == set()
