"""`mockllm run -- COMMAND`: the command's exit code, then the verdict's, and its signals."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.project import processes
from tests.support import fork_server

pytestmark = pytest.mark.process

STEPS = [
    {"match": {"messages": [{"contains": text}]}, "produce": {"text": text.upper()}}
    for text in ("hello", "bye")
]
ASK = """
import os, sys, urllib.request, json
request = urllib.request.Request(
    os.environ["OPENAI_BASE_URL"] + "/chat/completions",
    json.dumps({"model": "m", "messages": [{"role": "user", "content": sys.argv[1]}]}).encode(),
    {"Authorization": "Bearer " + os.environ["OPENAI_API_KEY"]},
)
print(json.load(urllib.request.urlopen(request))["choices"][0]["message"]["content"])
"""
NO_REQUESTS = "mockllm: passed: the run, 0 requests"
WAIT_FOR_SIGNAL = """
import signal, sys
signal.signal(signal.SIGTERM, lambda *_: sys.exit(7))
print("ready", flush=True)
signal.pause()
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "steps.json").write_text(json.dumps({"name": "steps", "steps": STEPS}))
    (tmp_path / "ask.py").write_text(ASK)
    return tmp_path


def run(
    folder: Path, *arguments: str, command: tuple[str, ...] = ()
) -> subprocess.CompletedProcess[str]:
    """Run `mockllm run`, forked from a warm process unless `command` is given."""
    # The command's settings must not affect the server.
    variables = {"DJANGO_SETTINGS_MODULE": "of.somebody.else", "MOCKLLM_ENV": "nonsense"}
    command = command or (fork_server.python(), "-P", "-m", "mockllm_site")
    return processes.run(*command, "run", *arguments, cwd=folder, variables=variables)


def ask(
    folder: Path, text: str, *options: str, command: tuple[str, ...] = ()
) -> subprocess.CompletedProcess[str]:
    arguments = ("--scenario", "steps.json", *options, "--", sys.executable, "ask.py", text)
    return run(folder, *arguments, command=command)


def test_output_is_the_commands_and_the_verdict_goes_to_standard_error(folder: Path) -> None:
    result = ask(folder, "hello", command=(str(processes.COMMAND),))
    outcome = (result.returncode, result.stdout, result.stderr)
    assert outcome == (0, "HELLO\n", "mockllm: passed: the run, 1 request\n")


def test_failed_verdict_is_the_exit_code_of_a_command_that_succeeds(folder: Path) -> None:
    result = ask(folder, "hello", "--strict")
    assert (result.returncode, result.stdout) == (1, "HELLO\n")
    assert "never served: steps, step 2" in result.stderr


def test_unknown_url_of_a_command_fails_the_verdict_and_is_named(folder: Path) -> None:
    (folder / "lost.py").write_text(
        ASK.replace('"/chat/completions"', '"/threads"').replace(
            "print(json", "import urllib.error\ntry:\n    print(json"
        )
        + "except urllib.error.HTTPError as error:\n    print(error.code)\n"
    )
    result = run(folder, "--", sys.executable, "lost.py", "hello")
    assert (result.returncode, result.stdout) == (1, "404\n")
    assert "FAILED: the run, 1 request, 1 unmatched" in result.stderr
    assert "unmatched: /v1/threads: Unknown request URL: POST /v1/threads." in result.stderr


def test_strict_run_without_requests_fails(folder: Path) -> None:
    result = run(folder, "--scenario", "steps.json", "--strict", "--", "true")
    assert result.returncode == 1
    assert "never served: steps, step 1" in result.stderr


def test_run_without_requests_hints_that_no_client_used_the_server(folder: Path) -> None:
    result = run(folder, "--scenario", "steps.json", "--", "true")
    verdict_line, hint = result.stderr.splitlines()
    assert (result.returncode, verdict_line) == (0, NO_REQUESTS)
    assert hint.startswith("never asked: any provider. No request came; ")


def test_notes_about_scenario_files_are_one_line_each(folder: Path) -> None:
    match = {"provider": "openai", "path": "/v1/chat/completions", "recorded": {"body": {}}}
    step = {"match": match, "produce": {"text": "Hello."}}
    (folder / "recorded").mkdir()
    for name in ("one", "other"):
        document = {"name": name, "tags": ["recording"], "steps": [step]}
        (folder / "recorded" / f"{name}.json").write_text(json.dumps(document))
    result = run(folder, "--scenario", "recorded", "--", "true")
    note, verdict_line, _ = result.stderr.splitlines()
    assert note.startswith("mockllm: recorded/other.json: other: 1 of 1 requests are in one too")
    assert verdict_line == NO_REQUESTS


def test_exit_code_of_a_failed_command_is_returned(folder: Path) -> None:
    result = run(folder, "--", sys.executable, "-c", "raise SystemExit(3)")
    assert (result.returncode, result.stderr.splitlines()[0]) == (3, NO_REQUESTS)
    killed = run(folder, "--", "sh", "-c", "kill -KILL $$")
    assert killed.returncode == 128 + signal.SIGKILL


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        ((), 2, "mockllm run: no command: give one after --"),
        (("--", "no-such-command"), 127, "mockllm run: no-such-command: no such command"),
        (("--", "./ask.py"), 126, "mockllm run: ./ask.py: Permission denied"),
        (
            ("--scenario", "none.json", "--", "true"),
            1,
            "mockllm run: none.json: cannot be read: No such file or directory",
        ),
    ],
)
def test_command_that_cannot_run_is_one_error_line(
    folder: Path, arguments: tuple[str, ...], code: int, message: str
) -> None:
    result = run(folder, *arguments)
    assert (result.returncode, result.stdout, result.stderr) == (code, "", f"{message}\n")


def test_signal_is_forwarded_to_the_command(folder: Path) -> None:
    process = subprocess.Popen(
        [processes.COMMAND, "run", "--", sys.executable, "-c", WAIT_FOR_SIGNAL],
        cwd=folder,
        env={"PATH": os.environ["PATH"]},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    process.send_signal(signal.SIGTERM)
    _, errors = process.communicate(timeout=60)
    assert (process.returncode, errors.splitlines()[0]) == (7, NO_REQUESTS)


def test_run_is_also_a_management_command(folder: Path) -> None:
    result = processes.python("-m", "mockllm_site", "help", "run", cwd=folder)
    assert result.returncode == 0
    assert "-- COMMAND" in result.stdout
    command_list = processes.python("-m", "mockllm_site", "--help", cwd=folder)
    assert "  run " in command_list.stdout
