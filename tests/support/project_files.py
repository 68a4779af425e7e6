"""The files that belong to the project, in a checkout and in an archive without git alike."""

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import TypeAlias

from pathspec import GitIgnoreSpec

# The rules of a folder and of those above it, the nearest first.
Rules: TypeAlias = tuple[tuple[str, GitIgnoreSpec], ...]
LISTING = ("ls-files", "-z", "--cached", "--others", "--exclude-standard")


def source_files(root: Path) -> list[str]:
    """Files that are committed, or would be: paths below `root` with slashes, sorted."""
    named = committed(root) if (root / ".git").exists() else None
    return sorted(walked(root) if named is None else named)


def committed(root: Path) -> set[str] | None:
    """What git says; `None` where there is no git, or it can't read this checkout."""
    try:
        listed = subprocess.run(["git", *LISTING], cwd=root, capture_output=True, check=False)
    except FileNotFoundError:
        return None
    if listed.returncode:
        return None
    names = {os.fsdecode(name) for name in listed.stdout.split(b"\0") if name}
    return {name for name in names if (root / name).is_file()}


def walked(root: Path) -> set[str]:
    """Every file that the `.gitignore` files at and below `root` do not name."""
    return set(_walked(root, "", ()))


def _walked(root: Path, folder: str, outer: Rules) -> Iterator[str]:
    own = root / folder / ".gitignore"
    rules = (
        ((folder, GitIgnoreSpec.from_lines(own.read_text().splitlines())), *outer)
        if own.is_file()
        else outer
    )
    for entry in (root / folder).iterdir():
        inside = entry.is_dir() and not entry.is_symlink()
        name = f"{folder}{entry.name}/" if inside else f"{folder}{entry.name}"
        if entry.name == ".git" or ignored(name, rules):
            continue
        if inside:
            yield from _walked(root, name, rules)
        elif entry.is_file():
            yield name


def ignored(name: str, rules: Rules) -> bool:
    """What the nearest rules that speak of it say."""
    said = (spec.check_file(name.removeprefix(folder)).include for folder, spec in rules)
    return next((verdict for verdict in said if verdict is not None), False)
