"""The operator's file of MCP servers: its format, and errors that name the place."""

import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest

from chat_app.tools.servers import (
    CommandServer,
    HttpServer,
    ServersError,
    named_servers,
    read_servers,
)
from tests.serving.processes.serve_process import run_failing_start, run_server


@pytest.fixture
def servers_file(tmp_path: Path) -> Path:
    return tmp_path / "servers.json"


def write_servers(servers_file: Path, content: Any) -> str:
    servers_file.write_text(content if isinstance(content, str) else json.dumps(content))
    return str(servers_file)


def test_servers_are_commands_or_addresses(servers_file: Path) -> None:
    path = write_servers(
        servers_file,
        {
            "files": {
                "command": ["npx", "-y", "server-files", ""],
                "env": {"ROOT": "/srv", "A": ""},
            },
            "Search.2_x-y": {"url": "https://mcp.example.com:8443/mcp?key=1"},
            "here": {"url": "http://[::1]/mcp"},
        },
    )
    assert read_servers(path) == {
        "files": CommandServer(("npx", "-y", "server-files", ""), (("ROOT", "/srv"), ("A", ""))),
        "Search.2_x-y": HttpServer("https://mcp.example.com:8443/mcp?key=1"),
        "here": HttpServer("http://[::1]/mcp"),
    }


def test_file_without_servers_is_accepted(servers_file: Path) -> None:
    assert read_servers(write_servers(servers_file, {})) == {}


@pytest.mark.parametrize(
    ("content", "error"),
    [
        ("{", "not valid JSON (Expecting property name"),
        ("", "not valid JSON (Expecting value"),
        ("[" * 100_000, "not valid JSON (maximum recursion depth"),
        ([], "expected an object of servers by name, got a list"),
        ("null", "expected an object of servers by name, got null"),
        ({"": {"url": "http://x"}}, "'': a server's name has 1 to 64 letters"),
        ({"a b": {"url": "http://x"}}, "'a b': a server's name has"),
        ({"a" * 65: {"url": "http://x"}}, f"'{'a' * 65}': a server's name has 1 to 64"),
        ('{"a": {"url": "http://x"}, "a": {"url": "http://y"}}', "a: named twice"),
        ('{"a": {"url": "http://x", "url": "http://y"}}', "url: named twice"),
        ({"a": "http://x"}, "a: expected an object with command or url, got text"),
        ({"a": {}}, "a: expected command or url, got neither"),
        ({"a": {"env": {}}}, "a: expected command or url, got neither"),
        ({"a": {"command": ["x"], "url": "http://x"}}, "a: expected command or url, got both"),
        ({"a": {"command": ["x"], "args": []}}, "a.args: unknown key"),
        ({"a": {"url": "http://x", "env": {}}}, "a.env: unknown key"),
        ({"a": {"url": "http://x", "headers": {}}}, "a.headers: unknown key"),
        ({"a": {"command": "npx x"}}, "a.command: expected a list of a program and its arguments"),
        ({"a": {"command": []}}, "a.command: expected a list of a program"),
        ({"a": {"command": [""]}}, "a.command[0]: expected a program, got empty text"),
        ({"a": {"command": ["x", 1]}}, "a.command[1]: expected text, got a number"),
        ({"a": {"command": ["x", "a\0b"]}}, "a.command[1]: expected text, got text with a NUL"),
        (
            {"a": {"command": ["x"], "env": []}},
            "a.env: expected an object of variables, got a list",
        ),
        (
            {"a": {"command": ["x"], "env": {"A": True}}},
            "a.env.A: expected text, got true or false",
        ),
        ({"a": {"command": ["x"], "env": {"": "x"}}}, "a.env: '' cannot be the name of a variable"),
        ({"a": {"command": ["x"], "env": {"A=B": "x"}}}, "a.env: 'A=B' cannot be the name"),
        ({"a": {"url": 1}}, "a.url: expected http://HOST… or https://HOST…, got 1"),
        ({"a": {"url": ""}}, "a.url: expected http://HOST"),
        ({"a": {"url": "mcp.example.com"}}, "a.url: expected http://HOST"),
        ({"a": {"url": "file:///etc/passwd"}}, "a.url: expected http://HOST"),
        ({"a": {"url": "http://"}}, "a.url: expected http://HOST"),
        ({"a": {"url": "http://x:port/"}}, "a.url: expected http://HOST"),
        ({"a": {"url": "http://[x/"}}, "a.url: expected http://HOST"),
        ({"a": {"url": " http://x/"}}, "a.url: expected http://HOST"),
        ({"a": {"url": "http://x/\ny"}}, "a.url: expected http://HOST"),
    ],
)
def test_invalid_file_is_refused_with_the_place(
    servers_file: Path, content: Any, error: str
) -> None:
    path = write_servers(servers_file, content)
    with pytest.raises(ServersError) as raised:
        read_servers(path)
    assert str(raised.value).startswith(f"{path}: {error}")
    assert "\n" not in str(raised.value)


