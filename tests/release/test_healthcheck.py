"""`mockllm healthcheck`, and the file in which `serve` writes its address."""

import socket
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest

from mockllm_site.serve import healthcheck, server
from tests.fresh.processes import mockllm
from tests.support import fork_server


class Readiness(BaseHTTPRequestHandler):
    """Answers with 200 to the hosts in `accepted`, else with 400."""

    accepted: tuple[str, ...] = ()

    def do_GET(self) -> None:
        is_accepted = self.path == "/readyz" and self.headers["Host"] in self.accepted
        self.send_response(200 if is_accepted else 400)
        self.end_headers()

    def log_message(self, *_: Any) -> None:
        pass


@pytest.fixture
def address(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """Run a server whose address is in the file MOCKLLM_READY_FILE."""
    with HTTPServer(("127.0.0.1", 0), Readiness) as http:
        threading.Thread(target=http.serve_forever, daemon=True).start()
        host = f"127.0.0.1:{http.server_port}"
        monkeypatch.setattr(Readiness, "accepted", (host,))
        (tmp_path / "address").write_text(f"http://{host}\n")
        monkeypatch.setenv("MOCKLLM_READY_FILE", str(tmp_path / "address"))
        monkeypatch.delenv("ALLOWED_HOSTS", raising=False)
        # Probes go to this machine, whatever proxy is set.
        monkeypatch.setenv("http_proxy", "http://127.0.0.1:1")
        yield f"http://{host}"
        http.shutdown()


def test_ready_server_has_exit_code_0(address: str, capsys: Any) -> None:
    assert healthcheck.main([]) == 0
    assert capsys.readouterr().out == f"ready: {address}\n"
    assert healthcheck.main(["--url", f"{address}/"]) == 0


@pytest.mark.parametrize(
    ("hosts", "code"), [("*", 0), ("127.0.0.1", 1), (".mock.example, other", 0), ("other", 1)]
)
def test_request_has_a_host_that_the_server_accepts(
    address: str, monkeypatch: pytest.MonkeyPatch, hosts: str, code: int
) -> None:
    accepted = (*Readiness.accepted, "mock.example")
    monkeypatch.setattr(Readiness, "accepted", accepted)
    monkeypatch.setenv("ALLOWED_HOSTS", hosts)
    assert healthcheck.main([]) == code


def test_server_that_is_not_ready_is_one_line_and_exit_code_1(
    address: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    monkeypatch.setattr(Readiness, "accepted", ())
    file = tmp_path / "address"
    problems = [(file.read_text(), f"{address}/readyz answers 400"), ("", "is empty")]
    problems += [("http://127.0.0.1:1", "no server answers at http://127.0.0.1:1: ")]
    problems += [("nonsense", "no server answers at nonsense: ")]
    for text, problem in problems:
        file.write_text(text)
        assert healthcheck.main([]) == 1
        (line,) = capsys.readouterr().err.splitlines()
        assert line.startswith("mockllm healthcheck: ") and problem in line
    file.unlink()
    assert healthcheck.main([]) == 1
    monkeypatch.delenv("MOCKLLM_READY_FILE")
    assert healthcheck.main([]) == 1
    missing, unnamed = capsys.readouterr().err.splitlines()
    assert "MOCKLLM_READY_FILE: [Errno 2]" in missing and "no server is named" in unnamed


@pytest.mark.parametrize(
    ("host", "printed_host", "file_host"),
    [
        ("127.0.0.1", "127.0.0.1", "127.0.0.1"),
        ("0.0.0.0", "0.0.0.0", "127.0.0.1"),
        ("::", "[::]", "[::1]"),
        ("::1", "[::1]", "[::1]"),
    ],
)
def test_ready_file_has_an_address_that_this_machine_reaches(
    tmp_path: Path, settings: Any, capsys: Any, host: str, printed_host: str, file_host: str
) -> None:
    settings.MOCKLLM_READY_FILE = str(tmp_path / "address")
    with socket.create_server(("127.0.0.1", 0)) as listening_socket:
        port = listening_socket.getsockname()[1]
        server.announce_ready(host, listening_socket)
    assert (tmp_path / "address").read_text() == f"http://{file_host}:{port}\n"
    assert capsys.readouterr().out == f"mockllm ready on http://{printed_host}:{port}\n"


@pytest.mark.process
def test_start_that_fails_leaves_the_ready_file_empty(tmp_path: Path) -> None:
    file = tmp_path / "address"
    file.write_text("http://127.0.0.1:9999\n")
    line = ("serve", "--port", "0", "--fixture", "missing")
    settings = {"MOCKLLM_ENV": "test", "MOCKLLM_READY_FILE": str(file)}
    python = fork_server.python()
    assert mockllm(*line, cwd=tmp_path, python=python, **settings).returncode == 1
    assert file.read_text() == ""
    settings["MOCKLLM_READY_FILE"] = f"{tmp_path}/none/address"
    process = mockllm(*line, cwd=tmp_path, python=python, **settings)
    problem = f"mockllm: MOCKLLM_READY_FILE: {tmp_path}/none/address: No such file or directory\n"
    assert (process.returncode, process.stderr) == (1, problem)
