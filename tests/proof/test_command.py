"""`mockllm torture` with real programs: what it finds, and what it refuses."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

AGENT = Path(__file__).with_name("agent.py")
WEATHER: dict[str, Any] = {
    "name": "weather",
    "steps": [
        {
            "match": {"messages": [{"role": "user", "contains": "weather"}]},
            "consume": True,
            "produce": {"tool_calls": [{"name": "get_weather", "arguments": {"city": "Paris"}}]},
        },
        {"consume": True, "produce": {"text": "It is 21 degrees in Paris, and sunny."}},
    ],
}


@pytest.fixture
def scenario(tmp_path: Path) -> str:
    file = tmp_path / "weather.json"
    file.write_text(json.dumps(WEATHER))
    return str(file)


def mockllm(*words: str, folder: Path, **variables: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, "-m", "mockllm_site", "torture", *words],
        cwd=folder,
        env={**os.environ, **variables},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def agent(*bugs: str) -> list[str]:
    return ["--", sys.executable, str(AGENT), *bugs]


def outcomes(folder: Path, scenario: str, kinds: str, *bugs: str, more: Sequence[str] = ()) -> Any:
    """Return the outcome by cell, and the exit code."""
    own = ["--scenario", scenario, "--kinds", kinds, "--jobs", "2", "--json", "r.json", *more]
    ended = mockllm(*own, *agent(*bugs), folder=folder)
    assert (folder / "r.json").exists(), ended.stderr
    body = json.loads((folder / "r.json").read_text())
    return {cell_name(cell): cell["outcome"] for cell in body["cells"]}, ended.returncode


def cell_name(cell: Any) -> str:
    return f"{cell['kind']}@{cell['request']}"


@pytest.mark.timeout(180)
def test_careful_program_survives_or_fails_loudly_everywhere(tmp_path: Path, scenario: str) -> None:
    kinds = (
        "rate_limit,server_error,overloaded,timeout,reset,slow_start,cut_text,cut_call,malformed,"
        "empty_answer,max_tokens,refusal,broken_arguments,unknown_tool,call_twice,wrong_finish"
    )
    found, code = outcomes(tmp_path, scenario, kinds)
    assert code == 0
    assert len(found) == 28 - 2 * 2 + 2
    assert set(found.values()) == {"survived", "failed_loudly"}
    loud = {name for name, outcome in found.items() if outcome == "failed_loudly"}
    assert loud == {f"{kind}@{n}" for kind in ("empty_answer", "refusal") for n in (1, 2)} | {
        "max_tokens@2"
    }


@pytest.mark.timeout(120)
@pytest.mark.parametrize(
    ("bug", "kind", "outcome"),
    [
        ("never retries", "server_error@1", "failed_loudly"),
        ("swallows errors never retries", "reset@1", "failed_silently"),
        ("takes refusals", "refusal@2", "wrong"),
        ("ignores the finish reason", "max_tokens@2", "wrong"),
        ("takes nothing", "empty_answer@2", "failed_silently"),
        ("waits forever", "reset@1", "hung"),
        ("crashes on arguments", "broken_arguments@1", "failed_loudly"),
    ],
)
def test_bug_is_found_where_it_shows(
    tmp_path: Path, scenario: str, bug: str, kind: str, outcome: str
) -> None:
    bugs = re.findall(r"never retries|swallows errors|.+", bug)
    own = ["--scenario", scenario, "--only", kind, "--json", "r.json"]
    ended = mockllm(*own, *agent(*(one.strip() for one in bugs)), folder=tmp_path)
    (found,) = json.loads((tmp_path / "r.json").read_text())["cells"]
    assert found["outcome"] == outcome, ended.stdout
    assert ended.returncode == (0 if outcome == "failed_loudly" else 1)
    assert found["repeat"].startswith(f"mockllm torture --scenario {scenario} --only {kind} -- ")


@pytest.mark.timeout(120)
def test_two_sweeps_with_the_same_seed_have_the_same_results(tmp_path: Path, scenario: str) -> None:
    own = ["--scenario", scenario, "--budget", "4", "--seed", "7"]
    matrices, reports = [], []
    for name in ("one.json", "two.json"):
        kinds = ["--kinds", "server_error,refusal,max_tokens"]
        ended = mockllm(*own, *kinds, "--json", name, *agent(), folder=tmp_path)
        matrices.append(ended.stdout)
        report = json.loads((tmp_path / name).read_text())
        for timed in (report["clean"], *report["cells"]):
            assert timed.pop("seconds") > 0
        reports.append(report)
    assert matrices[0] == matrices[1] and reports[0] == reports[1]
    assert reports[0]["seed"] == 7 and reports[0]["skipped"] == 1
    assert reports[0]["clean"] == {"exit": 0, "requests": 2}


@pytest.mark.parametrize(
    ("code", "message"),
    [
        ("raise SystemExit(3)", "without any trouble the command fails with exit code 3"),
        ("print('hi')", "no step answered: 0 requests came, 0 of them unmatched"),
        ("import time; time.sleep(60)", "has not ended after 2 s; --timeout allows more"),
    ],
)
def test_command_that_cannot_be_swept_is_refused_with_the_reason(
    tmp_path: Path, scenario: str, code: str, message: str
) -> None:
    own = ["--scenario", scenario, "--timeout", "2"]
    ended = mockllm(*own, "--", sys.executable, "-c", code, folder=tmp_path)
    assert ended.returncode == 2
    assert message in ended.stderr and "Traceback" not in ended.stderr


def test_command_whose_runs_differ_is_refused_with_the_first_difference(
    tmp_path: Path, scenario: str
) -> None:
    program = tmp_path / "flaky.py"
    program.write_text(
        f"import pathlib, runpy, sys\nseen = pathlib.Path('seen')\n"
        f"sys.argv = ['agent']\nrunpy.run_path({str(AGENT)!r}, run_name='__main__')\n"
        "if not seen.exists():\n"
        "    seen.touch()\n"
        "else:\n"
        f"    runpy.run_path({str(AGENT)!r})['post']([{{'role': 'user', 'content': 'x'}}])\n"
    )
    three = {**WEATHER, "steps": [*WEATHER["steps"], {"produce": {"text": "more"}}]}
    Path(scenario).write_text(json.dumps(three))
    own = ["--scenario", scenario, "--", sys.executable, str(program)]
    ended = mockllm(*own, folder=tmp_path)
    assert ended.returncode == 2
    assert "two clean runs differ" in ended.stderr
    assert "answer 3 of session key-" in ended.stderr and "no answer, then" in ended.stderr


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--kinds", "refusel", "--", "true"], "no step answered"),
        (["--fail-on", "sad", "--", "true"], "no outcome 'sad'; there are survived,"),
        (["--budget", "10x", "--", "true"], "expected a number from 1 up, got '10x'"),
        (["--jobs", "0", "--", "true"], "expected a number from 1 up, got '0'"),
        (["--seconds", "0", "--", "true"], "expected a number from 1 up, got '0'"),
        ([], "no command: give one after --"),
        (["python", "agent.py"], "unknown: python agent.py; the command comes after --"),
        (["--", "no-such-command-here"], "no-such-command-here: no such command"),
    ],
)
def test_wrong_words_are_refused_in_one_line(
    tmp_path: Path, words: list[str], message: str
) -> None:
    ended = mockllm(*words, folder=tmp_path)
    assert ended.returncode in (2, 127)
    assert message in ended.stderr.splitlines()[-1]


def wait_for(condition: Callable[[], bool], seconds: float = 60.0) -> None:
    until = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < until
        time.sleep(0.05)


@pytest.mark.timeout(120)
def test_interrupted_sweep_prints_what_is_known_and_leaves_no_process(
    tmp_path: Path, scenario: str
) -> None:
    own = ["--scenario", scenario, "--kinds", "server_error,timeout,slow_start,stall"]
    runs = tmp_path / "runs"
    with subprocess.Popen(
        [sys.executable, "-m", "mockllm_site", "torture", *own, "--json", "r.json", *agent()],
        cwd=tmp_path,
        env={**os.environ, "RUNS": str(runs)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as process:
        # Two clean ones, a finished one and one more.
        wait_for(lambda: runs.exists() and runs.read_text().count("run") >= 4)
        os.killpg(process.pid, signal.SIGINT)
        output, errors = process.communicate(timeout=60)
    assert process.returncode == 130, errors
    assert "were left out: the sweep was stopped" in output
    assert json.loads((tmp_path / "r.json").read_text())["skipped"]
    left = subprocess.run(["pgrep", "-f", str(tmp_path)], capture_output=True, check=False)
    assert not left.stdout
