"""Only the operator names commands and addresses of MCP servers, which get no secrets."""

import ast
import json
import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest
from django.apps import apps

from chat_app.tools.servers import HttpServer
from chat_app.tools.toolbox import toolbox
from tests.chat.tools.tool_servers import (
    forked_server,
    http_server,
    open_toolbox,
    unreachable_server,
)

ROOT = Path(__file__).resolve().parents[3]
PACKAGES = ("mockllm_site", "scenarios_app", "chat_app", "traces_app")
# Modules and functions that start processes, including the SDK.
STARTS_PROCESS = re.compile(
    r"(subprocess|multiprocessing|pty|mcp)(\..*)?"
    r"|os\.(system|popen|fork|forkpty|exec\w+|spawn\w+|posix_spawn\w*)"
    r"|asyncio\.(subprocess.*|create_subprocess_\w+)"
    r"|anyio\.(open_process|run_process)"
    r"|concurrent\.futures\.ProcessPoolExecutor"
)
# Modules that start our own server for tests, connect other processes to it, run a command that
# the user typed, or speak MCP as a server.
TESTING_MODULES = ("process", "shared/server_pool", "run", "mcp_server")
ALLOWED_MODULES = {f"scenarios_app/testing/{name}.py" for name in TESTING_MODULES} | {
    "mockllm_site/serve/workers.py",
    "scenarios_app/control/mcp/server.py",
    "scenarios_app/proof/program.py",
    "scenarios_app/testing/simulate/agents.py",
}


def names_used(module: Path) -> Iterator[str]:
    """Return a module's imports and the dotted names that it uses."""
    for node in ast.walk(ast.parse(module.read_text())):
        match node:
            case ast.Import(names=names):
                yield from (alias.name for alias in names)
            case ast.ImportFrom(module=str(name), names=names):
                yield from (f"{name}.{alias.name}" for alias in names)
            case ast.Attribute(value=ast.Name(id=owner), attr=name):
                yield f"{owner}.{name}"


def find_process_starters() -> dict[str, set[str]]:
    starters_by_module = {}
    for package in PACKAGES:
        for path in (ROOT / package).rglob("*.py"):
            if names := {name for name in names_used(path) if STARTS_PROCESS.fullmatch(name)}:
                starters_by_module[str(path.relative_to(ROOT))] = names
    return starters_by_module


def test_no_process_is_started_outside_the_tools() -> None:
    inside = {name for name in find_process_starters() if name.startswith("chat_app/tools/")}
    assert set(find_process_starters()) - inside == ALLOWED_MODULES
    assert "chat_app/tools/mcp.py" in inside


def test_no_stored_field_is_a_command_or_the_address_of_a_tool() -> None:
    fields = {
        f"{model.__name__}.{field.name}"
        for label in ("chat_app", "traces_app")
        for model in apps.get_app_config(label).get_models()
        for field in model._meta.get_fields()
        if re.search(r"command|argv|program|executable|ur[il]$|address", field.name)
    }
    # The address of a provider; the operator decides which hosts are allowed.
    assert fields == {"ModelProfile.base_url"}


def test_no_shipped_fixture_names_a_command() -> None:
    for path in (ROOT / "fixtures").glob("*.json"):
        rows = json.loads(path.read_text())
        keys = {
            key for row in rows if row["model"].startswith("chat_app.") for key in row["fields"]
        }
        assert not keys & {"command", "url", "env", "args"}


async def test_command_in_a_profile_is_not_run(tmp_path: Path) -> None:
    mark = tmp_path / "mark"
    injected = {"command": ["touch", str(mark)]}
    async with open_toolbox({"demo": unreachable_server()}) as tools:
        for name in (injected, json.dumps(injected), f"touch {mark}", ["touch", str(mark)]):
            assert await tools.available_tools([name]) == ()
            outcome = await tools.call([name], "x", arguments="{}")
            assert outcome.code == "NOT_FOUND"
    assert not mark.exists()


