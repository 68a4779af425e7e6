"""Runs ASGI servers in separate processes, and a client that returns raw responses."""

import contextlib
import http.client
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryFile
from typing import Literal, TextIO, TypeAlias

from tests.serving.cases import Case

ROOT = Path(__file__).resolve().parents[3]
End: TypeAlias = Literal["complete", "cut", "nothing"]
START_SECONDS = 90.0


@dataclass(frozen=True)
class ObservedResponse:
    """A response as a client received it, and how it ended."""

    status: int
    headers: tuple[tuple[str, str], ...]
    body: bytes
    end: End


@contextmanager
def run_asgi_server(server: str, app: str, **variables: str) -> Iterator[int]:
    """Run an application under `uvicorn` or `daphne` and yield its port."""
    variables = variables or {"DJANGO_SETTINGS_MODULE": "tests.settings"}
    inherited = {k: v for k, v in os.environ.items() if k != "DJANGO_SETTINGS_MODULE"}
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port: int = free.getsockname()[1]
    command = {
        "uvicorn": ["uvicorn", "--host", "127.0.0.1", "--port", str(port), "--lifespan", "auto"],
        "daphne": ["daphne", "--bind", "127.0.0.1", "--port", str(port)],
    }[server]
    with TemporaryFile("w+") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", *command, app],
            cwd=ROOT,
            env={**inherited, **variables},
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
        )
        try:
            _wait_for_port(port, process, log)
            yield port
        finally:
            process.terminate()
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def send_case(port: int, case: Case) -> ObservedResponse:
    """Send a case's request unchanged and read the whole response."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    with contextlib.closing(connection):
        connection.request(case.method, case.path, case.body, dict(case.headers))
        try:
            response = connection.getresponse()
        except (http.client.RemoteDisconnected, ConnectionResetError):
            return ObservedResponse(0, (), b"", "nothing")
        end: End = "complete"
        try:
            body = response.read()
        except http.client.IncompleteRead as cut:
            body, end = cut.partial, "cut"
        headers = tuple((name.lower(), value) for name, value in response.getheaders())
        return ObservedResponse(response.status, headers, body, end)


def _wait_for_port(port: int, process: "subprocess.Popen[bytes]", log: TextIO) -> None:
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline:
        if process.poll() is not None:
            log.seek(0)
            raise AssertionError(log.read())
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
            return
        time.sleep(0.05)
    raise AssertionError("the server did not start")
