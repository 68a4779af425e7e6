"""The process that forks workers prints once that all are ready, and ends with them."""

import asyncio
import os
import signal
import subprocess
import time
from pathlib import Path

import pytest

from tests.serving.processes.servers import ROOT
from tests.support import fork_server
from tools.soak.leavings import SLOW, ended_with_streams
from tools.soak.servers import run_shared_server

SECONDS = 60
SCRIPT = """
from mockllm_site.kit import env
env.configure()
import django
django.setup()
import os, signal, socket, sys, time
from mockllm_site.serve.server import StartFailed
from mockllm_site.serve.workers import Workers

def serve(ready):
    asked = []
    signal.signal(signal.SIGTERM, lambda *_: asked.append(1))
    {serve}
    ready()
    print("serving", os.getpid(), file=sys.stderr, flush=True)
    while not asked:
        time.sleep(0.01)
    {end}

def say():
    print("ready", flush=True)

with socket.create_server(("127.0.0.1", 0)) as bound:
    try:
        Workers(2, serve, bound=bound, ready=say, drain_seconds=1.0).run()
    except StartFailed as error:
        sys.exit(f"failed: {{error}}")
"""


def start_workers(serve: str = "pass", end: str = "pass") -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [fork_server.python(), "-c", SCRIPT.format(serve=serve, end=end)],
        cwd=ROOT,
        env={"PATH": os.environ["PATH"], "MOCKLLM_ENV": "test", "PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def workers_of(process: "subprocess.Popen[str]", count: int) -> list[int]:
    """Return the pids of the workers that have started, once there are `count` of them."""
    assert process.stderr is not None
    pids: list[int] = []
    while len(pids) < count:
        line = process.stderr.readline()
        assert line, "the workers have ended"
        if line.startswith("serving"):
            pids.append(int(line.split()[1]))
    return pids


def wait_until_ready(process: "subprocess.Popen[str]") -> list[int]:
    """Return the two first workers once their parent, too, knows that both are ready.

    A signal before that would end the parent without its line.
    """
    workers = workers_of(process, 2)
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    return workers


def test_workers_are_ready_once_and_end_at_a_signal() -> None:
    process = start_workers()
    wait_until_ready(process)
    process.terminate()
    out, _ = process.communicate(timeout=SECONDS)
    assert (process.returncode, out) == (0, "")


def test_dead_worker_is_replaced() -> None:
    process = start_workers()
    first, _ = wait_until_ready(process)
    os.kill(first, signal.SIGKILL)
    (third,) = workers_of(process, 1)
    process.send_signal(signal.SIGINT)
    out, _ = process.communicate(timeout=SECONDS)
    assert third != first and (process.returncode, out) == (0, "")


@pytest.mark.parametrize(
    ("serve", "error_text"),
    [
        ('raise StartFailed("no room")', "mockllm: no room\n"),
        ("sys.exit(3)", ""),
        ("os.kill(os.getpid(), signal.SIGKILL)", ""),
        ("1 / 0", "ZeroDivisionError"),
    ],
)
def test_worker_that_does_not_start_ends_all_with_an_error(serve: str, error_text: str) -> None:
    process = start_workers(serve)
    out, err = process.communicate(timeout=SECONDS)
    assert (process.returncode, out) == (1, "") and error_text in err
    assert "failed: a worker did not start; the lines above say why" in err


def test_worker_that_fails_at_its_end_is_reported() -> None:
    process = start_workers(end="sys.exit(5)")
    wait_until_ready(process)
    process.terminate()
    out, err = process.communicate(timeout=SECONDS)
    assert (process.returncode, out) == (1, "")
    assert err.count("ended with exit code 5") == 2
    assert "a worker ended with an error" in err


def test_workers_end_with_a_parent_that_is_killed(tmp_path: Path) -> None:
    with run_shared_server(tmp_path, SLOW, workers=2, warm=False) as server:
        workers = server.children()
        server.process.kill()
        deadline = time.monotonic() + SECONDS
        while any(Path(f"/proc/{pid}").exists() for pid in workers):
            assert time.monotonic() < deadline, "a worker lives on"
            time.sleep(0.05)
    assert len(workers) == 2


def test_running_streams_are_completed_at_the_end(tmp_path: Path) -> None:
    with run_shared_server(tmp_path, SLOW, workers=2) as server:
        end = server.process.terminate
        statuses = asyncio.run(ended_with_streams(server.port, end, count=10))
        code, _, _ = server.wait()
    assert (statuses, code) == ([200] * 10, 0)
