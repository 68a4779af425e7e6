"""The table of requirements names only existing tests and files."""

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
TABLE = (ROOT / "docs" / "requirements.md").read_text()


def test_every_test_that_the_table_names_exists() -> None:
    test_names = set(re.findall(r"`(test_\w+)`", TABLE))
    sources = (path.read_text() for path in (ROOT / "tests").rglob("test_*.py"))
    defined = {name for text in sources for name in re.findall(r"def (test_\w+)\(", text)}
    assert test_names - defined == set()
    assert len(test_names) > 50


def test_every_file_that_the_table_names_exists() -> None:
    file_names = set(re.findall(r"`(tests/[\w/*.]+\.py)`", TABLE))
    assert {name for name in file_names if not list(ROOT.glob(name))} == set()
    assert file_names
