"""`mockllm mcp`: over HTTP and through pipes, as any MCP client meets it; and what it refuses."""

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


def written(folder: Path, *results: Any, name: str = "tools.json") -> str:
    """A scenario that calls `get` with 0, 1, … and has these results."""
    calls = [
        {"name": "get", "arguments": {"n": n}, "result": result} for n, result in enumerate(results)
    ]
    file = folder / name
    file.write_text(json.dumps({"name": "t", "steps": [{"produce": {"tool_calls": calls}}]}))
    return str(file)


@contextmanager
def over_http(*arguments: str) -> Iterator[str]:
    """The address of a server that listens; ended by a signal it says nothing more."""
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


async def test_over_http_a_client_gets_what_was_recorded(tmp_path: Path) -> None:
    lost = {"fault": "disconnect"}
    file = written(tmp_path, "18", {"text": "Error: no such city", "is_error": True}, lost)
    with over_http(file, "--port", "0") as address:
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
            with pytest.raises(MCPError) as ended:
                await client.call_tool("get", {"n": 2})
            assert ended.value.code == CONNECTION_CLOSED


async def test_through_pipes_a_call_may_take_as_long_as_it_took(tmp_path: Path) -> None:
    slow, never = {"text": "18", "ms": 400}, {"fault": "timeout"}
    arguments = [*COMMAND, written(tmp_path, slow, never), "--pace"]
    server = StdioServerParameters(command=fork_server.python(), args=arguments, env=ENVIRONMENT)
    async with Client(stdio_client(server), cache=None) as client:
        began = time.monotonic()
        result = await client.call_tool("get", {"n": 0})
        assert result.content[0].text == "18"
        assert time.monotonic() - began >= 0.4
        with pytest.raises(TimeoutError), anyio.fail_after(0.5):
            await client.call_tool("get", {"n": 1})
        # The next one is answered all the same.
        assert (await client.call_tool("get", {"n": 0})).content[0].text == "18"


def rpc(method: str, params: Any = None, **more: Any) -> bytes:
    return json.dumps({"jsonrpc": "2.0", "method": method, "params": params, **more}).encode()


def call(name: Any, arguments: bytes) -> bytes:
    """A call with arguments as they are written."""
    params = b'{"name": %b, "arguments": %b}' % (json.dumps(name).encode(), arguments)
    return b'{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": %b}' % params


def piped(lines: Sequence[bytes], *arguments: str) -> dict[Any, Any]:
    """The answers, by id, of a server whose input ends after these lines."""
    who = {"protocolVersion": "2025-06-18", "capabilities": {}}
    start = rpc("initialize", {**who, "clientInfo": {"name": "x", "version": "1"}}, id="start")
    done = subprocess.run(
        [fork_server.python(), *COMMAND, *arguments],
        input=b"\n".join([start, rpc("notifications/initialized"), *lines]),
        capture_output=True,
        env=ENVIRONMENT,
        timeout=SECONDS,
    )
    assert (done.returncode, done.stderr) == (0, b"")
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    by_id = {answer["id"]: answer for answer in answers if answer["id"] != "start"}
    assert len(answers) == len(by_id) + 1
    return by_id


def get(n: int, id: Any) -> bytes:
    return rpc("tools/call", {"name": "get", "arguments": {"n": n}}, id=id)


@pytest.mark.parametrize("options", [[], ["--pace"]], ids=["at_once", "paced"])
def test_calls_under_way_when_the_input_ends_are_answered(
    options: list[str], tmp_path: Path
) -> None:
    slow = {"text": "18", "ms": 300}
    lines = [get(0, n) for n in range(20)] + [get(1, "fast"), rpc("tools/list", id=99)]
    answers = piped(lines, written(tmp_path, slow, "19"), *options)
    texts = [answers[id]["result"]["content"][0]["text"] for id in (*range(20), "fast")]
    assert texts == ["18"] * 20 + ["19"]
    assert [tool["name"] for tool in answers[99]["result"]["tools"]] == ["get"]


def test_input_end_waits_neither_for_recorded_timeouts_nor_for_cancelled_calls(
    tmp_path: Path,
) -> None:
    never, slow = {"fault": "timeout"}, {"text": "18", "ms": 500_000}
    cancelled = rpc("notifications/cancelled", {"requestId": 2})
    # Each would take longer than the test's time limit for the process.
    answers = piped([get(0, 1), get(1, 2), cancelled], written(tmp_path, never, slow), "--pace")
    assert {id: one["error"]["code"] for id, one in answers.items()} == {1: CONNECTION_CLOSED}


