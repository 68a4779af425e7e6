"""The programs in `examples/`, run as they are against the demo: the same output each time."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from django.core.management import call_command

from tests.support.live_server import Live

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"


@pytest.mark.parametrize("program", sorted(path.name for path in EXAMPLES.glob("*.py")))
def test_an_example_says_the_same_twice(live: Live, program: str) -> None:
    call_command("loaddata", "demo", verbosity=0)
    first, second = run(live, program), run(live, program)
    assert first == second
    lines = first.splitlines()
    assert lines.count("you    What is the weather in Paris?") == 1
    assert "model  Let me look up Paris." in lines
    called = [line for line in lines if line.startswith("tool   ")]
    assert [line.split("(")[0].split()[1] for line in called] == [
        "get_weather",
        "get_weather",
        "find_hotels",
    ]
    assert lines[-1].startswith("model  Go to Lisbon")


def run(live: Live, program: str) -> str:
    done = subprocess.run(
        [sys.executable, "-W", "error", EXAMPLES / program],
        env={"PATH": os.environ["PATH"], "MOCKLLM_URL": live.base_url},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout
