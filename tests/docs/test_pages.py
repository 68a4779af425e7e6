"""Run every code block of README, CONTRIBUTING and docs/ as written."""

from pathlib import Path

import pytest

from tests.docs.blocks import blocks_of, pages
from tests.docs.page_runner import PageRunner
from tests.docs.places import INSTALLED, clone, shell_path, warm_commands
from tests.support import migrated_database

CLONE_PAGES = ("README.md", "CONTRIBUTING.md")
# Pages that readers follow without other instructions.
STRICT_PAGES = "docs/how-to/"
# `make test-agents`, `make test-npm` and `make test-frameworks` run these.
ON_DEMAND = ("docs/agents/", "docs/how-to/vitest.md", "docs/frameworks.md")
PAGES = [page for page in pages() if blocks_of(page) and not page.startswith(ON_DEMAND)]


# A page starts many processes, which takes long on a busy machine.
@pytest.mark.timeout(600)
@pytest.mark.parametrize("page", PAGES)
def test_every_block_of_a_page_works(page: str, tmp_path: Path) -> None:
    folder = tmp_path / "mockllm"
    folder.mkdir()
    if page in CLONE_PAGES:
        path, python = shell_path(clone(folder)), str(folder / ".venv" / "bin" / "python")
    else:
        migrated_database.copy_to(folder / "mockllm.sqlite3")
        bin_folder = warm_commands(tmp_path / "bin")
        path, python = shell_path(bin_folder, INSTALLED), str(bin_folder / "python")
    strict = page.startswith(STRICT_PAGES)
    with PageRunner(folder, path=path, python=python, strict=strict) as page_runner:
        for block in blocks_of(page):
            try:
                page_runner.follow(block)
            except AssertionError as error:
                pytest.fail(f"{block.place}: {error}", pytrace=False)


def test_readme_and_manuals_are_among_the_pages() -> None:
    assert {"README.md", "CONTRIBUTING.md", "docs/chat.md", "docs/turn-scripts.md"} <= set(PAGES)
