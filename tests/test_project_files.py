"""Which files the rules of the house are held against."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.support.project_files import committed, source_files, walked

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
    """A project as an archive leaves it, and what working in it has added."""
    for name in FILES:
        file = tmp_path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("")
    (tmp_path / ".gitignore").write_text(RULES)
    (tmp_path / "app/inner/.gitignore").write_text("secret.*\n!again.sqlite3\n")
    return tmp_path


def test_without_git_they_are_all_but_the_ignored_ones(
    tree: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "")
    wanted = sorted(name for name, ours in FILES.items() if ours)
    assert source_files(tree) == wanted
    (tree / ".git").write_text("gitdir: gone\n")
    assert source_files(tree) == wanted


def test_an_archive_inside_another_checkout_is_not_asked_of_git(
    tree: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def asked(*_: object, **__: object) -> None:
        raise AssertionError("git was asked about somebody else's checkout")

    monkeypatch.setattr(subprocess, "run", asked)
    assert "manage.py" in source_files(tree)


def test_a_checkout_that_git_refuses_is_walked(tree: Path) -> None:
    (tree / ".git").write_text("gitdir: gone\n")
    assert source_files(tree) == sorted(name for name, ours in FILES.items() if ours)


@pytest.fixture
def git(monkeypatch: pytest.MonkeyPatch) -> None:
    """Git as it comes: no hook that runs this, no settings of this machine's."""
    if shutil.which("git") is None:
        pytest.skip("there is no git")
    for name in [name for name in os.environ if name.startswith("GIT_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", os.devnull)


@pytest.mark.usefixtures("git")
def test_a_walk_finds_what_git_lists(tree: Path) -> None:
    subprocess.run(["git", "init", "--quiet"], cwd=tree, check=True)
    assert committed(tree) == walked(tree)


@pytest.mark.usefixtures("git")
def test_a_walk_finds_everything_that_this_checkout_holds() -> None:
    listed = committed(ROOT) if (ROOT / ".git").exists() else None
    if listed is None:
        pytest.skip("this is no checkout")
    assert listed - walked(ROOT) == set()
