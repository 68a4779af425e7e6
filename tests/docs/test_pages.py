"""Run every code block of README, CONTRIBUTING and docs/ as written."""

from pathlib import Path

import pytest

from tests.docs.blocks import blocks_of, pages
from tests.docs.newcomer import Newcomer
from tests.docs.places import INSTALLED, clone, shell_path, warm_commands
from tests.support import migrated_database

IN_A_CLONE = ("README.md", "CONTRIBUTING.md")
# Pages that readers follow without other instructions.
UNAIDED = "docs/how-to/"
# `make test-agents`, `make test-npm` and `make test-frameworks` run these.
ON_DEMAND = ("docs/agents/", "docs/how-to/vitest.md", "docs/frameworks.md")
PAGES = [page for page in pages() if blocks_of(page) and not page.startswith(ON_DEMAND)]


# A page starts many processes, which takes long on a busy machine.
@pytest.mark.timeout(600)
@pytest.mark.parametrize("page", PAGES)
def test_every_block_of_a_page_works(page: str, tmp_path: Path) -> None:
    folder = tmp_path / "mockllm"
    folder.mkdir()
    if page in IN_A_CLONE:
        path, python = shell_path(clone(folder)), str(folder / ".venv" / "bin" / "python")
    else:
        migrated_database.copy_to(folder / "mockllm.sqlite3")
        warm = warm_commands(tmp_path / "bin")
        path, python = shell_path(warm, INSTALLED), str(warm / "python")
    unaided = page.startswith(UNAIDED)
    with Newcomer(folder, path=path, python=python, unaided=unaided) as newcomer:
        for block in blocks_of(page):
            try:
                newcomer.follow(block)
            except AssertionError as error:
                pytest.fail(f"{block.place}: {error}", pytrace=False)


def test_readme_and_manuals_are_among_the_pages() -> None:
    assert {"README.md", "CONTRIBUTING.md", "docs/chat.md", "docs/turn-scripts.md"} <= set(PAGES)
