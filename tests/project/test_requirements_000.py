"""docs/requirements.md maps each criterion of requirement 000 to tests that name it."""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
# How many criteria each requirement of the specification has.
CRITERIA = {1: 2, 2: 3, 3: 3, 4: 3, 5: 2, 6: 2, 7: 2, 8: 2, 9: 6}
CRITERION_IDS = [f"R{number}.{i + 1}" for number, count in CRITERIA.items() for i in range(count)]
ROW = re.compile(r"\| (R\d\.\d) [^|]*\| ([^|]*)\| ([^|]*)\|")


def read_rows() -> dict[str, tuple[list[str], str]]:
    """Return the test files and the description of each criterion."""
    text = (ROOT / "docs" / "requirements.md").read_text()
    section = text.partition("## 000")[2].partition("\n## ")[0]
    return {
        match[1]: (re.findall(r"`(tests/[^`]+)`", match[2]), match[3].strip())
        for match in ROW.finditer(section)
    }


def test_every_criterion_is_mapped_and_says_how_it_is_met() -> None:
    criteria = read_rows()
    assert list(criteria) == CRITERION_IDS
    assert all(files and description for files, description in criteria.values())


@pytest.mark.parametrize("criterion", CRITERION_IDS)
def test_each_listed_file_has_a_test_of_its_criterion(criterion: str) -> None:
    prefix = f"test_{criterion.lower().replace('.', '_')}_"
    for name in read_rows()[criterion][0]:
        tree = ast.parse((ROOT / name).read_text())
        tests = [n.name for n in tree.body if isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef)]
        assert any(test.startswith(prefix) for test in tests), name
