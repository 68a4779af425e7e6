"""The scenario of `agent.py`, and sweeps of that program as processes."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

AGENT = Path(__file__).with_name("agent.py")
DINNER: dict[str, Any] = {
    "name": "dinner",
    "steps": [
        {
            "match": {"messages": [{"role": "user", "contains": "dinner"}]},
            "produce": {"tool_calls": [{"name": "get_weather", "arguments": {"city": "Paris"}}]},
        },
        {
            "match": {"messages": [{"contains": "invitation"}]},
            "produce": {"text": "Dear Tom, join me at Chez Anna at eight."},
        },
        {
            "produce": {
                "tool_calls": [
                    {"name": "write_invitation", "arguments": {"place": "Chez Anna"}},
                    {"name": "book_table", "arguments": {"place": "Chez Anna", "people": 2}},
                ]
            },
        },
        {"produce": {"text": "A table at Chez Anna is booked, and the invitation is out."}},
    ],
}
SECONDS = 120


def agent_command(*arguments: str) -> list[str]:
    """Return the end of a command line that sweeps the agent."""
    return ["--", sys.executable, str(AGENT), *arguments]


def sweep_command(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "mockllm_site", "torture", *arguments]


def run_sweep(*arguments: str, folder: Path) -> "subprocess.CompletedProcess[str]":
    """Run a sweep to its end in a folder."""
    return subprocess.run(
        sweep_command(*arguments),
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )


def start_sweep(*arguments: str, folder: Path, **variables: str) -> "subprocess.Popen[str]":
    """Start a sweep in a folder and in a new process group."""
    return subprocess.Popen(
        sweep_command(*arguments),
        cwd=folder,
        env={**os.environ, **variables},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def read_outcomes(report: Path) -> dict[str, str]:
    """Return the outcome of each cell in a sweep's JSON."""
    cells = json.loads(report.read_text())["cells"]
    return {f"{cell['kind']}@{cell['request']}": cell["outcome"] for cell in cells}


def wait_for(condition: Callable[[], bool], seconds: float = 60.0) -> None:
    until = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < until
        time.sleep(0.05)
