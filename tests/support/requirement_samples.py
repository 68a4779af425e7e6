"""Samples of instruction blocks and turn scripts as users write them.

Those in `tests/data/` are part of the project. Those of the requirements are read too if they are
in a folder beside the checkout.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeAlias

import pytest

Sample: TypeAlias = dict[str, Any]

PROJECT_DATA = Path(__file__).parents[1] / "data"
REQUIREMENT_DATA = Path(__file__).resolve().parents[3] / "shared" / "data"


def _read(project_file: str, requirement_file: str) -> Mapping[str, list[Sample]]:
    files = {"ours": PROJECT_DATA / project_file, "handed": REQUIREMENT_DATA / requirement_file}
    return {name: json.loads(file.read_text()) for name, file in files.items() if file.is_file()}


BLOCKS = _read("instruction_blocks.json", "instruction_blocks_sample.json")
"""Each with a `title` and its `block`."""

TURN_SCRIPTS = _read("turn_scripts.json", "turn_scenarios_sample.json")
"""Documents of requirement 003's form."""

each_block = pytest.mark.parametrize(
    "block",
    [
        pytest.param(sample["block"], id=f"{origin}: {sample['title']}")
        for origin, samples in BLOCKS.items()
        for sample in samples
    ],
)


def blocks_of_chain(block: Sample) -> list[Sample]:
    """Return the blocks of a chain in order; a single block is a chain of one."""
    chain: list[Sample] = block.get("instruction_chain", [block])
    return chain
