"""The scenario of the sweeps in this folder."""

import json
from pathlib import Path

import pytest

from tests.proof.dinner import DINNER


@pytest.fixture
def dinner(tmp_path: Path) -> str:
    """Return the path of the scenario of `agent.py`."""
    file = tmp_path / "dinner.json"
    file.write_text(json.dumps(DINNER))
    return str(file)
