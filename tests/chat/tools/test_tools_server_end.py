"""Servers that stop while an MCP server is open: they print no traceback and leave no process."""

import json
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import pytest

from tests.support import migrated_database

ROOT = Path(__file__).resolve().parents[3]
APP = "mockllm_site.asgi:application"
CALL = {"messages": [{"tool_call": [{"name": "add", "args": {"a": 1, "b": 2}}]}]}
CHAIN = {"instruction_chain": [CALL, {"messages": [{"text": "Three."}]}]}
MESSAGE = f"<|instruction_start|>{json.dumps(CHAIN)}<|instruction_end|>"
SECONDS = 90.0


@pytest.mark.timeout(300)
@pytest.mark.parametrize(
    ("server", "number"),
    [
        (["-m", "daphne", "-p", "{port}", APP], signal.SIGTERM),
        (["manage.py", "runserver", "127.0.0.1:{port}"], signal.SIGINT),
        (["-m", "uvicorn", "--port", "{port}", APP], signal.SIGTERM),
    ],
    ids=["daphne", "runserver", "uvicorn"],
)
def test_server_that_stops_with_an_open_mcp_server_prints_no_traceback(
    server: list[str], number: signal.Signals, tmp_path: Path
) -> None:
    migrated_database.copy_to(tmp_path / "db.sqlite3")
    variables = {k: v for k, v in os.environ.items() if k != "DJANGO_SETTINGS_MODULE"}
    variables |= {"MOCKLLM_ENV": "dev", "DATABASE_URL": f"sqlite:///{tmp_path}/db.sqlite3"}
    profiles = [sys.executable, "manage.py", "loaddata", "profiles"]
    subprocess.run(profiles, cwd=ROOT, env=variables, check=True, stdout=subprocess.DEVNULL)
    with socket.create_server(("127.0.0.1", 0)) as free:
        port: int = free.getsockname()[1]
    with subprocess.Popen(
        [sys.executable, *(part.format(port=port) for part in server)],
        cwd=ROOT,
        env=variables,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    ) as process:
        try:
            wait_until_ready(process, port)
            assert "tool_end" in chat(port) and "Three." in chat(port)
            # As a terminal or a process manager does: the MCP server is in a session of its own.
            os.killpg(process.pid, number)
            # The end of the output is that of the MCP server too, which writes to it as well.
            output, _ = process.communicate(timeout=SECONDS)
        finally:
            process.kill()
    assert "Traceback" not in output and "Error" not in output, output


def wait_until_ready(process: "subprocess.Popen[str]", port: int) -> None:
    until = time.monotonic() + SECONDS
    while process.poll() is None and time.monotonic() < until:
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/readyz", timeout=SECONDS):
                return
        except OSError:
            time.sleep(0.05)
    raise AssertionError("the server did not start")


def chat(port: int) -> str:
    """Return the stream of one message that calls a tool."""
    body = {"client_id": "reader", "message": MESSAGE, "profile": "demo"}
    request = urllib.request.Request(
        f"http://127.0.0.1:{port}/api/get_chat_response_stream",
        data=json.dumps(body).encode(),
        headers={"Content-Type": "application/json"},
    )
    with urllib.request.urlopen(request, timeout=SECONDS) as response:
        return str(response.read().decode())
