"""The bundled server: what it offers, both ways to reach it, and what it does without."""

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
from tests.chat.tools.tool_servers import children, eventually

MODULE = [sys.executable, "-P", "-m", "chat_app.tools.demo_server"]
IMPORTED = """
import sys
import chat_app.tools.demo_server
print(sorted({name.partition(".")[0] for name in sys.modules} & {"django", "rest_framework"}))
"""


async def test_the_process_reaches_it_under_the_name_demo() -> None:
    before = children()
    tools = toolbox()
    found = await tools.available_tools(["demo"])
    assert [tool.name for tool in found] == [
        *("add", "echo", "slow", "fail", "long", "crash"),
        *("get_weather", "find_hotels"),
    ]
    assert all(tool.description for tool in found)
    assert (await tools.call(["demo"], "slow", arguments='{"seconds": 0}')).text == "That took 0 s."
    assert (await tools.call(["demo"], "long", arguments='{"length": 12}')).text == "012345678901"
    await tools.close()
    assert children() == before


def test_the_chats_loop_closes_what_was_opened_on_it() -> None:
    # Another test's server may still be running on this loop.
    loop.stop()
    before = children()
    assert toolbox() is toolbox()
    call = toolbox().call(["demo"], "add", arguments='{"a": 1, "b": 2}')
    assert loop.submit(call).result(60).text == "3"
    assert children() != before
    loop.stop()
    assert children() == before


@pytest.mark.parametrize(
    ("name", "arguments"),
    [("slow", {"seconds": -1}), ("long", {"length": 4_000_001}), ("add", {"a": 1})],
)
async def test_it_refuses_arguments_out_of_range(name: str, arguments: dict[str, int]) -> None:
    async with Client(demo_server()) as client:
        result = await client.call_tool(name, arguments)
    assert result.is_error


def test_it_imports_no_django() -> None:
    done = subprocess.run(
        [sys.executable, "-P", "-c", IMPORTED], capture_output=True, text=True, timeout=60
    )
    assert (done.stdout, done.stderr) == ("[]\n", "")


async def test_over_http_it_says_where_it_is_and_ends_when_it_is_told(tmp_path: Path) -> None:
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


async def test_its_process_ends_with_ours(tmp_path: Path) -> None:
    """Also when ours had no time for a goodbye."""
    script = (
        "import asyncio, os\n"
        "from django.conf import settings\n"
        "settings.configure(MCP_SERVERS='', MOCKLLM_ENV='dev', MCP_CALL_SECONDS=30)\n"
        "from chat_app.tools.toolbox import toolbox\n"
        "async def use():\n"
        "    await toolbox().available_tools(['demo'])\n"
        "    with open(f'/proc/self/task/{os.getpid()}/children') as found:\n"
        "        print('[' + ','.join(found.read().split()) + ']', flush=True)\n"
        "    os.kill(os.getpid(), 9)\n"
        "asyncio.run(use())\n"
    )
    done = subprocess.run(
        [sys.executable, "-P", "-c", script], capture_output=True, text=True, timeout=60
    )
    (server,) = json.loads(done.stdout)
    await eventually(lambda: not Path(f"/proc/{server}/cmdline").exists())
