"""Prints the part of CHANGELOG.md about one version: python -m tools.release_notes 1.2.3"""

import re
import sys
from collections.abc import Sequence
from pathlib import Path

CHANGELOG = Path(__file__).resolve().parents[1] / "CHANGELOG.md"


class NoNotes(Exception):
    """The changelog says nothing about the version; the message says so in one line."""


def release_notes(changelog: str, version: str) -> str:
    """Return the text below the heading of a version. Raises NoNotes."""
    parts = re.split(r"^## \[(.+?)\].*\n", changelog, flags=re.MULTILINE)
    sections = dict(zip(parts[1::2], parts[2::2], strict=True))
    if version not in sections:
        raise NoNotes(f"no heading '## [{version}] - DATE'")
    text = re.sub(r"^### .+\n*(?=### |\Z)", "", sections[version].strip("\n"), flags=re.MULTILINE)
    if not text.strip():
        raise NoNotes(f"nothing below the heading of {version}")
    return f"{text.strip()}\n"


def main(arguments: Sequence[str]) -> None:
    match arguments:
        case [version]:
            try:
                print(release_notes(CHANGELOG.read_text(encoding="utf-8"), version), end="")
            except NoNotes as error:
                sys.exit(f"{CHANGELOG.name}: {error}")
        case _:
            sys.exit("usage: python -m tools.release_notes VERSION")


if __name__ == "__main__":
    main(sys.argv[1:])