async def test_unknown_server_name_is_logged_once(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with open_toolbox({}) as tools:
        for _ in range(3):
            assert await tools.available_tools(["typo"]) == ()
    assert caplog.text.count("MCP server typo: there is none of this name") == 1


async def test_server_process_gets_no_variables_of_ours(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("SECRET_KEY", "OPENAI_API_KEY", "DATABASE_URL", "MOCKLLM_CONTROL_TOKEN"):
        monkeypatch.setenv(name, "canary")
    command = forked_server(environment=(("GIVEN", "1"),))
    async with open_toolbox({"demo": command}) as tools:
        outcome = await tools.call(["demo"], "variables", arguments="{}")
    variable_names = set(outcome.text.split("\n"))
    assert "GIVEN" in variable_names
    # The C library adds some of these.
    allowed = {"HOME", "LOGNAME", "PATH", "SHELL", "TERM", "USER", "GIVEN", "LC_CTYPE"}
    assert variable_names <= allowed


@contextmanager
def fixed_response_server(status: int, headers: dict[str, str]) -> Iterator[tuple[str, list[str]]]:
    """Run an HTTP server with a fixed response; yield its URL and the list of requested paths."""
    requested_paths: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["Content-Length"]))
            requested_paths.append(self.path)
            self.send_response(status)
            for name, value in {**headers, "Content-Length": "0"}.items():
                self.send_header(name, value)
            self.end_headers()

        do_GET = do_DELETE = do_POST

        def log_message(self, format: str, *args: object) -> None:
            pass

    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/mcp", requested_paths
        server.shutdown()
        thread.join()


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
async def test_redirect_of_an_mcp_server_is_not_followed(status: int) -> None:
    with (
        fixed_response_server(200, {}) as (target_url, target_paths),
        fixed_response_server(status, {"Location": target_url}) as (url, paths),
    ):
        async with open_toolbox({"demo": HttpServer(url)}) as tools:
            outcome = await tools.call(["demo"], "add", arguments="{}")
    assert outcome.code == "SERVICE_UNAVAILABLE"
    assert paths
    assert target_paths == []


@pytest.mark.parametrize("status", [200, 202, 401, 404, 500])
async def test_server_without_mcp_is_unreachable(status: int) -> None:
    with fixed_response_server(status, {}) as (url, paths):
        async with open_toolbox({"demo": HttpServer(url)}) as tools:
            assert await tools.available_tools(["demo"]) == ()
    assert paths


async def test_no_proxy_of_the_environment_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.setenv(name, unreachable_server().url)
    with http_server() as server:
        async with open_toolbox({"demo": HttpServer(server.url)}) as tools:
            outcome = await tools.call(["demo"], "echo", arguments='{"text": "direct"}')
    assert outcome.text == "direct"


async def test_invalid_servers_file_is_logged_and_hidden_from_the_model(
    settings: Any, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "servers.json"
    path.write_text('{"demo": {"command": []}}')
    settings.MCP_SERVERS = str(path)
    tools = toolbox()
    assert await tools.available_tools(["demo"]) == ()
    assert f"MCP_SERVERS: {path}: demo.command: expected a list" in caplog.text
    outcome = await tools.call(["demo"], "add", arguments="{}")
    assert outcome.code == "SERVICE_UNAVAILABLE"
    assert outcome.text == "Error: the file of MCP servers cannot be used"


WITHOUT_SDK = """
import asyncio, logging, sys
sys.modules["mcp"] = None
from django.conf import settings
settings.configure(MCP_SERVERS=sys.argv[1], MOCKLLM_ENV="dev", MCP_CALL_SECONDS=30)
logging.basicConfig(format="%(levelname)s %(message)s", stream=sys.stdout, level="INFO")
from chat_app.tools.toolbox import toolbox
async def ask():
    print(await toolbox().available_tools(["demo"]))
    print(await toolbox().available_tools(["demo"]))
    print(await toolbox().call(["demo"], "add", arguments="{}"))
asyncio.run(ask())
"""
MISSING = "MCP servers need one more package: pip install 'mockllm-server[chat]'"


@pytest.mark.parametrize(
    ("servers", "lines"),
    [("", []), ('{"demo": {"command": ["demo"]}}', [f"INFO no tools: {MISSING}"])],
)
def test_missing_sdk_is_logged_once_if_a_server_is_named_and_at_each_call(
    servers: str, lines: list[str], tmp_path: Path
) -> None:
    path = tmp_path / "servers.json"
    path.write_text(servers)
    command = [sys.executable, "-P", "-c", WITHOUT_SDK, str(path) if servers else ""]
    process = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert process.stderr == ""
    assert process.stdout.splitlines() == [
        *lines,
        "()",
        "()",
        f"ERROR tool add: {MISSING}",
        f"ToolOutcome(text=\"Error: {MISSING}\", status='error', code='SERVICE_UNAVAILABLE')",
    ]