def test_server_whose_client_reads_no_more_ends_without_a_traceback(tmp_path: Path) -> None:
    process = subprocess.Popen(
        [fork_server.python(), *COMMAND, written(tmp_path, "18")],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=ENVIRONMENT,
    )
    try:
        assert process.stdout is not None
        process.stdout.close()
        process.stdout = None
        requests = rpc("ping", {}, id=1) + b"\n" + rpc("tools/list", {}, id=2) + b"\n"
        _, errors = process.communicate(requests, SECONDS)
        assert (process.returncode, errors) == (0, b"")
    finally:
        process.kill()
        process.wait()


HOSTILE = (
    b"\x00\xff\xfe no JSON",
    b"{}\n[]\nnull\n7",
    b"[" * 200_000,
    call("get", b'{"a":' * 100_000 + b"1" + b"}" * 100_000),
    call("get", b'{"n": ' + b"9" * 6_000 + b"}"),
    call("get", b'{"n": NaN, "m": 1e999, "n": "\\udfff"}'),
    call("get", b'{"n": "' + b"x" * 20_000_000 + b'"}'),
    call("x" * 5_000_000, b"{}"),
    call(7, b"[1]"),
    call("../../etc/passwd", b'{"n": 0}').replace(b"passwd", b"\xff"),
    rpc("tools/call", id=3),
    rpc("nothing", {}, id=4),
    rpc("resources/read", {"uri": "file:///etc/passwd"}, id=5),
    b'{"jsonrpc": "2.0", "id": 77, "result": {}}',
    b'{"jsonrpc": "1.0", "id": {"a": 1}, "method": 5}',
)


def test_hostile_lines_are_answered_or_dropped_and_the_next_call_is_served(tmp_path: Path) -> None:
    who = {"protocolVersion": "2025-06-18", "capabilities": {}}
    start = rpc("initialize", {**who, "clientInfo": {"name": "x", "version": "1"}}, id=0)
    lines = (b"before the start", start, rpc("notifications/initialized", {}), *HOSTILE)
    process = subprocess.Popen(
        [fork_server.python(), *COMMAND, written(tmp_path, "18")],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=ENVIRONMENT,
    )
    assert process.stdin is not None and process.stdout is not None
    timer = threading.Timer(SECONDS, process.kill)
    timer.start()
    try:
        for line in (*lines, call("get", b'{"n": 0}').replace(b'"id": 1,', b'"id": 99,')):
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
    refusals = {one["id"]: one["error"]["code"] for one in answers if "error" in one}
    assert refusals[4] == refusals[5] == -32601


def refused(*arguments: str) -> str:
    done = subprocess.run(
        [fork_server.python(), *COMMAND, *arguments],
        capture_output=True,
        text=True,
        env=ENVIRONMENT,
        timeout=SECONDS,
    )
    assert (done.returncode, done.stdout) == (1, "")
    return done.stderr


def test_unservable_scenarios_are_one_error_line(tmp_path: Path) -> None:
    missing = str(tmp_path / "nowhere.json")
    said = refused(missing)
    assert said == f"mockllm mcp: {missing}: cannot be read: No such file or directory\n"
    plain = tmp_path / "plain.json"
    plain.write_text('{"name": "t", "steps": [{"produce": {"text": "Hi."}}]}')
    assert refused(str(plain)) == "mockllm mcp: these scenarios have no tools\n"
    broken = written(tmp_path, {"fault": "timeout", "text": "and a text"}, name="broken.json")
    assert "result.text: cannot be combined with fault" in refused(broken)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        said = refused(written(tmp_path, "18"), "--port", port)
    assert said.startswith(f"mockllm mcp: port {port}: Address already in use")
    assert said.count("\n") == 1
    for port in ("65536", "-1"):
        said = refused(written(tmp_path, "18"), "--port", port)
        assert said == f"mockllm mcp: port {port}: expected a number from 0 to 65535\n"


def test_without_the_extra_it_says_what_to_install(tmp_path: Path) -> None:
    """As where the package is missing: it is found by nobody."""
    script = (
        "import sys; sys.modules['mcp'] = None\n"
        "from scenarios_app.testing.mcp import main\n"
        f"sys.exit(main([{written(tmp_path, '18')!r}]))\n"
    )
    done = subprocess.run(
        [sys.executable, "-P", "-c", script], capture_output=True, text=True, timeout=SECONDS
    )
    assert (done.returncode, done.stdout) == (1, "")
    assert "pip install 'mockllm-server[mcp]'" in done.stderr
