"""Servers that stop while an MCP server is open: they print no traceback and leave no process."""

import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, ClassVar

import pytest

from tests.support import migrated_database

ROOT = Path(__file__).resolve().parents[3]
TOOL_SERVER = Path(__file__).with_name("tool_server.py")
APP = "mockllm_site.asgi:application"
CALL = {"messages": [{"tool_call": [{"name": "add", "args": {"a": 1, "b": 2}}]}]}
CHAIN = {"instruction_chain": [CALL, {"messages": [{"text": "Three."}]}]}
MESSAGE = f"<|instruction_start|>{json.dumps(CHAIN)}<|instruction_end|>"
SECONDS = 90.0


SERVERS = {
    "daphne": (["-m", "daphne", "-p", "{port}", APP], signal.SIGTERM),
    "runserver": (["manage.py", "runserver", "127.0.0.1:{port}"], signal.SIGINT),
    # Without the auto-reloader, which kills the server a quarter of a second after Ctrl-C.
    "runserver_noreload": (
        ["manage.py", "runserver", "--noreload", "127.0.0.1:{port}"],
        signal.SIGINT,
    ),
    "uvicorn": (["-m", "uvicorn", "--port", "{port}", APP], signal.SIGTERM),
}


def stop_after_a_tool_call(
    server: str, folder: Path, mcp_servers: Mapping[str, object] | None = None
) -> str:
    """Stop a server whose chat has called a tool of its MCP server `demo`; return its output."""
    arguments, signal_number = SERVERS[server]
    migrated_database.copy_to(folder / "db.sqlite3")
    variables = {k: v for k, v in os.environ.items() if k != "DJANGO_SETTINGS_MODULE"}
    variables |= {"MOCKLLM_ENV": "dev", "DATABASE_URL": f"sqlite:///{folder}/db.sqlite3"}
    if mcp_servers is not None:
        (folder / "servers.json").write_text(json.dumps(mcp_servers))
        variables["MCP_SERVERS"] = str(folder / "servers.json")
    profiles = [sys.executable, "manage.py", "loaddata", "profiles"]
    subprocess.run(profiles, cwd=ROOT, env=variables, check=True, stdout=subprocess.DEVNULL)
    with socket.create_server(("127.0.0.1", 0)) as free:
        port: int = free.getsockname()[1]
    with subprocess.Popen(
        [sys.executable, *(part.format(port=port) for part in arguments)],
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
            assert "tool_end" in send_tool_message(port) and "Three." in send_tool_message(port)
            # Like a terminal or process manager: the MCP server has its own session.
            os.killpg(process.pid, signal_number)
            # The output ends when the MCP server, which writes to it too, has ended.
            output, _ = process.communicate(timeout=SECONDS)
        finally:
            process.kill()
    return output


@pytest.mark.timeout(300)
@pytest.mark.parametrize("server", SERVERS)
def test_server_that_stops_with_an_open_mcp_server_prints_no_traceback(
    server: str, tmp_path: Path
) -> None:
    output = stop_after_a_tool_call(server, tmp_path)
    assert "Traceback" not in output and "Error" not in output, output


@pytest.mark.timeout(300)
@pytest.mark.parametrize("server", [name for name in SERVERS if name != "runserver"])
def test_mcp_server_that_ignores_the_end_of_its_input_does_not_outlive_the_server(
    server: str, tmp_path: Path
) -> None:
    """Both processes share the output, so reading it ends when both have ended."""
    stubborn = [sys.executable, "-P", str(TOOL_SERVER), "--stubborn"]
    output = stop_after_a_tool_call(server, tmp_path, {"demo": {"command": stubborn}})
    assert "Traceback" not in output and "not closed" not in output, output


class SessionHandler(BaseHTTPRequestHandler):
    """An MCP server of the older protocol, which has sessions that clients end."""

    protocol_version = "HTTP/1.1"
    ended_sessions: ClassVar[list[str]] = []

    def do_POST(self) -> None:
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        results: dict[str, Any] = {
            "initialize": {
                "protocolVersion": "2025-06-18",
                "capabilities": {"tools": {}},
                "serverInfo": {"name": "old", "version": "1"},
            },
            "tools/list": {"tools": [{"name": "add", "inputSchema": {"type": "object"}}]},
            "tools/call": {"content": [{"type": "text", "text": "3"}]},
        }
        answer = {"jsonrpc": "2.0", "id": request.get("id")}
        if (result := results.get(request["method"])) is not None:
            self.reply(200, {**answer, "result": result})
        elif "id" in request:
            self.reply(200, {**answer, "error": {"code": -32601, "message": "unknown method"}})
        else:
            self.reply(202)

    def do_GET(self) -> None:
        self.reply(405)

    def do_DELETE(self) -> None:
        self.ended_sessions.append(self.headers["Mcp-Session-Id"])
        self.reply(200)

    def reply(self, status: int, value: object = None) -> None:
        body = b"" if value is None else json.dumps(value).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Mcp-Session-Id", "the-session")
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


@pytest.mark.timeout(300)
@pytest.mark.parametrize("server", SERVERS)
def test_server_that_stops_ends_its_session_at_an_http_mcp_server(
    server: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(SessionHandler, "ended_sessions", [])
    with ThreadingHTTPServer(("127.0.0.1", 0), SessionHandler) as http:
        http.daemon_threads = True
        threading.Thread(target=http.serve_forever, daemon=True).start()
        url = f"http://localhost:{http.server_port}/mcp"
        output = stop_after_a_tool_call(server, tmp_path, {"demo": {"url": url}})
        http.shutdown()
    assert SessionHandler.ended_sessions == ["the-session"], output
    assert "Traceback" not in output and "not closed" not in output, output


def wait_until_ready(process: "subprocess.Popen[str]", port: int) -> None:
    deadline = time.monotonic() + SECONDS
    while process.poll() is None and time.monotonic() < deadline:
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/readyz", timeout=SECONDS):
                return
        except OSError:
            time.sleep(0.05)
    raise AssertionError("the server did not start")


def send_tool_message(port: int) -> str:
    """Return the stream of one message that calls a tool."""
    body = {"client_id": "reader", "message": MESSAGE, "profile": "demo"}
    request = urllib.request.Request(
        f"http://127.0.0.1:{port}/api/get_chat_response_stream",
        data=json.dumps(body).encode(),
        headers={"Content-Type": "application/json"},
    )
    with urllib.request.urlopen(request, timeout=SECONDS) as response:
        return str(response.read().decode())
