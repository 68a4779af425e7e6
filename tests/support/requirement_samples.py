"""What users bring: instruction blocks and scripts in turns, as they write them.

Those below `tests/data/` are the project's own. The requirements' are read besides where they lie
beside the checkout.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeAlias

import pytest

Sample: TypeAlias = dict[str, Any]

OURS = Path(__file__).parents[1] / "data"
HANDED = Path(__file__).resolve().parents[3] / "shared" / "data"


def _read(ours: str, handed: str) -> Mapping[str, list[Sample]]:
    files = {"ours": OURS / ours, "handed": HANDED / handed}
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


def chain_of(block: Sample) -> list[Sample]:
    """The blocks that answer one after another; one by itself is a chain of one."""
    chain: list[Sample] = block.get("instruction_chain", [block])
    return chain
