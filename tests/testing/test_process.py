"""Servers in child processes: failed starts, messages, and the pool that shares them."""

import os
import socket
import subprocess
import sys
import warnings
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from scenarios_app.testing import process
from scenarios_app.testing.control import Control, ServerFailed
from scenarios_app.testing.process import ServerOptions, server_process
from scenarios_app.testing.server import running_server
from scenarios_app.testing.shared.server_pool import ServerPool, server_for
from tests.support import fork_server

pytestmark = pytest.mark.timeout(120)


@pytest.fixture
def warm_server(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fork servers from a process that has imported the code."""
    monkeypatch.setattr(sys, "executable", fork_server.python())


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list["subprocess.Popen[str]"]:
    """Return a list to which each started server is added."""
    processes: list[subprocess.Popen[str]] = []
    start = subprocess.Popen

    def record_start(*args: object, **options: object) -> "subprocess.Popen[str]":
        processes.append(start(*args, **options))
        return processes[-1]

    monkeypatch.setattr(process.subprocess, "Popen", record_start)
    return processes


@pytest.mark.usefixtures("warm_server")
def test_warning_that_is_an_error_leaves_no_server(
    started: list["subprocess.Popen[str]"], tmp_path: Path
) -> None:
    (tmp_path / "a.yaml").write_text("name: a")
    options = ServerOptions(settings={"MOCKLLM_SCENARIOS": str(tmp_path)})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(UserWarning, match="passed over"), server_process(options):
            pass
    (server,) = started
    assert server.returncode is not None


def test_reason_in_another_encoding_is_readable() -> None:
    options = ServerOptions(fixtures=["größe"], settings={"PYTHONIOENCODING": "latin-1"})
    with pytest.raises(ServerFailed, match=r"--fixture gr.+e: No fixture"), server_process(options):
        pass


def fake_server(script: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Run a Python script in place of each server."""
    start = subprocess.Popen

    def start_script(command: list[str], **options: object) -> object:
        return start([command[0], "-c", script], **options)

    monkeypatch.setattr(process.subprocess, "Popen", start_script)


@pytest.mark.parametrize(
    ("script", "reason"),
    [
        (
            "import os, time; os.write(2, b'mockllm: X: no such setting\\n'); time.sleep(9)",
            "the server was not ready after 1 s; its last message: X: no such setting",
        ),
        ("import time; time.sleep(9)", "the server was not ready after 1 s"),
        ("raise SystemExit(3)", "the server ended with exit code 3"),
        ("raise SystemExit('mockllm: no port')", "no port"),
    ],
)
def test_reason_of_a_failed_start_is_the_cause(
    script: str, reason: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake_server(script, monkeypatch)
    with pytest.raises(ServerFailed) as raised, server_process(ServerOptions(timeout=1)):
        pass
    assert str(raised.value) == reason


@pytest.mark.usefixtures("warm_server")
def test_error_of_a_pushed_step_is_the_message_of_the_server() -> None:
    step = {"produce": {"texd": "x"}}
    with running_server([{"name": "s", "steps": [{"produce": {"text": "x"}}]}]) as server:
        with pytest.raises(ServerFailed) as raised:
            server.push(step)
        path = "POST /control/scenarios/s/steps"
        reason = 'produce.texd: unknown key, did you mean "text"?'
        assert str(raised.value) == f"{path}: {reason}"


@pytest.fixture
def pool() -> Iterator[ServerPool]:
    with closing(ServerPool()) as pool:
        yield pool


@pytest.mark.usefixtures("warm_server")
def test_pool_outlives_clients_that_leave_before_they_ask(pool: ServerPool) -> None:
    for data in (b"", b"x", os.urandom(64)):
        with socket.socket(socket.AF_UNIX) as client:
            client.connect(pool.address[0])
            client.sendall(data)
    wrong = (pool.address[0], "another secret")
    with pytest.raises(ServerFailed), server_for({}, pool=wrong):
        pass
    with server_for({}, pool=pool.address) as base_url, closing(Control(base_url)) as control:
        assert control.journal() == []
    assert pool.base_urls() == [base_url]


@pytest.mark.usefixtures("warm_server")
def test_messages_of_a_server_in_the_pool_are_warnings_of_each_worker(
    pool: ServerPool, tmp_path: Path
) -> None:
    (tmp_path / "a.yaml").write_text("name: a")
    config = {"settings": {"MOCKLLM_SCENARIOS": str(tmp_path)}}
    for _ in range(2):
        warned = pytest.warns(UserWarning, match="passed over")
        with warned, server_for(config, pool=pool.address):
            pass
    assert len(pool.base_urls()) == 1
