"""Keys on their way upstream: passed on, repeated by the upstream in every place there is, and not
to be found in anything that is kept."""

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
from tests.conftest import forget
from tests.control.control_client import Control
from tests.hostile.shown import everything_kept, everything_shown, sent

LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
OPENAI = {"model": "gpt-4o", "messages": [{"role": "user", "content": "Hello"}]}
ANTHROPIC = {**OPENAI, "model": "claude-sonnet-4-5", "max_tokens": 9}
GEMINI = {"contents": [{"parts": [{"text": "Hello"}]}]}
VERSION = {"anthropic-version": "2023-06-01"}
NAMES = ("openai", "anthropic", "gemini", "ollama", "groq")
GENERATE = "/v1beta/models/gemini-2.5-flash:generateContent"


class Echo(BaseHTTPRequestHandler):
    """Says all that it heard, in a header and in a body that is cut in the midst of each key."""

    protocol_version = "HTTP/1.1"
    server: "EchoServer"

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("content-length") or 0)).decode()
        said = json.dumps({"heard": [self.path, str(self.headers), body]}).encode()
        self.server.heard.append(said.decode())
        self.send_response(401)
        self.send_header("content-type", "application/json")
        self.send_header("x-request-id", self.headers.get("authorization") or "none")
        self.send_header("transfer-encoding", "chunked")
        self.end_headers()
        for start in range(0, len(said), 11):
            piece = said[start : start + 11]
            self.wfile.write(b"%x\r\n%b\r\n" % (len(piece), piece))
            self.wfile.flush()
        self.wfile.write(b"0\r\n\r\n")

    def log_message(self, format: str, *args: Any) -> None:
        """Nothing."""


class EchoServer(ThreadingHTTPServer):
    """An upstream for every provider."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Echo)
        self.heard: list[str] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"


@contextmanager
def echoing() -> Iterator[EchoServer]:
    """An upstream that runs."""
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
    """What an upstream for every provider has heard."""
    monkeypatch.setenv(ADDRESS_VARIABLE, "127.0.0.1")
    upstreams = services().pipeline.options.upstreams
    with echoing() as server, monkeypatch.context() as patch:
        for name in NAMES:
            patch.setitem(upstreams, name, server.url)  # type: ignore[arg-type]
        yield server.heard
    services().pipeline.recordings.clear()
    services().drifts.clear()
    forget()


def calls(key: Any) -> Iterator[tuple[str, Any, dict[str, str]]]:
    """Requests with keys in every place where one can come."""
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
    own = {"authorization": f"Bearer {key()}"}
    yield "/v1/chat/completions", OPENAI, {**own, "x-proxy-token": key()}
    tool = {"type": "mcp", "server_label": "l", "server_url": "https://m", "authorization": key()}
    yield "/v1/responses", {"model": "m", "input": "x", "tools": [tool]}, own
    yield "/v1/chat/completions", {**OPENAI, "extra": {"api_key": key()}}, own
    # Unreadable bodies are forwarded too.
    yield "/v1/chat/completions", '{"api_key": "' + key() + '", ', own


@pytest.mark.parametrize("through_django", [False, True])
@pytest.mark.parametrize("real", [False, True])
def test_no_key_is_kept_of_what_is_recorded(
    echo: list[str], caplog: pytest.LogCaptureFixture, through_django: bool, real: bool
) -> None:
    control, random = Control(), Random(7)
    caplog.set_level(logging.DEBUG)
    keys: list[str] = []

    def key() -> str:
        keys.append("sk-" + "".join(random.choices(LETTERS, k=40)))
        return keys[-1]

    given = {name: key() for name in NAMES} if real else {}
    control.put("recording", {"mode": "all", "name": "c", "keys": given})
    asked = list(calls(key))
    for path, body, headers in asked:
        status = sent(path, body, headers, through_django=through_django)
        assert status == 401, (path, status)
    # The upstream got each secret, except replaced ones.
    said = "\n".join(echo)
    assert all(one in said for one in (given.values() if real else keys))
    kept = [json.dumps(control.get("recording").json())]
    ended = control.delete("recording").json()
    assert len(ended["document"]["steps"]) == len(asked), ended["notes"]
    kept += [
        json.dumps(ended),
        everything_kept(),
        everything_shown(control, keys[len(given) :][:2]),
        caplog.text,
    ]
    for text in kept:
        for one in keys:
            pieces = (one[at : at + 12] for at in range(3, len(one) - 11))
            assert not [text[max(text.find(p) - 300, 0) :][:400] for p in pieces if p in text]


@pytest.mark.parametrize("through_django", [False, True])
def test_no_key_is_kept_of_what_was_missed(echo: list[str], through_django: bool) -> None:
    control, random = Control(), Random(8)
    keys: list[str] = []

    def key() -> str:
        keys.append("sk-" + "".join(random.choices(LETTERS, k=40)))
        return keys[-1]

    control.put("recording", {"mode": "none"})
    for path, body, headers in calls(key):
        assert sent(path, body, headers, through_django=through_django) >= 400
    assert echo == []
    told = control.delete("recording").content.decode() + control.get("drift").content.decode()
    assert not [one for one in keys if one in told or one[-12:] in told]
