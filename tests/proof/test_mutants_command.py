"""`mockllm mutants` and `pytest --mockllm-mutants` with real programs and tests."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.proof.test_command import wait_for

PAY = """
import json, os, urllib.request

def post(messages):
    body = {"model": "m", "messages": messages}
    headers = {"authorization": "Bearer " + os.environ["OPENAI_API_KEY"],
               "content-type": "application/json"}
    url = os.environ["OPENAI_BASE_URL"] + "/chat/completions"
    request = urllib.request.Request(url, json.dumps(body).encode(), headers)
    with urllib.request.urlopen(request) as response:
        return json.load(response)["choices"][0]["message"]

def refund(log):
    messages = [{"role": "user", "content": "refund"}]
    while True:
        if "RUNS" in os.environ:
            with open(os.environ["RUNS"], "a") as file:
                file.write("run\\n")
        message = post(messages)
        if not message.get("tool_calls"):
            return message.get("content") or ""
        messages.append(message)
        for call in message["tool_calls"]:
            arguments = json.loads(call["function"]["arguments"])
            log.append(arguments)
            result = {"role": "tool", "tool_call_id": call["id"], "content": "done"}
            messages.append(result)
"""
PROGRAM = """
from pay import refund
log = []
text = refund(log)
assert len(log) == 1 and "sum" in log[0], log
assert text, "empty"
"""
REFUND: dict[str, Any] = {
    "name": "refund",
    "steps": [
        {
            "name": "call",
            "match": {"messages": [{"role": "user", "contains": "refund"}]},
            "produce": {"tool_calls": [{"name": "pay", "arguments": {"sum": 19}}]},
        },
        {
            "name": "text",
            "equivalent_changes": {"language": "customers get a translation"},
            "produce": {"text": "We refunded 19.00 euros."},
        },
        {
            "name": "never",
            "match": {"messages": [{"role": "user", "contains": "never"}]},
            "produce": {"text": "Never."},
        },
    ],
}
# Three of these tests check too little.
TESTS = """
import pytest
from pay import post, refund

pytestmark = pytest.mark.mockllm("refund.json", allow_unserved=True)

def test_sum(mockllm):
    log = []
    refund(log)
    assert log == [{"sum": 19}]

def test_text(mockllm):
    assert "refunded" in refund([])

def test_nothing(mockllm):
    refund([])

def test_stub(mockllm):
    mockllm.on("hello").reply("Hello to 21 friends.")
    assert post([{"role": "user", "content": "hello"}])["content"] == "Hello to 21 friends."

def test_lax_stub(mockllm):
    mockllm.on("hello").reply("Hello to 21 friends.")
    assert post([{"role": "user", "content": "hello"}])["role"] == "assistant"

def test_without_a_server():
    pass
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    files = {"pay.py": PAY, "program.py": PROGRAM, "test_pay.py": TESTS}
    for name, text in {**files, "refund.json": json.dumps(REFUND)}.items():
        (tmp_path / name).write_text(text)
    return tmp_path


def run(folder: Path, *arguments: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, *arguments],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=150,
        check=False,
    )


def run_mutants(
    folder: Path, *arguments: str, program: str = "program.py"
) -> "subprocess.CompletedProcess[str]":
    options = ["-m", "mockllm_site", "mutants", "--scenario", "refund.json", *arguments]
    return run(folder, *options, "--", sys.executable, program)


def read_outcomes(folder: Path) -> dict[str, str]:
    body = json.loads((folder / "r.json").read_text())
    return {f"{mutant['kind']}@{mutant['step']}": mutant["outcome"] for mutant in body["mutants"]}


@pytest.mark.timeout(120)
def test_command_kills_mutants_that_it_notices(folder: Path) -> None:
    process = run_mutants(folder, "--jobs", "2", "--json", "r.json")
    assert read_outcomes(folder) == {
        "empty_answer@refund/call": "killed",
        "refusal@refund/call": "killed",
        "call_twice@refund/call": "killed",
        "argument@refund/call": "survived",
        "no_argument@refund/call": "killed",
        "empty_answer@refund/text": "killed",
        "refusal@refund/text": "killed",
        "number@refund/text": "survived",
        "@refund/never": "unused",
    }, process.stderr
    assert process.returncode == 1
    lines = process.stdout.splitlines()
    assert "the command stays green when 19.00 becomes 1900" in lines
    assert lines[-3:] == [
        "unused, since no answer came from it: refund/never",
        "left out as equivalent: another language at refund/text: customers get a translation",
        "score: 75 %, 6 killed, 2 survived",
    ]


@pytest.mark.timeout(120)
def test_repeat_runs_one_mutant_and_fail_under_checks_the_score(folder: Path) -> None:
    arguments = ["--only", "number@refund/text"]
    assert run_mutants(folder, *arguments, "--json", "r.json").returncode == 1
    (mutant,) = json.loads((folder / "r.json").read_text())["mutants"]
    assert mutant["repeat"] == (
        "mockllm mutants --scenario refund.json --only number@refund/text -- "
        f"{sys.executable} program.py"
    )
    killed = ["--kinds", "refusal,number", "--steps", "refund/text"]
    assert run_mutants(folder, *killed, "--fail-under", "50").returncode == 0
    assert run_mutants(folder, *killed, "--fail-under", "50.1").returncode == 1


