"""Install commands in pages use a checkout or the repository of `pyproject.toml`."""

import re

import pytest

from tests.docs.blocks import ROOT, pages
from tests.docs.repository import files, insert_repository, repository

# True once a release is on the package index: pages may then install it by name.
IS_ON_THE_INDEX = False


@pytest.mark.parametrize("name", files())
def test_page_names_the_repository_of_the_project(name: str) -> None:
    text = (ROOT / name).read_text(encoding="utf-8")
    assert insert_repository(text, repository()) == text, "run: make docs"


def install_commands(text: str) -> list[str]:
    """Return the commands that install a package of ours by its name alone."""
    commands = re.findall(r"\b(?:pip|pipx|uv)(?: \w+)* install[^\n`]*", text)
    return [c for c in commands if re.search(r"\bmockllm\b", c) and "git+" not in c]


@pytest.mark.parametrize("name", [*pages(), "examples/ci/github-actions.yml", "action.yml"])
def test_page_installs_nothing_that_is_not_on_the_index(name: str) -> None:
    if not IS_ON_THE_INDEX:
        assert install_commands((ROOT / name).read_text(encoding="utf-8")) == []


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("pip install mockllm-server pytest", 1),
        ("`pip install 'mockllm-server[chat]'`", 1),
        ("uv pip install mockllm", 1),
        ("pip install . pytest", 0),
        ('pip install "mockllm-server @ git+https://github.com/x/mockllm"', 0),
    ],
)
def test_install_by_name_is_detected(text: str, count: int) -> None:
    assert len(install_commands(text)) == count


def test_repository_is_inserted_in_urls_images_and_actions() -> None:
    text = "uses: A/mockllm@v1, git+https://github.com/A/mockllm, ghcr.io/a/mockllm:1, A/other"
    assert insert_repository(text, "New_Org/mockllm") == (
        "uses: New_Org/mockllm@v1, git+https://github.com/New_Org/mockllm, "
        "ghcr.io/new_org/mockllm:1, A/other"
    )


def test_readme_warns_of_the_other_project_of_this_name() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert "`mockllm` there is another project" in text
    assert len(text.splitlines()) <= 160
