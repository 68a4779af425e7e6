"""`mockllm torture` with real programs: errors, reports and interruptions."""

import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.proof.dinner import (
    AGENT,
    DINNER,
    agent_command,
    read_outcomes,
    run_sweep,
    start_sweep,
    wait_for,
)


@pytest.mark.timeout(120)
def test_two_sweeps_with_the_same_seed_have_the_same_results(tmp_path: Path, dinner: str) -> None:
    options = ["--scenario", dinner, "--budget", "4", "--seed", "7"]
    matrices, reports = [], []
    for name in ("one.json", "two.json"):
        kinds = ["--kinds", "server_error,refusal,max_tokens"]
        process = run_sweep(*options, *kinds, "--json", name, *agent_command(), folder=tmp_path)
        matrices.append(process.stdout)
        report = json.loads((tmp_path / name).read_text())
        for timed in (report["clean"], *report["cells"]):
            assert timed.pop("seconds") > 0
        reports.append(report)
    assert matrices[0] == matrices[1] and reports[0] == reports[1]
    assert reports[0]["seed"] == 7 and reports[0]["skipped"] == 6
    assert reports[0]["clean"] == {"exit": 0, "requests": 4}


@pytest.mark.parametrize(
    ("code", "message"),
    [
        ("raise SystemExit(3)", "without any trouble the command fails with exit code 3"),
        ("print('hi')", "no step answered: 0 requests came, 0 of them unmatched"),
        ("import time; time.sleep(60)", "has not ended after 2 s; --timeout allows more"),
    ],
)
def test_command_that_cannot_be_swept_is_refused_with_the_reason(
    tmp_path: Path, dinner: str, code: str, message: str
) -> None:
    options = ["--scenario", dinner, "--timeout", "2"]
    process = run_sweep(*options, "--", sys.executable, "-c", code, folder=tmp_path)
    assert process.returncode == 2
    assert message in process.stderr and "Traceback" not in process.stderr


def test_command_whose_runs_differ_is_refused_with_the_first_difference(
    tmp_path: Path, dinner: str
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
    more = {**DINNER, "steps": [*DINNER["steps"], {"produce": {"text": "more"}}]}
    Path(dinner).write_text(json.dumps(more))
    options = ["--scenario", dinner, "--", sys.executable, str(program)]
    process = run_sweep(*options, folder=tmp_path)
    assert process.returncode == 2
    assert "two clean runs differ" in process.stderr
    assert "answer 5 of session key-" in process.stderr and "no answer, then" in process.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--kinds", "refusel", "--", "true"], "no step answered"),
        (["--fail-on", "sad", "--", "true"], "no outcome 'sad'; there are survived,"),
        (["--budget", "10x", "--", "true"], "expected a number from 1 up, got '10x'"),
        (["--jobs", "0", "--", "true"], "expected a number from 1 up, got '0'"),
        (["--seconds", "0", "--", "true"], "expected a number from 1 up, got '0'"),
        ([], "no command: give one after --"),
        (["python", "agent.py"], "unexpected: python agent.py; the command comes after --"),
        (["--scenaro", "x", "--", "true"], "no option --scenaro, did you mean --scenario?"),
        (["--", "no-such-command-here"], "no-such-command-here: no such command"),
    ],
)
def test_wrong_arguments_are_refused_in_one_line(
    tmp_path: Path, arguments: list[str], message: str
) -> None:
    process = run_sweep(*arguments, folder=tmp_path)
    assert process.returncode in (2, 127)
    assert message in process.stderr.splitlines()[-1]


@pytest.mark.timeout(120)
def test_report_that_cannot_be_written_is_named_after_the_others(
    tmp_path: Path, dinner: str
) -> None:
    options = ["--scenario", dinner, "--only", "server_error@1"]
    reports = ["--json", str(tmp_path), "--junit", f"{dinner}/r.xml", "--html", "r.html"]
    process = run_sweep(*options, *reports, *agent_command(), folder=tmp_path)
    assert "1 of " in process.stdout and (tmp_path / "r.html").exists()
    line, folder, file = process.stderr.splitlines()
    assert line == "[1/1] server_error@1: survived"
    assert folder == f"mockllm torture: {tmp_path}: cannot be written: Is a directory"
    assert file.startswith(f"{dinner}/r.xml: cannot be written: ")
    assert process.returncode == 2


@pytest.mark.timeout(120)
@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_interrupted_sweep_prints_what_is_known_and_leaves_no_process(
    number: signal.Signals, code: int, tmp_path: Path, dinner: str
) -> None:
    options = ["--scenario", dinner, "--kinds", "server_error,timeout,slow_start,stall"]
    runs = tmp_path / "runs"
    with start_sweep(
        *options, "--json", "r.json", *agent_command(), folder=tmp_path, RUNS=str(runs)
    ) as process:
        # Two clean runs, a finished run and a running one.
        wait_for(lambda: runs.exists() and runs.read_text().count("run") >= 4)
        process.send_signal(number)
        output, errors = process.communicate(timeout=60)
    assert process.returncode == code, errors
    assert "were left out: the sweep was stopped" in output
    assert json.loads((tmp_path / "r.json").read_text())["skipped"]
    left = subprocess.run(["pgrep", "-f", str(tmp_path)], capture_output=True, check=False)
    assert not left.stdout


@pytest.mark.timeout(120)
def test_two_sweeps_in_one_folder_do_not_disturb_each_other(tmp_path: Path, dinner: str) -> None:
    options = ["--scenario", dinner, "--kinds", "server_error,max_tokens", "--seed", "1"]
    processes = [
        start_sweep(*options, "--json", f"{number}.json", *agent_command("stream"), folder=tmp_path)
        for number in (1, 2)
    ]
    outputs = [process.communicate(timeout=100) for process in processes]
    assert [process.returncode for process in processes] == [0, 0], outputs
    assert outputs[0] == outputs[1]
    assert read_outcomes(tmp_path / "1.json") == read_outcomes(tmp_path / "2.json")


def test_command_that_writes_to_its_folder_is_swept_and_its_files_stay(
    tmp_path: Path, dinner: str
) -> None:
    program = tmp_path / "writing.py"
    program.write_text(
        "import pathlib, runpy, sys\nsys.argv = ['agent']\n"
        "notes = pathlib.Path('notes')\nnotes.mkdir(exist_ok=True)\n"
        "(notes / str(len(list(notes.iterdir())))).touch()\n"
        f"runpy.run_path({str(AGENT)!r}, run_name='__main__')\n"
    )
    options = ["--scenario", dinner, "--kinds", "server_error,refusal", "--json", "r.json"]
    process = run_sweep(*options, "--", sys.executable, str(program), folder=tmp_path)
    assert process.returncode == 0, process.stderr
    assert len(read_outcomes(tmp_path / "r.json")) == 8
    assert len(list((tmp_path / "notes").iterdir())) == 2 + 8
    remaining = {path.name for path in tmp_path.iterdir()}
    assert remaining == {"dinner.json", "writing.py", "notes", "r.json"}
