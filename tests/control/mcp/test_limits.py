"""The MCP server in processes: memory, clients that leave, shutdown, other servers, late import."""

import io
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from unittest.mock import Mock

import httpx2
import pytest

from scenarios_app.testing.control import Control
from scenarios_app.testing.control_mcp import Proxy
from scenarios_app.testing.server import RunningServer, running_server
from tests.control.mcp.agent import http_agent, pipe_agent
from tests.serving.processes.serve_process import run_server as serve
from tests.serving.processes.servers import run_asgi_server

pytestmark = pytest.mark.usefixtures("forked_processes")
CALLS = 1_000
# A leak of one answer per call would exceed this.
MAX_GROWTH_KB = 6_000
MAX_SHUTDOWN_SECONDS = 8.0
TOKEN = "the-token-of-this-test"


@pytest.fixture
def server() -> Iterator[RunningServer]:
    with running_server() as running:
        yield running


def resident_kb(pid: int) -> int:
    status = Path(f"/proc/{pid}/status").read_text()
    return int(status.partition("VmRSS:")[2].split()[0])


async def test_thousand_calls_of_one_client_keep_memory_flat(server: RunningServer) -> None:
    async with http_agent(server.base_url) as agent:
        for _ in range(CALLS // 4):
            await agent.call("list_scenarios")
        before = resident_kb(server.pid)
        for _ in range(CALLS):
            await agent.call("list_scenarios")
        assert resident_kb(server.pid) - before < MAX_GROWTH_KB


async def test_clients_that_leave_in_the_middle_leave_nothing_behind(
    server: RunningServer,
) -> None:
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "verdict"}}
    body = json.dumps(message).encode()
    head = (
        b"POST /control/mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        b"Accept: application/json, text/event-stream\r\nContent-Length: %d\r\n\r\n" % len(body)
    )
    port = int(server.base_url.rpartition(":")[2])
    async with http_agent(server.base_url) as agent:
        await agent.call("list_scenarios")
        before = len(os.listdir(f"/proc/{server.pid}/fd"))
        for sent in [head + body, head + body[:20], head] * 10:
            with socket.create_connection(("127.0.0.1", port)) as client:
                client.sendall(sent)
        deadline = time.monotonic() + 30
        while len(os.listdir(f"/proc/{server.pid}/fd")) > before + 2:
            assert time.monotonic() < deadline, "connections stay open"
            await agent.call("list_scenarios")


async def test_connected_client_does_not_delay_the_shutdown(tmp_path: Path) -> None:
    with serve(tmp_path, warm=True, MOCKLLM_DRAIN_SECONDS="60") as process:
        async with http_agent(process.base_url) as agent:
            await agent.call("list_scenarios")
            started = time.monotonic()
            code, _, errors = process.end()
            assert time.monotonic() - started < MAX_SHUTDOWN_SECONDS
            assert code == 0 and "Traceback" not in errors


async def test_pipes_report_a_server_that_has_gone(tmp_path: Path) -> None:
    with serve(tmp_path, warm=True) as process:
        async with pipe_agent("--url", process.base_url) as agent:
            await agent.call("list_scenarios")
            process.end()
            message = await agent.error("list_scenarios")
    assert message.startswith(f"no mockllm server answers at {process.base_url}: ")


def test_error_of_another_program_is_an_answer_of_the_pipes() -> None:
    # A proxy may respond with JSON that is not an error of the control API.
    output = io.BytesIO()
    control = Mock(spec=Control)
    control.send_request.return_value = httpx2.Response(502, json={"detail": "bad gateway"})
    Proxy(control, output).forward(b'{"jsonrpc": "2.0", "id": 7, "method": "tools/list"}')
    answer = json.loads(output.getvalue())
    assert (answer["id"], answer["error"]["message"]) == (7, "No MCP server answered.")


