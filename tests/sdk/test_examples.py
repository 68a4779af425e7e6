"""The programs in `examples/` print the same output each time they run against the demo."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from django.core.management import call_command

from tests.support.live_server import Live

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"


@pytest.mark.parametrize("program", sorted(path.name for path in EXAMPLES.glob("*.py")))
def test_example_prints_the_same_output_twice(live: Live, program: str) -> None:
    call_command("loaddata", "demo", verbosity=0)
    first, second = run_example(live, program), run_example(live, program)
    assert first == second
    lines = first.splitlines()
    assert lines.count("you    What is the weather in Paris?") == 1
    assert "model  Let me look up Paris." in lines
    tool_lines = [line for line in lines if line.startswith("tool   ")]
    assert [line.split("(")[0].split()[1] for line in tool_lines] == [
        "get_weather",
        "get_weather",
        "find_hotels",
    ]
    assert lines[-1].startswith("model  Go to Lisbon")


def run_example(live: Live, program: str) -> str:
    process = subprocess.run(
        [sys.executable, "-W", "error", EXAMPLES / program],
        env={"PATH": os.environ["PATH"], "MOCKLLM_URL": live.base_url},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert (process.returncode, process.stderr) == (0, "")
    return process.stdout
