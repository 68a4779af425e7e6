"""The steps of the GitHub Action, run like those of a job."""

import json
import os
import signal
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import httpx2
import pytest
import yaml

from scenarios_app.testing.variables import API_KEY, sdk_variables
from tests.release.actions import Runner
from tests.support import fork_server

pytestmark = pytest.mark.process

ROOT = Path(__file__).resolve().parents[2]
ACTION: dict[str, Any] = yaml.safe_load((ROOT / "action.yml").read_text())
STEPS = {step["id"]: step for step in ACTION["runs"]["steps"]}
# Without an SDK, whose import takes seconds.
ASK = """
import json, os, urllib.request
request = urllib.request.Request(
    os.environ["OPENAI_BASE_URL"] + "/chat/completions",
    json.dumps({"model": "m", "messages": [{"role": "user", "content": "hello"}]}).encode(),
    {"Authorization": "Bearer " + os.environ["OPENAI_API_KEY"]},
)
print(json.load(urllib.request.urlopen(request))["choices"][0]["message"]["content"])
"""
# In place of `python -m venv`: installing all packages takes minutes.
VENV = """#!/bin/sh
mkdir -p "$3/bin"
printf '#!/bin/sh\\necho "$@" >"{folder}/installed"\\n' >"$3/bin/pip"
printf '#!/bin/sh\\nexec {python} -P -m mockllm_site "$@"\\n' >"$3/bin/mockllm"
chmod +x "$3/bin/pip" "$3/bin/mockllm"
"""


@pytest.fixture
def runner(tmp_path: Path) -> Iterator[Runner]:
    steps = [
        {"match": {"messages": [text]}, "consume": False, "produce": {"text": text.upper()}}
        for text in ("hello", "never: ever")
    ]
    scenarios = tmp_path / "some scenarios"
    scenarios.mkdir()
    (scenarios / "a.json").write_text(json.dumps({"name": "a", "steps": steps[:1]}))
    (tmp_path / "b.json").write_text(json.dumps({"name": "b", "steps": steps[1:]}))
    # Files and variables of the job, which must not affect the server.
    (tmp_path / ".env").write_text("MOCKLLM_ENV=nonsense\n")
    (tmp_path / "ask.py").write_text(ASK)
    python = tmp_path / "python3"
    python.write_text(VENV.format(folder=tmp_path, python=fork_server.python()))
    python.chmod(0o755)
    inputs = {
        f"inputs.{name}": input_definition["default"]
        for name, input_definition in ACTION["inputs"].items()
    }
    values = {
        **inputs,
        "inputs.scenarios": "some scenarios\n\nb.json",
        "github.action_path": str(ROOT),
        "steps.python.outputs.python-path": str(python),
    }
    variables = {"DJANGO_SETTINGS_MODULE": "of.the.job", "DATABASE_URL": "mysql://job"}
    runner = Runner(tmp_path, values, variables)
    yield runner
    pid = tmp_path / "temp/mockllm/pid"
    if pid.is_file():
        with suppress(ProcessLookupError):
            os.kill(int(pid.read_text()), signal.SIGTERM)


def start(runner: Runner) -> str:
    """Run the first steps; return the server's address."""
    for name in ("install", "start"):
        process = runner.run(STEPS[name])
        assert process.returncode == 0, process.stdout + process.stderr
    return runner.values["steps.start.outputs.url"]


def test_commands_of_a_later_step_reach_the_server_and_are_judged(runner: Runner) -> None:
    url = start(runner)
    expected = sdk_variables(url, API_KEY, environment={})
    assert {name: runner.variables[name] for name in expected} == expected
    request_process = runner.run({"id": "test", "run": f"{sys.executable} ask.py"})
    assert (request_process.returncode, request_process.stdout) == (0, "HELLO\n"), (
        request_process.stderr
    )
    assert runner.variables["DATABASE_URL"] == "mysql://job"
    verdict_process = runner.run(
        {"id": "verdict", "run": "env -u DJANGO_SETTINGS_MODULE mockllm verdict"}
    )
    assert (verdict_process.returncode, verdict_process.stdout) == (
        0,
        "passed: the run, 1 request\n",
    ), verdict_process.stderr


def test_run_input_is_followed_by_verdict_coverage_and_the_end_of_the_server(
    runner: Runner,
) -> None:
    runner.values |= {"inputs.run": f"{sys.executable} ask.py", "inputs.fail-under": "50"}
    url = start(runner)
    assert runner.run(STEPS["run"]).stdout == "HELLO\n"
    process = runner.run(STEPS["verdict"])
    assert process.returncode == 0, process.stdout + process.stderr
    assert "::warning title=mockllm%3A b%2C step 1::never served; " in process.stdout
    outputs = {name: runner.evaluate(output["value"]) for name, output in ACTION["outputs"].items()}
    assert outputs == {"url": url, "passed": "true", "coverage": "50"}
    assert "### mockllm: passed" in runner.summary
    assert "### mockllm coverage: 50 %" in runner.summary
    with pytest.raises(httpx2.ConnectError):
        for _ in range(1_000):
            httpx2.get(f"{url}/readyz", trust_env=False)


def test_strict_run_fails_for_steps_that_never_answered(runner: Runner) -> None:
    runner.values |= {"inputs.run": f"{sys.executable} ask.py", "inputs.strict": "true"}
    start(runner)
    runner.run(STEPS["run"])
    process = runner.run(STEPS["verdict"])
    assert process.returncode == 1
    error = "::error title=mockllm%3A every step was served::b, step 1"
    assert error in process.stdout.splitlines()
    assert runner.values["steps.verdict.outputs.passed"] == "false"


def test_server_that_cannot_start_fails_its_step_with_the_reason(runner: Runner) -> None:
    runner.run(STEPS["install"])
    (runner.folder / "b.json").write_text('{"name": "b", "stops": []}')
    process = runner.run(STEPS["start"])
    assert process.returncode == 1
    assert "b.json:1:15: stops: unknown key" in process.stderr


def test_package_of_the_action_is_installed_with_its_extras(runner: Runner) -> None:
    runner.values["inputs.extras"] = "chat,redis"
    assert runner.run(STEPS["install"]).returncode == 0
    installed = (runner.folder / "installed").read_text()
    assert installed == f"install --quiet -c {ROOT}/constraints.txt {ROOT}[chat,redis]\n"
    (folder,) = runner.path
    # The job's Python gets only the command.
    assert [file.name for file in Path(folder).iterdir()] == ["mockllm"]


def test_verdict_comes_even_if_the_commands_fail() -> None:
    condition = STEPS["verdict"]["if"]
    assert "always()" in condition and "steps.start.outcome == 'success'" in condition
    assert all("if" not in STEPS[name] for name in ("python", "install", "start"))