@pytest.mark.timeout(120)
def test_same_seed_gives_the_same_report_byte_for_byte(folder: Path) -> None:
    arguments = ["--seed", "5", "--budget", "3", "--json"]
    first, second = (
        run_mutants(folder, *arguments, "one.json"),
        run_mutants(folder, *arguments, "two.json"),
    )
    assert first.stdout == second.stdout and "mutants left out: 5" in first.stdout
    assert (folder / "one.json").read_bytes() == (folder / "two.json").read_bytes()


@pytest.mark.timeout(60)
def test_sweep_of_equivalent_mutants_alone_runs_nothing(folder: Path) -> None:
    process = run_mutants(folder, "--kinds", "language")
    assert process.returncode == 0, process.stderr
    assert process.stdout.endswith("score: none, since no mutant was run, 0 killed, 0 survived\n")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--kinds", "numbers"], "there is no kind 'numbers'; there are empty_answer, "),
        (["--steps", "refund/txt"], "no answer came from 'refund/txt'; those that answered: "),
        (["--only", "number@refund/txt"], "there is no cell 'number@refund/txt'; there are "),
        (["--fail-on", "loud"], "no outcome 'loud'; there are killed, survived, unused"),
        (["--fail-under", "101"], "expected a percentage from 0 to 100, got '101'"),
        (["--fail-under", "x"], "expected a percentage from 0 to 100, got 'x'"),
    ],
)
def test_wrong_arguments_are_refused_in_one_line(
    folder: Path, arguments: list[str], message: str
) -> None:
    process = run_mutants(folder, *arguments)
    assert process.returncode == 2 and message in process.stderr.splitlines()[-1]


def test_command_without_answers_is_refused(folder: Path) -> None:
    (folder / "idle.py").write_text("")
    process = run_mutants(folder, program="idle.py")
    assert process.returncode == 2
    assert process.stderr.startswith("mockllm mutants: no step answered")


@pytest.mark.timeout(120)
def test_interrupted_sweep_prints_the_mutants_so_far(folder: Path) -> None:
    runs = folder / "runs"
    options = ["-m", "mockllm_site", "mutants", "--scenario", "refund.json", "--json", "r.json"]
    with subprocess.Popen(
        [sys.executable, *options, "--", sys.executable, "program.py"],
        cwd=folder,
        env={**os.environ, "RUNS": str(runs)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as process:
        # Two clean runs of two requests, and a mutant.
        wait_for(lambda: runs.exists() and runs.read_text().count("run") >= 7)
        os.killpg(process.pid, signal.SIGINT)
        output, errors = process.communicate(timeout=60)
    assert process.returncode == 130, errors
    assert "since the sweep was stopped" in output
    assert read_outcomes(folder)


@pytest.mark.timeout(180)
@pytest.mark.parametrize("workers", [[], ["-n", "2"]], ids=["alone", "two workers"])
def test_mutant_of_a_file_is_killed_by_any_test_and_of_a_stub_by_its_own(
    folder: Path, workers: list[str]
) -> None:
    command = ["-m", "pytest", "-q", "-p", "no:cacheprovider", "-W", "ignore", *workers]
    kinds = ["--mockllm-mutants-kinds", "number,argument,refusal,language"]
    process = run(folder, *command, "--mockllm-mutants", "--mockllm-mutants-json", "r.json", *kinds)
    body = json.loads((folder / "r.json").read_text())
    mutants = {
        (
            mutant["kind"],
            mutant["step"],
            *(test.partition("::")[2] for test in mutant["tests"]),
        ): mutant
        for mutant in body["mutants"]
    }
    file_tests = ("test_nothing", "test_sum", "test_text")
    stub = "01 on('hello')/1"
    assert {name: mutant["outcome"] for name, mutant in mutants.items()} == {
        ("argument", "refund/call", *file_tests): "killed",
        ("refusal", "refund/call", *file_tests): "killed",
        ("refusal", "refund/text", *file_tests): "killed",
        ("number", "refund/text", *file_tests): "survived",
        ("refusal", stub, "test_stub"): "killed",
        ("number", stub, "test_stub"): "killed",
        ("language", stub, "test_stub"): "killed",
        ("refusal", stub, "test_lax_stub"): "survived",
        ("number", stub, "test_lax_stub"): "survived",
        ("language", stub, "test_lax_stub"): "survived",
        ("", "refund/never"): "unused",
    }, process.stdout
    assert body["score"] == 0.6 and process.returncode == 1
    assert "6 passed" in process.stdout
    tests = "test_pay.py::test_nothing test_pay.py::test_sum test_pay.py::test_text"
    survivors_line = f"{tests.replace(' ', ', ')} stay green when 19.00 becomes 1900"
    assert survivors_line in process.stdout.splitlines()
    repeat = mutants["number", "refund/text", *file_tests]["repeat"]
    assert repeat.endswith(f"{tests} --mockllm-mutants --mockllm-mutants-only number@refund/text")


@pytest.mark.timeout(120)
def test_fail_under_checks_the_score_of_tests(folder: Path) -> None:
    arguments = ["-m", "pytest", "-q", "-p", "no:cacheprovider", "-W", "ignore", "-k", "test_text"]
    options = ["--mockllm-mutants", "--mockllm-mutants-kinds", "refusal,number"]
    assert run(folder, *arguments, *options, "--mockllm-mutants-fail-under", "50").returncode == 0
    assert run(folder, *arguments, *options, "--mockllm-mutants-fail-under", "90").returncode == 1
    both = run(folder, *arguments, *options, "--mockllm-torture")
    assert both.returncode == 4 and "give one of --mockllm-torture and" in both.stderr