async def test_token_opens_the_server_in_prod(tmp_path: Path) -> None:
    variables = {"MOCKLLM_ENV": "prod", "SECRET_KEY": "0123456789" * 5}
    with serve(tmp_path, **variables, MOCKLLM_CONTROL_TOKEN=TOKEN) as process:
        async with http_agent(process.base_url, token=TOKEN) as agent:
            assert (await agent.call("unmatched"))["requests"] == []
        environment = {"MOCKLLM_CONTROL_TOKEN": TOKEN, "MOCKLLM_URL": process.base_url}
        async with pipe_agent(env=environment) as agent:
            assert (await agent.call("unmatched"))["requests"] == []
        failed_process = run_pipes("--url", process.base_url)
        assert failed_process.returncode == 1 and failed_process.stdout == b""
        assert (
            b"mockllm control-mcp: GET /control/requests: Send the control" in failed_process.stderr
        )


def run_pipes(*arguments: str, messages: bytes = b"") -> "subprocess.CompletedProcess[bytes]":
    command = [sys.executable, "-m", "mockllm_site", "control-mcp", *arguments]
    return subprocess.run(command, input=messages, capture_output=True, timeout=60, check=False)


def test_pipes_answer_what_they_read_before_their_input_ends(server: RunningServer) -> None:
    hello = {
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": {"name": "t", "version": "1"},
    }
    messages = [
        {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello},
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": "nope"}},
        {"jsonrpc": "2.0", "id": 3, "method": "tools/list", "params": ["no object"]},
    ]
    lines = b"\n".join(json.dumps(message).encode() for message in messages) + b"\nbroken\n"
    process = run_pipes("--url", server.base_url, messages=lines)
    answers = {answer["id"]: answer for answer in map(json.loads, process.stdout.splitlines())}
    assert process.returncode == 0 and set(answers) == {1, 2, 3, None}
    assert answers[2]["error"]["code"] == answers[3]["error"]["code"] == -32602
    assert answers[None]["error"]["code"] == -32700


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--url", "http://127.0.0.1:1"], b"no mockllm server answers at http://127.0.0.1:1: "),
        (
            ["--url", "http://127.0.0.1:1", "--scenario", "a.json"],
            b"--scenario is for a new server",
        ),
        (["--scenario", "missing.json"], b"missing.json"),
    ],
)
def test_pipes_that_cannot_start_say_why_in_one_line(arguments: list[str], message: bytes) -> None:
    process = run_pipes(*arguments)
    assert process.returncode == 1 and process.stdout == b""
    assert message in process.stderr and process.stderr.count(b"\n") == 1


@pytest.mark.parametrize("other", ["uvicorn", "daphne"])
async def test_other_asgi_servers_serve_it(other: str) -> None:
    with run_asgi_server(other, "mockllm_site.asgi:application") as port:
        async with http_agent(f"http://127.0.0.1:{port}") as agent:
            assert (await agent.call("check"))["valid"]
            assert "no scenario" in await agent.error("read_scenario", name="no")


def test_slow_call_does_not_hold_up_answers_of_the_mock(server: RunningServer) -> None:
    document = {"name": "a", "steps": [{"consume": False, "produce": {"text": "Hi!"}}]}
    with httpx2.Client(base_url=server.base_url, trust_env=False, timeout=60) as client:
        client.put("/control/scenarios/a", json=document)
        turns = [{"user": "hello"}] * 100
        call = {"name": "play", "arguments": {"conversation": {"turns": turns}}}
        message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call}
        headers = {"accept": "application/json, text/event-stream"}
        done = threading.Event()

        def play() -> None:
            with httpx2.Client(base_url=server.base_url, trust_env=False, timeout=60) as other:
                other.post("/control/mcp", json=message, headers=headers).raise_for_status()
            done.set()

        client.post("/control/mcp", json=message, headers=headers)
        thread = threading.Thread(target=play)
        thread.start()
        body = {"model": "m", "messages": [{"role": "user", "content": "x"}]}
        answers = 0
        while not done.is_set():
            key = {"authorization": "Bearer k"}
            client.post("/v1/chat/completions", json=body, headers=key).raise_for_status()
            answers += 1
        thread.join()
    assert answers >= 1


def test_signal_ends_the_pipes_and_their_server() -> None:
    command = [sys.executable, "-m", "mockllm_site", "control-mcp"]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert process.stdin is not None and process.stdout is not None
    hello = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
    process.stdin.write(json.dumps(hello).encode() + b"\n")
    process.stdin.flush()
    assert process.stdout.readline()
    process.send_signal(signal.SIGINT)
    assert process.wait(30) == 130
    process.stdin.close()
    process.stdout.close()
