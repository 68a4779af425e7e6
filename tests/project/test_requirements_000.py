"""docs/requirements.md maps each criterion of requirement 000 to tests that name it."""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
# How many criteria each requirement of the specification has.
CRITERIA = {1: 2, 2: 3, 3: 3, 4: 3, 5: 2, 6: 2, 7: 2, 8: 2, 9: 6}
WANTED = [f"R{number}.{i + 1}" for number, count in CRITERIA.items() for i in range(count)]
ROW = re.compile(r"\| (R\d\.\d) [^|]*\| ([^|]*)\| ([^|]*)\|")


def rows() -> dict[str, tuple[list[str], str]]:
    """By criterion: the test files that are named, and what is said of it."""
    text = (ROOT / "docs" / "requirements.md").read_text()
    section = text.partition("## 000")[2].partition("\n## ")[0]
    return {
        found[1]: (re.findall(r"`(tests/[^`]+)`", found[2]), found[3].strip())
        for found in ROW.finditer(section)
    }


def test_every_criterion_is_mapped_and_says_how_it_is_met() -> None:
    found = rows()
    assert list(found) == WANTED
    assert all(files and said for files, said in found.values())


@pytest.mark.parametrize("criterion", WANTED)
def test_each_file_that_is_named_has_a_test_of_that_name(criterion: str) -> None:
    prefix = f"test_{criterion.lower().replace('.', '_')}_"
    for name in rows()[criterion][0]:
        tree = ast.parse((ROOT / name).read_text())
        tests = [n.name for n in tree.body if isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef)]
        assert any(test.startswith(prefix) for test in tests), name
