"""The bundled MCP server: its tools, both transports, and its imports."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from mcp import Client

from chat_app import loop
from chat_app.tools.demo_server import demo_server
from chat_app.tools.toolbox import toolbox
from tests.chat.tools.tool_servers import child_pids, eventually

MODULE = [sys.executable, "-P", "-m", "chat_app.tools.demo_server"]
IMPORTED = """
import sys
import chat_app.tools.demo_server
print(sorted({name.partition(".")[0] for name in sys.modules} & {"django", "rest_framework"}))
"""


async def test_demo_server_is_reached_by_its_name() -> None:
    before = child_pids()
    tools = toolbox()
    offered = await tools.available_tools(["demo"])
    assert [tool.name for tool in offered] == [
        *("add", "echo", "slow", "fail", "long", "crash"),
        *("get_weather", "find_hotels"),
    ]
    assert all(tool.description for tool in offered)
    assert (await tools.call(["demo"], "slow", arguments='{"seconds": 0}')).text == "That took 0 s."
    assert (await tools.call(["demo"], "long", arguments='{"length": 12}')).text == "012345678901"
    await tools.close()
    assert child_pids() == before


def test_stopping_the_chats_loop_closes_its_mcp_servers() -> None:
    # Another test's server may still be running on this loop.
    loop.stop()
    before = child_pids()
    assert toolbox() is toolbox()
    call = toolbox().call(["demo"], "add", arguments='{"a": 1, "b": 2}')
    assert loop.submit(call).result(60).text == "3"
    assert child_pids() != before
    loop.stop()
    assert child_pids() == before


@pytest.mark.parametrize(
    ("name", "arguments"),
    [("slow", {"seconds": -1}), ("long", {"length": 4_000_001}), ("add", {"a": 1})],
)
async def test_demo_tools_refuse_arguments_out_of_range(
    name: str, arguments: dict[str, int]
) -> None:
    async with Client(demo_server()) as client:
        result = await client.call_tool(name, arguments)
    assert result.is_error


def test_demo_server_imports_no_django() -> None:
    process = subprocess.run(
        [sys.executable, "-P", "-c", IMPORTED], capture_output=True, text=True, timeout=60
    )
    assert (process.stdout, process.stderr) == ("[]\n", "")


async def test_http_demo_server_prints_its_url_and_ends_on_sigterm(tmp_path: Path) -> None:
    process = subprocess.Popen(
        [*MODULE, "--http", "--port", "0"],
        cwd=tmp_path,
        env={"PATH": os.environ["PATH"]},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stdout is not None
        line = process.stdout.readline()
        assert line.startswith("demo ready on http://127.0.0.1:")
        async with Client(line.split()[-1]) as client:
            result = await client.call_tool("add", {"a": 1, "b": 2})
            assert result.structured_content == {"result": 3}
        process.terminate()
        out, err = process.communicate(timeout=30)
    finally:
        process.kill()
        process.communicate()
    assert (out, err) == ("", "")


async def test_demo_server_process_ends_with_its_parent(tmp_path: Path) -> None:
    """This holds even if the parent process is killed."""
    script = (
        "import asyncio, os\n"
        "from django.conf import settings\n"
        "settings.configure(MCP_SERVERS='', MOCKLLM_ENV='dev', MCP_CALL_SECONDS=30)\n"
        "from chat_app.tools.toolbox import toolbox\n"
        "async def use():\n"
        "    await toolbox().available_tools(['demo'])\n"
        "    with open(f'/proc/self/task/{os.getpid()}/children') as file:\n"
        "        print('[' + ','.join(file.read().split()) + ']', flush=True)\n"
        "    os.kill(os.getpid(), 9)\n"
        "asyncio.run(use())\n"
    )
    process = subprocess.run(
        [sys.executable, "-P", "-c", script], capture_output=True, text=True, timeout=60
    )
    (server,) = json.loads(process.stdout)
    await eventually(lambda: not Path(f"/proc/{server}/cmdline").exists())
