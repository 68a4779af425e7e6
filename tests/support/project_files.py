"""Lists the files of the project, with git or, in an archive, without it."""

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import TypeAlias

from pathspec import GitIgnoreSpec

# The .gitignore rules of a folder and of its parents, nearest first.
Rules: TypeAlias = tuple[tuple[str, GitIgnoreSpec], ...]
LISTING = ("ls-files", "-z", "--cached", "--others", "--exclude-standard")


def source_files(root: Path) -> list[str]:
    """Return the paths of committed or committable files below `root`, sorted, with slashes."""
    files = list_git_files(root) if (root / ".git").exists() else None
    return sorted(walk_files(root) if files is None else files)


def list_git_files(root: Path) -> set[str] | None:
    """Return the files that git lists; None if git is missing or cannot read the checkout."""
    try:
        process = subprocess.run(["git", *LISTING], cwd=root, capture_output=True, check=False)
    except FileNotFoundError:
        return None
    if process.returncode:
        return None
    names = {os.fsdecode(name) for name in process.stdout.split(b"\0") if name}
    return {name for name in names if (root / name).is_file()}


def walk_files(root: Path) -> set[str]:
    """Return every file that no `.gitignore` at or below `root` excludes."""
    return set(_walk_folder(root, "", ()))


def _walk_folder(root: Path, folder: str, outer: Rules) -> Iterator[str]:
    gitignore = root / folder / ".gitignore"
    rules = (
        ((folder, GitIgnoreSpec.from_lines(gitignore.read_text().splitlines())), *outer)
        if gitignore.is_file()
        else outer
    )
    for entry in (root / folder).iterdir():
        is_folder = entry.is_dir() and not entry.is_symlink()
        name = f"{folder}{entry.name}/" if is_folder else f"{folder}{entry.name}"
        if entry.name == ".git" or is_ignored(name, rules):
            continue
        if is_folder:
            yield from _walk_folder(root, name, rules)
        elif entry.is_file():
            yield name


def is_ignored(name: str, rules: Rules) -> bool:
    """True if the nearest rule that matches the path excludes it."""
    verdicts = (spec.check_file(name.removeprefix(folder)).include for folder, spec in rules)
    return next((verdict for verdict in verdicts if verdict is not None), False)
