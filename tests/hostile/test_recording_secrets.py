"""Recording forwards API keys to the upstream, which repeats them, and stores none of them."""

import json
import logging
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from random import Random
from threading import Thread
from typing import Any

import pytest

from mockllm_site.kit.api.locality import ADDRESS_VARIABLE
from scenarios_app.serving.services import services
from tests.conftest import reset_server_state
from tests.control.control_client import Control
from tests.hostile.exposure import read_control_api, read_journal, send_request

LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
OPENAI = {"model": "gpt-4o", "messages": [{"role": "user", "content": "Hello"}]}
ANTHROPIC = {**OPENAI, "model": "claude-sonnet-4-5", "max_tokens": 9}
GEMINI = {"contents": [{"parts": [{"text": "Hello"}]}]}
VERSION = {"anthropic-version": "2023-06-01"}
NAMES = ("openai", "anthropic", "gemini", "ollama", "groq")
GENERATE = "/v1beta/models/gemini-2.5-flash:generateContent"


class Echo(BaseHTTPRequestHandler):
    """Repeats the request in a header and in a body whose chunks split each key."""

    protocol_version = "HTTP/1.1"
    server: "EchoServer"

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("content-length") or 0)).decode()
        answer = json.dumps({"heard": [self.path, str(self.headers), body]}).encode()
        self.server.requests.append(answer.decode())
        self.send_response(401)
        self.send_header("content-type", "application/json")
        self.send_header("x-request-id", self.headers.get("authorization") or "none")
        self.send_header("transfer-encoding", "chunked")
        self.end_headers()
        for start in range(0, len(answer), 11):
            piece = answer[start : start + 11]
            self.wfile.write(b"%x\r\n%b\r\n" % (len(piece), piece))
            self.wfile.flush()
        self.wfile.write(b"0\r\n\r\n")

    def log_message(self, format: str, *args: Any) -> None:
        """Log nothing."""


class EchoServer(ThreadingHTTPServer):
    """An upstream for every provider; `requests` are the repeated ones as JSON."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Echo)
        self.requests: list[str] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"


@contextmanager
def run_echo_server() -> Iterator[EchoServer]:
    """Run an upstream."""
    with EchoServer() as server:
        thread = Thread(target=server.serve_forever, daemon=True)
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()


@pytest.fixture
def echo(monkeypatch: pytest.MonkeyPatch, db: None) -> Iterator[list[str]]:
    """The requests that an upstream for every provider got, as JSON."""
    monkeypatch.setenv(ADDRESS_VARIABLE, "127.0.0.1")
    upstreams = services().pipeline.options.upstreams
    with run_echo_server() as server, monkeypatch.context() as patch:
        for name in NAMES:
            patch.setitem(upstreams, name, server.url)
        yield server.requests
    services().pipeline.recordings.clear()
    services().drifts.clear()
    reset_server_state()


def requests_with_keys(key: Any) -> Iterator[tuple[str, Any, dict[str, str]]]:
    """Yield requests with keys in every place where one can be."""
    yield "/v1/chat/completions", OPENAI, {"authorization": f"Bearer {key()}"}
    yield "/v1/responses", {"model": "m", "input": "x"}, {"authorization": f"Bearer {key()}"}
    yield "/v1/embeddings", {"model": "m", "input": "x"}, {"authorization": f"Bearer {key()}"}
    yield "/v1/files", {"a": 1}, {"authorization": f"Bearer {key()}"}
    yield "/openai/deployments/d/chat/completions", OPENAI, {"api-key": key()}
    yield "/groq/openai/v1/chat/completions", OPENAI, {"authorization": f"Bearer {key()}"}
    yield "/v1/messages", ANTHROPIC, {"x-api-key": key(), **VERSION}
    yield "/v1/messages", ANTHROPIC, {"authorization": f"Bearer {key()}", **VERSION}
    yield GENERATE, GEMINI, {"x-goog-api-key": key()}
    yield f"{GENERATE}?key={key()}", GEMINI, {}
    yield "/api/chat", OPENAI, {"authorization": f"Bearer {key()}"}
    bearer = {"authorization": f"Bearer {key()}"}
    yield "/v1/chat/completions", OPENAI, {**bearer, "x-proxy-token": key()}
    tool = {"type": "mcp", "server_label": "l", "server_url": "https://m", "authorization": key()}
    yield "/v1/responses", {"model": "m", "input": "x", "tools": [tool]}, bearer
    yield "/v1/chat/completions", {**OPENAI, "extra": {"api_key": key()}}, bearer
    # Unreadable bodies are forwarded too.
    yield "/v1/chat/completions", '{"api_key": "' + key() + '", ', bearer


@pytest.mark.parametrize("through_django", [False, True])
@pytest.mark.parametrize("real", [False, True])
def test_no_key_of_a_recorded_request_is_stored(
    echo: list[str], caplog: pytest.LogCaptureFixture, through_django: bool, real: bool
) -> None:
    control, random = Control(), Random(7)
    caplog.set_level(logging.DEBUG)
    keys: list[str] = []

    def key() -> str:
        keys.append("sk-" + "".join(random.choices(LETTERS, k=40)))
        return keys[-1]

    real_keys = {name: key() for name in NAMES} if real else {}
    control.put("recording", {"mode": "all", "name": "c", "keys": real_keys})
    requests = list(requests_with_keys(key))
    for path, body, headers in requests:
        status = send_request(path, body, headers, through_django=through_django)
        assert status == 401, (path, status)
    # The upstream got each secret, except replaced ones.
    upstream_requests = "\n".join(echo)
    assert all(each in upstream_requests for each in (real_keys.values() if real else keys))
    texts = [json.dumps(control.get("recording").json())]
    result = control.delete("recording").json()
    assert len(result["document"]["steps"]) == len(requests), result["notes"]
    texts += [
        json.dumps(result),
        read_journal(),
        read_control_api(control, keys[len(real_keys) :][:2]),
        caplog.text,
    ]
    for text in texts:
        for secret in keys:
            pieces = (secret[at : at + 12] for at in range(3, len(secret) - 11))
            assert not [text[max(text.find(p) - 300, 0) :][:400] for p in pieces if p in text]


@pytest.mark.parametrize("through_django", [False, True])
def test_no_key_of_a_missed_request_is_stored(echo: list[str], through_django: bool) -> None:
    control, random = Control(), Random(8)
    keys: list[str] = []

    def key() -> str:
        keys.append("sk-" + "".join(random.choices(LETTERS, k=40)))
        return keys[-1]

    control.put("recording", {"mode": "none"})
    for path, body, headers in requests_with_keys(key):
        assert send_request(path, body, headers, through_django=through_django) >= 400
    assert echo == []
    result = control.delete("recording").content.decode()
    result += control.get("drift").content.decode()
    assert not [secret for secret in keys if secret in result or secret[-12:] in result]
