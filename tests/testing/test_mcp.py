"""`mockllm mcp` with MCP clients over HTTP and pipes, hostile input, and errors."""

import json
import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp import Client, MCPError, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.types import CONNECTION_CLOSED

from tests.support import fork_server

COMMAND = ("-P", "-m", "mockllm_site", "mcp")
ENVIRONMENT = {"PATH": os.environ["PATH"]}
SECONDS = 60


def write_scenario(folder: Path, *results: Any, name: str = "tools.json") -> str:
    """Write a scenario that calls `get` with 0, 1, … and has these results; return its path."""
    calls = [
        {"name": "get", "arguments": {"n": n}, "result": result} for n, result in enumerate(results)
    ]
    file = folder / name
    file.write_text(json.dumps({"name": "t", "steps": [{"produce": {"tool_calls": calls}}]}))
    return str(file)


@contextmanager
def serve_http(*arguments: str) -> Iterator[str]:
    """Yield the address of a server; assert that it ends quietly after SIGTERM."""
    process = subprocess.Popen(
        [fork_server.python(), *COMMAND, *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=ENVIRONMENT,
    )
    try:
        assert process.stdout is not None
        line = process.stdout.readline()
        assert line.startswith("mockllm mcp ready on http://127.0.0.1:")
        yield line.split()[-1]
        process.terminate()
        assert process.communicate(timeout=SECONDS) == ("", "")
    finally:
        process.kill()
        process.communicate()


async def test_client_over_http_gets_recorded_results(tmp_path: Path) -> None:
    lost = {"fault": "disconnect"}
    file = write_scenario(tmp_path, "18", {"text": "Error: no such city", "is_error": True}, lost)
    with serve_http(file, "--port", "0") as address:
        async with Client(address, cache=None) as client:
            (tool,) = (await client.list_tools()).tools
            assert tool.name == "get"
            good, bad, unknown = [
                await client.call_tool("get", {"n": number}) for number in (0, 1, 7)
            ]
            assert (good.content[0].text, good.is_error) == ("18", False)
            # Clients add the prefix.
            assert (bad.content[0].text, bad.is_error) == ("no such city", True)
            assert unknown.is_error and "was not recorded" in unknown.content[0].text
            with pytest.raises(MCPError) as raised:
                await client.call_tool("get", {"n": 2})
            assert raised.value.code == CONNECTION_CLOSED


async def test_client_over_pipes_gets_results_after_their_recorded_time(tmp_path: Path) -> None:
    slow, never = {"text": "18", "ms": 400}, {"fault": "timeout"}
    arguments = [*COMMAND, write_scenario(tmp_path, slow, never), "--pace"]
    server = StdioServerParameters(command=fork_server.python(), args=arguments, env=ENVIRONMENT)
    async with Client(stdio_client(server), cache=None) as client:
        began = time.monotonic()
        result = await client.call_tool("get", {"n": 0})
        assert result.content[0].text == "18"
        assert time.monotonic() - began >= 0.4
        with pytest.raises(TimeoutError), anyio.fail_after(0.5):
            await client.call_tool("get", {"n": 1})
        # A later call is answered nevertheless.
        assert (await client.call_tool("get", {"n": 0})).content[0].text == "18"


def encode_request(method: str, params: Any = None, **more: Any) -> bytes:
    """Return a JSON-RPC message; `more` has further keys, such as `id`."""
    return json.dumps({"jsonrpc": "2.0", "method": method, "params": params, **more}).encode()


def encode_call(name: Any, arguments: bytes) -> bytes:
    """Return a tool call whose arguments are these bytes."""
    params = b'{"name": %b, "arguments": %b}' % (json.dumps(name).encode(), arguments)
    return b'{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": %b}' % params


def run_with_input(lines: Sequence[bytes], *arguments: str) -> dict[Any, Any]:
    """Return the responses by id of a server whose input ends after these lines."""
    who = {"protocolVersion": "2025-06-18", "capabilities": {}}
    start = encode_request(
        "initialize", {**who, "clientInfo": {"name": "x", "version": "1"}}, id="start"
    )
    process = subprocess.run(
        [fork_server.python(), *COMMAND, *arguments],
        input=b"\n".join([start, encode_request("notifications/initialized"), *lines]),
        capture_output=True,
        env=ENVIRONMENT,
        timeout=SECONDS,
    )
    assert (process.returncode, process.stderr) == (0, b"")
    answers = [json.loads(line) for line in process.stdout.splitlines()]
    by_id = {answer["id"]: answer for answer in answers if answer["id"] != "start"}
    assert len(answers) == len(by_id) + 1
    return by_id


def encode_get_call(n: int, id: Any) -> bytes:
    return encode_request("tools/call", {"name": "get", "arguments": {"n": n}}, id=id)


@pytest.mark.parametrize("options", [[], ["--pace"]], ids=["at_once", "paced"])
def test_calls_under_way_when_the_input_ends_are_answered(
    options: list[str], tmp_path: Path
) -> None:
    slow = {"text": "18", "ms": 300}
    lines = [encode_get_call(0, n) for n in range(20)] + [
        encode_get_call(1, "fast"),
        encode_request("tools/list", id=99),
    ]
    answers = run_with_input(lines, write_scenario(tmp_path, slow, "19"), *options)
    texts = [answers[id]["result"]["content"][0]["text"] for id in (*range(20), "fast")]
    assert texts == ["18"] * 20 + ["19"]
    assert [tool["name"] for tool in answers[99]["result"]["tools"]] == ["get"]


def test_input_end_waits_neither_for_recorded_timeouts_nor_for_cancelled_calls(
    tmp_path: Path,
) -> None:
    never, slow = {"fault": "timeout"}, {"text": "18", "ms": 500_000}
    cancelled = encode_request("notifications/cancelled", {"requestId": 2})
    # Each would take longer than the test's time limit for the process.
    answers = run_with_input(
        [encode_get_call(0, 1), encode_get_call(1, 2), cancelled],
        write_scenario(tmp_path, never, slow),
        "--pace",
    )
    assert {id: answer["error"]["code"] for id, answer in answers.items()} == {1: CONNECTION_CLOSED}


def test_server_whose_client_reads_no_more_ends_without_a_traceback(tmp_path: Path) -> None:
    process = subprocess.Popen(
        [fork_server.python(), *COMMAND, write_scenario(tmp_path, "18")],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=ENVIRONMENT,
    )
    try:
        assert process.stdout is not None
        process.stdout.close()
        process.stdout = None
        requests = (
            encode_request("ping", {}, id=1)
            + b"\n"
            + encode_request("tools/list", {}, id=2)
            + b"\n"
        )
        _, errors = process.communicate(requests, SECONDS)
        assert (process.returncode, errors) == (0, b"")
    finally:
        process.kill()
        process.wait()


HOSTILE = (
    b"\x00\xff\xfe no JSON",
    b"{}\n[]\nnull\n7",
    b"[" * 200_000,
    encode_call("get", b'{"a":' * 100_000 + b"1" + b"}" * 100_000),
    encode_call("get", b'{"n": ' + b"9" * 6_000 + b"}"),
    encode_call("get", b'{"n": NaN, "m": 1e999, "n": "\\udfff"}'),
    encode_call("get", b'{"n": "' + b"x" * 20_000_000 + b'"}'),
    encode_call("x" * 5_000_000, b"{}"),
    encode_call(7, b"[1]"),
    encode_call("../../etc/passwd", b'{"n": 0}').replace(b"passwd", b"\xff"),
    encode_request("tools/call", id=3),
    encode_request("nothing", {}, id=4),
    encode_request("resources/read", {"uri": "file:///etc/passwd"}, id=5),
    b'{"jsonrpc": "2.0", "id": 77, "result": {}}',
    b'{"jsonrpc": "1.0", "id": {"a": 1}, "method": 5}',
)


def test_hostile_lines_are_answered_or_dropped_and_the_next_call_is_served(tmp_path: Path) -> None:
    who = {"protocolVersion": "2025-06-18", "capabilities": {}}
    start = encode_request("initialize", {**who, "clientInfo": {"name": "x", "version": "1"}}, id=0)
    lines = (b"before the start", start, encode_request("notifications/initialized", {}), *HOSTILE)
    process = subprocess.Popen(
        [fork_server.python(), *COMMAND, write_scenario(tmp_path, "18")],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=ENVIRONMENT,
    )
    assert process.stdin is not None and process.stdout is not None
    timer = threading.Timer(SECONDS, process.kill)
    timer.start()
    try:
        for line in (*lines, encode_call("get", b'{"n": 0}').replace(b'"id": 1,', b'"id": 99,')):
            process.stdin.write(line + b"\n")
        process.stdin.flush()
        answers: list[Any] = []
        while not answers or answers[-1].get("id") != 99:
            line = process.stdout.readline()
            assert line, "it has ended"
            # No large text is repeated.
            assert len(line) < 10_000
            answers.append(json.loads(line))
        out, err = process.communicate()
    finally:
        timer.cancel()
        process.kill()
    assert answers[-1]["result"]["content"][0]["text"] == "18"
    assert (process.returncode, out, err) == (0, b"", b"")
    refusals = {answer["id"]: answer["error"]["code"] for answer in answers if "error" in answer}
    assert refusals[4] == refusals[5] == -32601


def run_refused_command(*arguments: str) -> str:
    """Run a command that fails with exit code 1; return its standard error."""
    result = subprocess.run(
        [fork_server.python(), *COMMAND, *arguments],
        capture_output=True,
        text=True,
        env=ENVIRONMENT,
        timeout=SECONDS,
    )
    assert (result.returncode, result.stdout) == (1, "")
    return result.stderr


def test_unservable_scenarios_are_one_error_line(tmp_path: Path) -> None:
    missing = str(tmp_path / "nowhere.json")
    error_line = run_refused_command(missing)
    assert error_line == f"mockllm mcp: {missing}: cannot be read: No such file or directory\n"
    plain_file = tmp_path / "plain.json"
    plain_file.write_text('{"name": "t", "steps": [{"produce": {"text": "Hi."}}]}')
    assert run_refused_command(str(plain_file)) == "mockllm mcp: these scenarios have no tools\n"
    invalid_file = write_scenario(
        tmp_path, {"fault": "timeout", "text": "and a text"}, name="broken.json"
    )
    assert "result.text: cannot be combined with fault" in run_refused_command(invalid_file)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = str(listener.getsockname()[1])
        error_line = run_refused_command(write_scenario(tmp_path, "18"), "--port", port)
    assert error_line.startswith(f"mockllm mcp: port {port}: Address already in use")
    assert error_line.count("\n") == 1
    for port in ("65536", "-1"):
        error_line = run_refused_command(write_scenario(tmp_path, "18"), "--port", port)
        assert error_line == f"mockllm mcp: port {port}: expected a number from 0 to 65535\n"


def test_missing_package_error_names_the_extra(tmp_path: Path) -> None:
    """The import of `mcp` fails as if the package were missing."""
    script = (
        "import sys; sys.modules['mcp'] = None\n"
        "from scenarios_app.testing.mcp import main\n"
        f"sys.exit(main([{write_scenario(tmp_path, '18')!r}]))\n"
    )
    result = subprocess.run(
        [sys.executable, "-P", "-c", script], capture_output=True, text=True, timeout=SECONDS
    )
    assert (result.returncode, result.stdout) == (1, "")
    assert "pip install 'mockllm-server[mcp]'" in result.stderr