def test_missing_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ServersError, match=r"cannot be read \(No such file"):
        read_servers(str(tmp_path / "none.json"))


@pytest.mark.parametrize("kind", ["directory", "pipe", "device", "large file"])
def test_file_that_is_not_regular_or_too_large_is_refused(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "servers.json"
    match kind:
        case "directory":
            path.mkdir()
        case "pipe":
            os.mkfifo(path)
        case "device":
            path.symlink_to("/dev/zero")
        case _:
            path.touch()
            os.truncate(path, 3 * 1024**3)
    reason = "larger than 1,000,000 bytes" if kind == "large file" else "no regular file"
    with pytest.raises(ServersError, match=rf"cannot be read \({reason}"):
        read_servers(str(path))


def test_binary_file_is_refused(servers_file: Path) -> None:
    servers_file.write_bytes(b"\xff\xfe\x00{")
    with pytest.raises(ServersError, match="not valid JSON"):
        read_servers(str(servers_file))


@pytest.mark.parametrize("mode", ["dev", "test"])
def test_bundled_server_is_the_default(settings: Any, mode: str) -> None:
    settings.MCP_SERVERS, settings.MOCKLLM_ENV = "", mode
    assert named_servers() == {
        "demo": CommandServer((sys.executable, "-P", "-m", "chat_app.tools.demo_server"))
    }


def test_prod_has_no_default_server(settings: Any) -> None:
    settings.MCP_SERVERS, settings.MOCKLLM_ENV = "", "prod"
    assert named_servers() == {}


def test_file_replaces_the_bundled_server(settings: Any, servers_file: Path) -> None:
    settings.MCP_SERVERS = write_servers(servers_file, {"mine": {"command": ["x"]}})
    named_servers()
    assert named_servers() == {"mine": CommandServer(("x",))}


@pytest.mark.parametrize("host", ["127.0.0.1", "127.8.8.8:80", "[::1]:8080", "localhost:9"])
def test_local_http_servers_are_allowed_in_test_mode(
    settings: Any, servers_file: Path, host: str
) -> None:
    settings.MOCKLLM_ENV = "test"
    settings.MCP_SERVERS = write_servers(servers_file, {"a": {"url": f"http://{host}/mcp"}})
    assert named_servers() == {"a": HttpServer(f"http://{host}/mcp")}


@pytest.mark.parametrize("host", ["10.0.0.1", "example.com", "localhost.example.com", "[::2]"])
def test_remote_http_servers_are_refused_in_test_mode(
    settings: Any, servers_file: Path, host: str
) -> None:
    settings.MCP_SERVERS = write_servers(servers_file, {"a": {"url": f"http://{host}/mcp"}})
    settings.MOCKLLM_ENV = "test"
    with pytest.raises(ServersError, match=r"a\.url: in test mode, only servers of this machine"):
        named_servers()
    settings.MOCKLLM_ENV = "dev"
    named_servers()


def test_serve_refuses_an_invalid_file_with_one_line(tmp_path: Path) -> None:
    path = write_servers(tmp_path / "servers.json", {"files": {"command": "rm -rf"}})
    code, out, err = run_failing_start(tmp_path, warm=True, MCP_SERVERS=path)
    assert (code, out) == (1, "")
    assert err.splitlines()[-1].endswith(
        f"MCP_SERVERS: {path}: files.command: expected a list of a program and its arguments"
    )


def test_serve_starts_no_mcp_server_at_its_start(tmp_path: Path) -> None:
    path = write_servers(tmp_path / "servers.json", {"files": {"command": ["touch", "started"]}})
    with run_server(tmp_path, MCP_SERVERS=path) as server:
        code, _, _ = server.end()
    assert code == 0
    assert not (tmp_path / "started").exists()
