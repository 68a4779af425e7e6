"""The copied curl command, run in a shell, sends the same bytes and touches no files."""

import shutil
import subprocess
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import pytest
from django.test import Client

from scenarios_app.admin.journal.from_request import curl_of
from tests.admin.traffic import create_journal_row
from tests.support.required_services import require

pytestmark = pytest.mark.django_db

BODIES = [
    "@/etc/passwd",
    "@-",
    "@",
    "<@/etc/passwd",
    "=@/etc/passwd",
    "name@/etc/passwd",
    "-o/tmp/out",
    "--config /etc/passwd",
    "'",
    '"',
    "'; touch owned; '",
    '$(touch owned) `touch owned` "$HOME"',
    "\\",
    "\\'\\\"",
    "a\nb\r\nc\n",
    "\n",
    "\ttab\x01\x1b[31m",
    "!history !!",
    "%s %n %%",
    "{a,b} [1-3] *?~",
    "#comment",
    "a & b | c > d < e ; f",
    "ünïcödé – 日本語 🙂",
    '{"text": "\\u0000"}',
    '{"model": "gpt-4o", "messages": [{"role": "user", "content": "it\'s"}]}',
    "a=b&c=d%20e+f",
    " leading and trailing ",
    "(parens) [brackets] {braces}",
    "x" * 20_000,
    "-",
    "-n %s\\n 'é' " + "x" * 300_000,
]
PATHS = ["/v1/chat/completions", "/v1/{a,b}/[1-3]", "/a/../b/./c", "/m%2Fodel:generate", "/-x//y"]
QUERIES: list[dict[str, str]] = [
    {"a": "b c", "d": "e&f=g"},
    {"[1-3]": "{x,y}", "q": "#frag?"},
    {"ü": "'\"$(touch owned)"},
]


class RecordingServer(HTTPServer):
    """An HTTP server that stores the requests it receives."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), RequestHandler)
        self.requests: list[tuple[str, str, dict[str, str], bytes]] = []

    @property
    def origin(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"


class RequestHandler(BaseHTTPRequestHandler):
    server: RecordingServer

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("content-length", 0)))
        headers = {name.lower(): value for name, value in self.headers.items()}
        self.server.requests.append((self.command, self.path, headers, body))
        self.send_response(204)
        self.end_headers()

    do_GET = do_DELETE = do_POST

    def log_message(self, *_: Any) -> None:
        """Write no access log."""


@pytest.fixture(scope="module")
def server() -> Iterator[RecordingServer]:
    require(shutil.which("curl") is not None, "there is no curl")
    with RecordingServer() as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield server
        server.shutdown()


def run(
    server: RecordingServer, folder: Any, **columns: Any
) -> tuple[str, str, dict[str, str], bytes]:
    """Run the curl command of a journal row in Bash; return method, path, headers and body."""
    server.requests.clear()
    command = curl_of(create_journal_row(**columns), server.origin)
    process = subprocess.run(
        ["bash"], input=command.encode(), cwd=folder, capture_output=True, timeout=30, check=False
    )
    assert process.returncode == 0, process.stderr
    assert list(folder.iterdir()) == []
    (request,) = server.requests
    return request


@pytest.mark.parametrize("body", BODIES, ids=range(len(BODIES)))
def test_curl_command_sends_the_same_body(
    server: RecordingServer, tmp_path: Any, body: str
) -> None:
    headers = {"Content-Type": "application/json", "Authorization": "Bearer ***1234"}
    method, path, received_headers, received_body = run(
        server, tmp_path, request_body=body, request_headers=headers, method="POST"
    )
    assert (method, path, received_body) == ("POST", "/v1/chat/completions", body.encode())
    assert received_headers["content-type"] == "application/json"
    assert received_headers["authorization"] == "Bearer any"


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("query", QUERIES, ids=range(len(QUERIES)))
def test_curl_command_requests_the_same_address(
    server: RecordingServer, tmp_path: Any, path: str, query: dict[str, str]
) -> None:
    _, target, _, _ = run(server, tmp_path, path=path, query=query, method="GET")
    parts = urlsplit(target)
    raw = path.replace("{", "%7B").replace("}", "%7D").replace("[", "%5B").replace("]", "%5D")
    assert parts.path == raw
    assert dict(parse_qsl(parts.query)) == query


def test_curl_command_sends_the_same_headers(server: RecordingServer, tmp_path: Any) -> None:
    headers = {"x-empty": "", "x-team": "@/etc/passwd", "@/etc/passwd": "x", "x-odd": "a'b\"c"}
    _, _, sent, body = run(
        server, tmp_path, request_headers=headers, request_body="{}", method="POST"
    )
    assert (sent["x-empty"], sent["x-team"], sent["x-odd"]) == ("", "@/etc/passwd", "a'b\"c")
    assert "content-type" not in sent
    assert body == b"{}"
    assert not any("root:" in value for value in sent.values())


def test_curl_command_quotes_its_values_and_contains_no_mask(root: Client) -> None:
    row = create_journal_row(
        request_headers={"authorization": "Bearer ***"}, query={"beta": "true"}
    )
    page = root.get(f"/admin/scenarios_app/servedrequest/{row.pk}/change/")
    command = page.context["curl"]
    assert command.startswith(
        "curl -N -g --path-as-is -X POST 'http://testserver/v1/chat/completions?beta=true'"
    )
    assert "'authorization: Bearer any'" in command
    assert "***" not in command
