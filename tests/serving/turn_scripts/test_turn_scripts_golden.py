"""The shipped scripts' answers to the byte, for each wire, streamed and whole.

`WRITE_GOLDEN=1 pytest tests/serving/turn_scripts/test_turn_scripts_golden.py` rewrites the files. A
change in them affects all users who compare answers.
"""

import os
from pathlib import Path
from typing import Any

import pytest

from tests.engine.turn_scripts import shipped_scripts
from tests.serving.modes import WIRES, WireName
from tests.serving.pipelines import Harness
from tests.serving.turn_scripts.turns import turn_request

GOLDEN = Path(__file__).parents[1] / "golden"
ON_CALL: dict[str, Any] = {"system": "You are on call.", "tools": ("read_metrics", "read_logs")}
REQUESTS: dict[str, tuple[str, dict[str, Any]]] = {
    "turn-tools": ("investigate-outage", ON_CALL),
    "turn-report": ("investigate-outage", {**ON_CALL, "turn": 3}),
    "turn-violation": ("investigate-outage", {"system": "You are on call."}),
    "turn-missing": ("nothing-yet", {}),
    "turn-failure": ("busy-then-fine", {}),
}
CASES = [(wire, name, stream) for wire in WIRES for name in REQUESTS for stream in (True, False)]


@pytest.mark.parametrize(("wire", "name", "stream"), CASES)
async def test_answers_equal_the_golden_files(wire: WireName, name: str, stream: bool) -> None:
    path = GOLDEN / f"{wire}-{name}-{'stream' if stream else 'whole'}.txt"
    id, fields = REQUESTS[name]
    _, _, body = await Harness(*shipped_scripts()).ask(
        turn_request(wire, id, stream=stream, **fields)
    )
    if os.environ.get("WRITE_GOLDEN"):
        path.write_bytes(body)
    assert body == path.read_bytes()
