"""The picture of a terminal in the README shows what the test prints today."""

import pytest

from tests.docs import terminal


@pytest.mark.timeout(120)
def test_picture_shows_both_runs_as_they_are_today() -> None:
    lines = terminal.run_tests()
    assert lines.count("1 passed") == lines.count("1 failed") == 1
    assert terminal.FILE.read_text(encoding="utf-8") == terminal.picture(lines), "make docs"
