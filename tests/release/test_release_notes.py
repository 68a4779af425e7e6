"""Release notes are the changelog's section on a version."""

import pytest

from tools.release_notes import CHANGELOG, NoNotes, main, release_notes

TEXT = """# Changelog

## [Unreleased]

### Added

- Later.

## [1.1.0] - 2026-12-01

### Added

### Fixed

- A fault.

- [A link](docs/x.md), and `## [no heading]`.

### Changed

## [1.0.0] - 2026-11-01

### Added

## [0.9.0]
- The first.
"""


def test_notes_are_the_section_of_the_version_without_empty_parts() -> None:
    notes = "### Fixed\n\n- A fault.\n\n- [A link](docs/x.md), and `## [no heading]`.\n"
    assert release_notes(TEXT, "1.1.0") == notes
    assert release_notes(TEXT, "0.9.0") == "- The first.\n"


@pytest.mark.parametrize(
    ("version", "problem"),
    [
        ("2.0.0", r"no heading '## \[2.0.0\] - DATE'"),
        ("1.1", r"no heading '## \[1.1\] - DATE'"),
        ("1.0.0", "nothing below the heading of 1.0.0"),
    ],
)
def test_version_without_notes_is_an_error(version: str, problem: str) -> None:
    with pytest.raises(NoNotes, match=problem):
        release_notes(TEXT, version)


def test_command_prints_the_notes_of_this_project(capsys: pytest.CaptureFixture[str]) -> None:
    main(["0.1.0"])
    assert capsys.readouterr().out in CHANGELOG.read_text()
    with pytest.raises(SystemExit, match=r"CHANGELOG\.md: no heading"):
        main(["99.0.0"])
    with pytest.raises(SystemExit, match=r"usage: python -m tools\.release_notes VERSION"):
        main([])
