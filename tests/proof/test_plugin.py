"""`pytest --mockllm-torture` repeats tests, each with one fault at a time."""

import json
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from scenarios_app.proof.alarm import Hung, time_limit

TESTS = """
import json, os, urllib.request
import pytest

def ask(text):
    body = {"model": "m", "messages": [{"role": "user", "content": text}]}
    headers = {"authorization": "Bearer " + os.environ["OPENAI_API_KEY"],
               "content-type": "application/json"}
    url = os.environ["OPENAI_BASE_URL"] + "/chat/completions"
    request = urllib.request.Request(url, json.dumps(body).encode(), headers)
    with urllib.request.urlopen(request) as response:
        return json.load(response)["choices"][0]["message"]["content"]

@pytest.fixture(scope="module")
def counted():
    print("set up once")
    yield []

def test_strict(mockllm, counted):
    counted.append(1)
    mockllm.on("hello").reply("Hello to 21 friends.")
    assert ask("hello") == "Hello to 21 friends."

def test_lax(mockllm):
    mockllm.on("hello").reply("Hello to 21 friends.")
    try:
        print(ask("hello"))
    except Exception:
        pass

def test_without_a_server():
    pass

def test_that_fails(mockllm):
    mockllm.on("hello").reply("x")
    assert ask("hello") == "y"

def test_that_changes(mockllm, request):
    mockllm.on("hello").reply(str(len(vars(request.module).setdefault("RUNS", []))))
    vars(request.module)["RUNS"].append(ask("hello"))
"""


def run(
    folder: Path, *options: str, sweep: tuple[str, ...] = ("--mockllm-torture",)
) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-W", "ignore"]
    return subprocess.run(
        [*command, *sweep, *options],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=150,
        check=False,
    )


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "test_agent.py").write_text(TESTS)
    return tmp_path


def read_cells(folder: Path) -> dict[str, tuple[str, str]]:
    body: dict[str, Any] = json.loads((folder / "r.json").read_text())
    return {
        f"{cell['session'].partition('::')[2]} {cell['kind']}@{cell['request']}": (
            cell["outcome"],
            cell["repeat"],
        )
        for cell in body["cells"]
    }


@pytest.mark.timeout(180)
def test_test_without_a_fitting_kind_is_noted(folder: Path) -> None:
    only_tools = ["--mockllm-torture-kinds", "unknown_tool", "-k", "test_strict"]
    process = run(folder, *only_tools)
    note = "test_agent.py::test_strict: none of these kinds fits an answer of the clean run"
    assert (process.returncode, note in process.stdout) == (0, True), process.stdout


@pytest.mark.parametrize("workers", [[], ["-n", "2"]], ids=["alone", "two workers"])
def test_each_test_is_repeated_with_each_kind(folder: Path, workers: list[str]) -> None:
    kinds = ["--mockllm-torture-kinds", "server_error,refusal,max_tokens"]
    process = run(folder, *kinds, "--mockllm-torture-json", "r.json", *workers)
    cells = read_cells(folder)
    assert {name: outcome for name, (outcome, _) in cells.items()} == {
        "test_lax max_tokens@1": "wrong",
        "test_lax refusal@1": "failed_silently",
        "test_lax server_error@1": "failed_silently",
        "test_strict max_tokens@1": "failed_loudly",
        "test_strict refusal@1": "failed_loudly",
        "test_strict server_error@1": "failed_loudly",
    }, process.stdout
    assert process.returncode == 1 and "1 failed, 4 passed" in process.stdout
    for kind, outcome in (("refusal", "silent"), ("max_tokens", "wrong")):
        pattern = rf"^\[\d/3\] .*::test_lax {kind}@1: {outcome}$"
        assert len(re.findall(pattern, process.stdout, re.M)) == 1, process.stdout
    assert "test_that_changes: not swept, since two clean runs differ: answer 1" in process.stdout
    again = cells["test_lax max_tokens@1"][1]
    options = "test_agent.py::test_lax --mockllm-torture --mockllm-torture-only max_tokens@1"
    assert again.endswith(options)


@pytest.mark.timeout(120)
def test_green_tests_fail_the_run_by_an_outcome_of_fail_on(folder: Path) -> None:
    options = ["-k", "lax", "--mockllm-torture-only", "refusal@1"]
    assert run(folder, *options).returncode == 1
    process = run(folder, *options, "--mockllm-torture-fail-on", "hung")
    assert process.returncode == 0 and "1 of 1 cells: 1 silent" in process.stdout


@pytest.mark.timeout(120)
def test_report_that_cannot_be_written_is_named_beside_the_matrix(folder: Path) -> None:
    options = ["-k", "strict", "--mockllm-torture-only", "refusal@1", "--mockllm-torture-json", "."]
    process = run(folder, *options)
    assert "1 of 1 cells: 1 loud" in process.stdout
    assert ".: cannot be written: Is a directory" in process.stdout
    assert process.returncode == 1 and "Traceback" not in process.stdout + process.stderr


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--mockllm-torture-kinds", "refusel"], "there is no kind 'refusel'; there are"),
        (["--mockllm-torture-budget", "x"], "--mockllm-torture-budget: expected a number from 1"),
        (["--mockllm-torture-seed", "x"], "--mockllm-torture-seed: invalid literal"),
    ],
)
def test_wrong_option_is_refused_in_one_line(
    folder: Path, options: list[str], message: str
) -> None:
    process = run(folder, *options)
    assert process.returncode == 4 and message in process.stderr


@pytest.mark.parametrize(
    ("option", "needed"),
    [
        ("--mockllm-torture-kinds=refusal", "--mockllm-torture-kinds needs --mockllm-torture"),
        ("--mockllm-mutants-fail-under=9", "--mockllm-mutants-fail-under needs --mockllm-mutants"),
    ],
)
def test_option_of_a_sweep_without_the_sweep_is_refused(
    folder: Path, option: str, needed: str
) -> None:
    process = run(folder, option, sweep=())
    assert process.returncode == 4 and needed in process.stderr


def test_time_limit_ends_code_that_catches_every_exception() -> None:
    with pytest.raises(Hung), time_limit(0.05):
        try:
            time.sleep(30)
        except Exception:
            time.sleep(30)


@pytest.fixture
def alarms() -> Iterator[list[int]]:
    """Return a list of the alarms that another plugin's limit raises."""
    alarms: list[int] = []
    handler = signal.signal(signal.SIGALRM, lambda number, _: alarms.append(number))
    yield alarms
    signal.setitimer(signal.ITIMER_REAL, 0)
    signal.signal(signal.SIGALRM, handler)


def test_limit_of_another_plugin_goes_on_after_ours(alarms: list[int]) -> None:
    signal.setitimer(signal.ITIMER_REAL, 0.05)
    with time_limit(30):
        time.sleep(0.1)
        assert not alarms
    time.sleep(0.05)
    assert alarms
