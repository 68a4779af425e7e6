"""A process of the fork server behaves like a new interpreter."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support import fork_server

REPORT = """
import json, os, signal, sys, threading
from django.conf import settings
numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGCHLD, signal.SIGPIPE)
streams = (sys.stdin, sys.stdout, sys.stderr)
print(json.dumps({
    "name": __name__,
    "arguments": sys.argv,
    "path": sys.path,
    "folder": os.getcwd(),
    "environment": dict(os.environ),
    "read": sys.stdin.read(),
    "streams": [(s.encoding, s.errors, s.line_buffering, s.fileno()) for s in streams],
    "signals": [repr(signal.getsignal(number)) for number in numbers],
    "threads": threading.active_count(),
    "files": sorted(os.listdir("/proc/self/fd")),
    "settings": settings.configured or "mockllm_site.settings" in sys.modules,
}))
print("größer", file=sys.stderr)
sys.exit(3)
"""


def run(python: str, *arguments: str, folder: Path, **variables: str) -> tuple[int, str, str]:
    process = subprocess.run(
        [python, *arguments],
        cwd=folder,
        env={"PATH": os.environ["PATH"], **variables},
        input="Hällo",
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    return process.returncode, process.stdout, process.stderr


@pytest.mark.parametrize("safe", [["-P"], []], ids=["safe path", "with its folder"])
@pytest.mark.parametrize(("mode", "locale"), [("-c", "C"), ("-m", "C.UTF-8"), ("script", "")])
def test_forked_process_starts_like_a_new_interpreter(
    tmp_path: Path, mode: str, locale: str, safe: list[str]
) -> None:
    (tmp_path / "report.py").write_text(REPORT)
    arguments = {"-c": ["-c", REPORT], "-m": ["-m", "report"], "script": [f"{tmp_path}/report.py"]}[
        mode
    ]
    variables = {"PYTHONPATH": str(tmp_path), "MOCKLLM_ENV": "prod", "LC_ALL": locale}
    forked, fresh = (
        run(python, *safe, *arguments, "a", "-b", folder=tmp_path, **variables)
        for python in (fork_server.python(), sys.executable)
    )
    assert (forked[0], forked[2]) == (3, "größer\n")
    assert json.loads(forked[1]) == json.loads(fresh[1])
    assert forked == fresh


def test_hash_seed_starts_a_new_interpreter(tmp_path: Path) -> None:
    first_hash, second_hash = (
        run(fork_server.python(), "-c", "print(hash('x'))", folder=tmp_path, PYTHONHASHSEED="1")
        for _ in range(2)
    )
    assert (
        first_hash
        == second_hash
        != run(fork_server.python(), "-c", "print(hash('x'))", folder=tmp_path)
    )


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_signal_ends_forked_process(tmp_path: Path, number: signal.Signals) -> None:
    process = subprocess.Popen(
        [fork_server.python(), "-c", "print('on', flush=True); import time; time.sleep(600)"],
        stdout=subprocess.PIPE,
        text=True,
    )
    with process:
        assert process.stdout is not None
        assert process.stdout.readline() == "on\n"
        process.send_signal(number)
        # The end of the pipe shows that the forked process has ended too, not only its client.
        assert process.stdout.read() == ""
    assert process.returncode == -number


def test_forked_process_can_handle_a_signal(tmp_path: Path) -> None:
    handler_code = "import signal, sys, time; signal.signal(signal.SIGTERM, lambda *_: sys.exit(7))"
    # Short waits: the signal handler runs between two of them.
    wait_code = "print('on', flush=True); [time.sleep(0.05) for _ in range(1200)]"
    process = subprocess.Popen(
        [fork_server.python(), "-c", f"{handler_code}; {wait_code}"],
        stdout=subprocess.PIPE,
        text=True,
    )
    with process:
        assert process.stdout is not None
        assert process.stdout.readline() == "on\n"
        process.terminate()
    assert process.returncode == 7
