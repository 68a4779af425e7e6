"""The scenario that sweeps of this folder play."""

import json
from pathlib import Path

import pytest

from tests.proof.dinner import DINNER


@pytest.fixture
def dinner(tmp_path: Path) -> str:
    """The path of the scenario of `agent.py`."""
    file = tmp_path / "dinner.json"
    file.write_text(json.dumps(DINNER))
    return str(file)
