"""The guides of coding agents: their blocks run as written, their scenarios are the examples."""

import json
from pathlib import Path

import pytest

from tests.agents.installed import FOLDER, GUIDES, ON_DEMAND, search_path
from tests.docs.blocks import ROOT, blocks_of
from tests.docs.page_runner import PageRunner
from tests.docs.places import INSTALLED

MAX_LINES = 80
VERSIONS = json.loads(Path(__file__).with_name("package.json").read_text())["dependencies"]


def page(name: str) -> str:
    return f"docs/agents/{name}.md"


# Each guide runs an agent five times.
@pytest.mark.timeout(600)
@pytest.mark.skipif(not FOLDER, reason=ON_DEMAND)
@pytest.mark.parametrize("agent", GUIDES)
def test_every_block_of_a_guide_works(agent: str, tmp_path: Path) -> None:
    # The overview continues with the cassette of the first guide.
    pages = [GUIDES[agent], "index"] if agent == "claude" else [GUIDES[agent]]
    path, python = search_path(agent), str(INSTALLED / "python")
    with PageRunner(tmp_path, path=path, python=python) as page_runner:
        for block in (block for name in pages for block in blocks_of(page(name))):
            try:
                page_runner.follow(block)
            except AssertionError as error:
                pytest.fail(f"{block.place}: {error}", pytrace=False)


@pytest.mark.parametrize("agent", GUIDES)
def test_example_is_the_first_scenario_of_its_guide(agent: str) -> None:
    scenario_block = next(
        block for block in blocks_of(page(GUIDES[agent])) if block.file == "notes.json"
    )
    assert (ROOT / "examples" / "agents" / f"{agent}.json").read_text() == scenario_block.text


@pytest.mark.parametrize("agent", GUIDES)
def test_guide_is_short_and_has_three_parts(agent: str) -> None:
    lines = (ROOT / page(GUIDES[agent])).read_text().splitlines()
    headings = [line for line in lines if line.startswith("## ")]
    assert headings == ["## Script a session", "## Test a hook", "## Record once, replay in CI"]
    assert len(lines) <= MAX_LINES


def test_overview_names_the_versions_that_are_installed() -> None:
    rows = (ROOT / page("index")).read_text().splitlines()
    versions = {row.split(" | ")[1] for row in rows if row.endswith(".md) |")}
    assert versions == set(VERSIONS.values())
