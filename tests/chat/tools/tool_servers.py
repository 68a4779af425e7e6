"""MCP servers for tests, in process, over stdio and over HTTP, and checks of leaked resources."""

import asyncio
import contextlib
import os
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path

from mcp import Client

from chat_app.tools.mcp import McpConnection
from chat_app.tools.servers import CommandServer, HttpServer, Server
from chat_app.tools.session import Connect
from chat_app.tools.toolbox import McpToolbox
from tests.chat.tools.tool_server import tool_server
from tests.support import fork_server

SCRIPT = Path(__file__).with_name("tool_server.py")
# Starts a new Python process, which tests may kill or stop.
NEW_PROCESS_SERVER = CommandServer((sys.executable, "-P", str(SCRIPT)))
READY_SECONDS = 60.0


def forked_server(*options: str, environment: tuple[tuple[str, str], ...] = ()) -> CommandServer:
    """Return a stdio server whose process is forked from a warm one."""
    return CommandServer((fork_server.python(), "-P", str(SCRIPT), *options), environment)


@dataclass(frozen=True)
class HttpToolServer:
    """A running HTTP server process and its URL."""

    process: "subprocess.Popen[str]"
    url: str

    @property
    def port(self) -> int:
        return int(self.url.split(":")[2].partition("/")[0])

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()


@contextmanager
def http_server(port: int = 0) -> Iterator[HttpToolServer]:
    """Run the tool server over HTTP, on a free port by default."""
    process = subprocess.Popen(
        [fork_server.python(), "-P", str(SCRIPT), "--http", "--port", str(port)],
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    # Killing the process closes its output, which ends the wait for a line.
    timer = threading.Timer(READY_SECONDS, process.kill)
    timer.start()
    try:
        line = process.stdout.readline()
        timer.cancel()
        assert line, "the server did not start"
        yield HttpToolServer(process, line.split()[-1])
    finally:
        timer.cancel()
        process.kill()
        process.communicate()


@asynccontextmanager
async def connect_in_process(
    server: Server, *, ended: Callable[[str], None], changed: Callable[[], None]
) -> AsyncIterator[McpConnection]:
    """Connect to a server in this process and event loop; `server` is ignored."""
    async with Client(tool_server(), cache=None) as client:
        yield McpConnection(client, changed=changed)


@asynccontextmanager
async def open_toolbox(
    servers: Mapping[str, Server], *, connect: Connect | None = None
) -> AsyncIterator[McpToolbox]:
    """Yield a toolbox with these servers and close it at the end."""
    toolbox = McpToolbox(servers=lambda: servers, connect=connect)
    try:
        yield toolbox
    finally:
        await toolbox.close()


def unreachable_server() -> HttpServer:
    """Return a server whose address refuses connections."""
    return HttpServer("http://127.0.0.1:1/mcp")


def child_pids() -> set[int]:
    """Return the ids of child processes that are not reaped."""
    pids: set[int] = set()
    for task in Path("/proc/self/task").iterdir():
        # A thread can end between listing the folder and reading it.
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):
            pids |= {int(pid) for pid in (task / "children").read_text().split()}
    return pids


def open_files() -> Counter[str]:
    """Count the open pipes and sockets of this process."""
    targets = []
    for entry in Path("/proc/self/fd").iterdir():
        try:
            targets.append(os.readlink(entry))
        except FileNotFoundError:
            continue
    kinds = (target.partition(":")[0] for target in targets)
    return Counter(kind for kind in kinds if kind in ("pipe", "socket"))


async def eventually(condition: Callable[[], bool], *, seconds: float = 30) -> None:
    """Poll a condition for which there is no event to wait for."""
    async with asyncio.timeout(seconds):
        while not condition():
            await asyncio.sleep(0.01)
