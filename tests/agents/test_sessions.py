"""Coding agents play their example: a file written by their own tool, nothing unmatched."""

import json
import subprocess
import time
from pathlib import Path

import pytest

from tests.agents.installed import COMMANDS, FOLDER, ON_DEMAND, search_path
from tests.docs.blocks import ROOT

SECONDS = 120
# Requests of a session: two turns, and side requests for a warm-up, a model or a title.
REQUESTS = {"claude": 2, "codex": 3, "gemini": 3, "opencode": 3}
# A shell that stores the agent's start and end times and the journal.
SHELL = """
begin=$(date +%s.%N)
"$@" || exit
echo "$begin $(date +%s.%N)" > times
curl -s "$MOCKLLM_URL/control/requests" > journal.json
"""


@pytest.mark.timeout(3 * SECONDS)
@pytest.mark.skipif(not FOLDER, reason=ON_DEMAND)
@pytest.mark.parametrize("agent", COMMANDS)
def test_agent_plays_its_example(
    agent: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    project, home = tmp_path / "project", tmp_path / "home"
    project.mkdir()
    home.mkdir()
    variables = {"PATH": search_path(agent), "LANG": "C.UTF-8"}

    def run(*command: str, home: Path = home) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            command,
            cwd=project,
            env={**variables, "HOME": str(home)},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=SECONDS,
        )

    run("git", "init", "--quiet")
    begin = time.monotonic()
    run(agent, "--version", home=tmp_path)
    start_seconds = time.monotonic() - begin

    scenario = str(ROOT / "examples" / "agents" / f"{agent}.json")
    begin = time.monotonic()
    command = ("sh", "-c", SHELL, "sh", *COMMANDS[agent])
    result = run("mockllm", "run", "--scenario", scenario, "--strict", "--", *command)
    seconds = time.monotonic() - begin

    assert result.returncode == 0, result.stderr
    assert result.stdout.endswith("notes.txt is written.\n")
    assert (project / "notes.txt").read_text() == "Scripted.\n"
    assert f"passed: the run, {REQUESTS[agent]} requests\n" in result.stderr
    assert "Reconnecting" not in result.stderr
    requests = json.loads((project / "journal.json").read_text())["requests"]
    assert len(requests) == REQUESTS[agent]
    outcomes = {(row["status"], row["matched"], row["fallback"]) for row in requests}
    assert outcomes == {(200, True, False)}
    # The agent writes only caches into the home folder.
    assert [path.name for path in home.iterdir() if path.name not in (".cache", ".npm")] == []

    before, after = map(float, (project / "times").read_text().split())
    agent_seconds = after - before
    with capsys.disabled():
        print(
            f"\n{agent}: {seconds:.1f} s in all, {agent_seconds:.1f} s of it the agent "
            f"(ratio {seconds / agent_seconds:.1f}), whose --version takes {start_seconds:.1f} s"
        )
