"""Two servers without shared state on one database: the second is refused at its start."""

import re
import signal
import socket
import subprocess
import sys
from pathlib import Path

import httpx2
import pytest

from tests.serving.processes.serve_process import run_failing_start, run_server
from tests.serving.processes.servers import ROOT

DEV = {"MOCKLLM_ENV": "dev", "MOCKLLM_ADMIN_PASSWORD": "a password of a test"}
SECONDS = 60
LINE = "serves from this database; several processes on one database need a shared state"
APP = "mockllm_site.asgi:application"
OTHER_SERVERS = {
    "uvicorn": ["uvicorn", "--port", "PORT", APP],
    "uvicorn, two workers": ["uvicorn", "--port", "PORT", "--workers", "2", APP],
    "daphne": ["daphne", "-p", "PORT", APP],
}


def run_other_server(name: str, folder: Path) -> "tuple[int, str]":
    """Return exit code and error output of another server that is refused."""
    with socket.create_server(("127.0.0.1", 0)) as free_socket:
        port = str(free_socket.getsockname()[1])
    arguments = [port if part == "PORT" else part for part in OTHER_SERVERS[name]]
    variables = {**DEV, "PYTHONPATH": str(ROOT), "PATH": "/usr/bin:/bin"}
    completed = subprocess.run(
        [sys.executable, "-m", *arguments],
        cwd=folder,
        env=variables,
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    return completed.returncode, completed.stderr


def test_chat_beside_a_server_is_refused_in_one_line(tmp_path: Path) -> None:
    with run_server(tmp_path, warm=True, **DEV):
        done = subprocess.run(
            [sys.executable, "-m", "mockllm_site", "chat"],
            cwd=tmp_path,
            env={**DEV, "PYTHONPATH": str(ROOT), "PATH": "/usr/bin:/bin"},
            input="Hello\n",
            capture_output=True,
            text=True,
            timeout=SECONDS,
            check=False,
        )
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.count("\n") == 1 and LINE in done.stderr


def test_a_second_serve_is_refused_in_one_line(tmp_path: Path) -> None:
    with run_server(tmp_path, warm=True, **DEV):
        code, out, err = run_failing_start(tmp_path, "--port", "0", warm=True, **DEV)
    assert (code, out, err.count("\n")) == (1, "", 1) and LINE in err


def test_workers_without_redis_are_refused_in_one_line(tmp_path: Path) -> None:
    code, out, err = run_failing_start(tmp_path, "--workers", "2", "--port", "0", warm=True, **DEV)
    assert (code, out) == (1, "")
    assert (
        err == "mockllm: --workers 2: more than one process needs a shared state: set REDIS_URL\n"
    )


@pytest.mark.parametrize("name", OTHER_SERVERS)
def test_another_server_is_refused_at_its_start(tmp_path: Path, name: str) -> None:
    with run_server(tmp_path, warm=True, **DEV):
        code, err = run_other_server(name, tmp_path)
    assert LINE in err
    # uvicorn has its own exit codes: 3, and 0 if a worker could not start.
    assert code == {"uvicorn": 3, "uvicorn, two workers": 0, "daphne": 1}[name]


def is_complete(base_url: str, session: str) -> bool:
    """Send a request in the session, and return whether its verdict is complete."""
    body = {"model": "gpt-4o", "messages": [{"role": "user", "content": "Hello"}]}
    headers = {"Authorization": "Bearer k", "X-MockLLM-Session": session}
    httpx2.post(f"{base_url}/v1/chat/completions", json=body, headers=headers)
    verdict = httpx2.get(f"{base_url}/control/verdict", params={"session": session}).json()
    return bool(verdict["complete"])


def test_session_is_not_complete_after_its_server_was_killed(tmp_path: Path) -> None:
    with run_server(tmp_path, warm=True, **DEV) as first:
        assert is_complete(first.base_url, "before")
        first.end(signal.SIGKILL)
    with run_server(tmp_path, warm=True, **DEV) as second:
        assert not is_complete(second.base_url, "before")
        assert is_complete(second.base_url, "after")
        _, _, err = second.end()
    assert re.search(r"process \d+ ended without a shutdown", err)


def test_session_stays_complete_after_a_shutdown(tmp_path: Path) -> None:
    with run_server(tmp_path, warm=True, **DEV) as first:
        assert is_complete(first.base_url, "before")
        first.end()
    with run_server(tmp_path, warm=True, **DEV) as second:
        assert is_complete(second.base_url, "before")


def test_killed_server_does_not_block_the_next(tmp_path: Path) -> None:
    with run_server(tmp_path, warm=True, **DEV) as first:
        first.end(signal.SIGKILL)
        with run_server(tmp_path, warm=True, **DEV) as second:
            code, _, _ = second.end()
    assert code == 0
