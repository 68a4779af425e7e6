"""The page of agent frameworks: each program runs unchanged, with the framework installed."""

import os
import re
import subprocess
from pathlib import Path

import pytest

from tests.docs.blocks import ROOT, Block, blocks_of
from tests.docs.page_runner import PageRunner
from tests.docs.places import INSTALLED, shell_path
from tests.frameworks.test_frameworks import (
    ENVIRONMENTS,
    FRAMEWORKS,
    INSTALL_SECONDS,
    PAGE_ONLY,
    RUN_SECONDS,
)

PAGE = "docs/frameworks.md"
MAX_PROGRAM_LINES = 22
# The environment below `.frameworks/` of each Python section.
SECTIONS = {
    "LangGraph": "langchain",
    "pydantic-ai": "pydantic_ai",
    "openai-agents": "openai_agents",
    "CrewAI": "crewai",
    "ADK": "google_adk",
    "LlamaIndex": "llama_index",
    "LiteLLM": "litellm",
}
# `make test-npm` runs this one.
JAVASCRIPT = "AI SDK"
TEXT = (ROOT / PAGE).read_text(encoding="utf-8")


def blocks(section: str) -> list[Block]:
    """Return the scenario and the blocks of a section."""
    sections: dict[str, list[Block]] = {}
    for block in blocks_of(PAGE):
        headings = re.findall(
            r"^## (.+)$", "\n".join(TEXT.splitlines()[: block.line]), re.MULTILINE
        )
        sections.setdefault(headings[-1] if headings else "", []).append(block)
    return [*sections[""], *sections[section]]


def follow(section: str, *, folder: Path, path: str, python: str) -> None:
    """Run the blocks of a section in a folder; fail the test where the page is wrong."""
    with PageRunner(folder, path=path, python=python) as page_runner:
        for block in blocks(section):
            try:
                page_runner.follow(block)
            except AssertionError as error:
                pytest.fail(f"{block.place}: {error}", pytrace=False)


@pytest.mark.skipif(
    not os.environ.get("MOCKLLM_FRAMEWORKS"), reason="make test-frameworks runs these"
)
@pytest.mark.timeout(INSTALL_SECONDS + RUN_SECONDS)
@pytest.mark.parametrize("section", SECTIONS)
def test_program_of_a_framework_plays_the_scenario_unchanged(section: str, tmp_path: Path) -> None:
    frameworks_by_name = {framework.name: framework for framework in (*FRAMEWORKS, *PAGE_ONLY)}
    framework = frameworks_by_name[SECTIONS[section]]
    framework.install()
    commands = tmp_path / "bin"
    commands.mkdir()
    (commands / "mockllm").symlink_to(INSTALLED / "mockllm")
    path = shell_path(commands, ENVIRONMENTS / framework.name / "bin")
    folder = tmp_path / "project"
    folder.mkdir()
    follow(section, folder=folder, path=path, python=str(framework.python))
    for package in named_packages(section):
        check = f"from importlib.metadata import version; version({package!r})"
        subprocess.run([str(framework.python), "-c", check], check=True)


def named_packages(section: str) -> list[str]:
    """Return the packages that a section installs, without extras."""
    (line,) = re.findall(rf"^## {re.escape(section)}\n\n`pip install ([^`]+)`", TEXT, re.MULTILINE)
    return [re.sub(r"\[.*\]", "", word.strip("'")) for word in line.split()]


def test_every_section_is_run_and_short() -> None:
    headings = re.findall(r"^## (.+)$", TEXT, re.MULTILINE)
    assert headings == [*SECTIONS, JAVASCRIPT]
    for section in headings:
        _, program, command, output = blocks(section)
        assert len(program.text.splitlines()) <= MAX_PROGRAM_LINES, program.place
        python = "node" if section == JAVASCRIPT else "python"
        run = f"mockllm run --scenario weather.json --strict -- {python} {program.file}\n"
        assert command.text.endswith(run)
        assert output.text == "Take sunglasses.\n"


def test_programs_name_no_server_and_no_key() -> None:
    for section in (*SECTIONS, JAVASCRIPT):
        program = blocks(section)[1].text
        assert not re.search(r"base_?url|api_?key|api_?base|mockllm", program, re.IGNORECASE)
