"""Under every server, a site's own middleware sees the requests of all providers.

Each server runs in a process of its own, with a settings module that adds middleware.
"""

import json
import os
import select
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest

from scenarios_app.wire.registry import wires
from tests.serving.pipelines import scenario, text_step

ROOT = Path(__file__).resolve().parents[2]
START_SECONDS = 90.0
MAX_BODY = 100_000
SETTINGS = """
from mockllm_site.settings_test import *
MIDDLEWARE = ["site_settings.mark", *MIDDLEWARE{more}]

def mark(get_response):
    async def middleware(request):
        response = await get_response(request)
        response.headers["x-site"] = "seen"
        return response
    return middleware
mark.async_capable, mark.sync_capable = True, False

def mark_in_thread(get_response):
    def middleware(request):
        response = get_response(request)
        response.headers["x-thread"] = "seen"
        return response
    return middleware
"""
SERVERS = {
    "uvicorn": ["-m", "uvicorn", "--port", "{port}", "mockllm_site.asgi:application"],
    "daphne": ["-m", "daphne", "-p", "{port}", "mockllm_site.asgi:application"],
    "serve --no-fast": ["-m", "mockllm_site", "serve", "--no-fast", "--port", "{port}"],
    "runserver": ["-m", "mockllm_site", "runserver", "--noreload", "127.0.0.1:{port}"],
}
CHAT = {"model": "m", "messages": [{"role": "user", "content": "Hello"}], "max_tokens": 9}
GEMINI = {"contents": [{"role": "user", "parts": [{"text": "Hello"}]}]}
ENDPOINTS: list[tuple[str, str, Any, int]] = [
    *(
        (f"{path} {kind}", path, {**body, **({"stream": True} if kind == "streamed" else {})}, 200)
        for kind in ("whole", "streamed")
        for path, body in (
            ("/v1/chat/completions", CHAT),
            ("/v1/responses", {"model": "m", "input": "Hello"}),
            ("/v1/messages", CHAT),
            ("/groq/openai/v1/chat/completions", CHAT),
            ("/openai/deployments/m/chat/completions?api-version=1", CHAT),
        )
    ),
    ("Gemini whole", "/v1beta/models/m:generateContent", GEMINI, 200),
    ("Gemini streamed", "/v1beta/models/m:streamGenerateContent?alt=sse", GEMINI, 200),
    ("Ollama whole", "/api/chat", {**CHAT, "stream": False}, 200),
    ("Ollama streamed", "/api/chat", {**CHAT, "stream": True}, 200),
    ("delayed", "/v1/chat/completions", {**CHAT, "model": "late"}, 200),
    ("malformed", "/v1/chat/completions", {}, 400),
    ("unknown URL", "/chat/completions", CHAT, 404),
    ("unowned URL", "/model/m/converse", {}, 404),
    ("too large", "/v1/chat/completions", {**CHAT, "padding": "x" * MAX_BODY}, 413),
    *(
        (f"below {prefix}", f"{prefix}no/such/path", {}, 404)
        for prefix in sorted({prefix for wire in wires() for prefix in wire.prefixes})
        if prefix.endswith("/")
    ),
]
HEADERS = {
    "authorization": "Bearer k",
    "x-api-key": "k",
    "api-key": "k",
    "x-goog-api-key": "k",
    "anthropic-version": "2023-06-01",
}
WAITING_ANSWERS = 100


@contextmanager
def run_site(folder: Path, server: str, *middleware: str) -> Iterator[str]:
    """Run a site with its own middleware, also `middleware` after ours; yield its address."""
    late = text_step("late", match={"model": "late"})
    late["produce"]["latency_ms"] = 20
    endless = text_step("endless", match={"model": "endless"})
    endless["produce"]["latency_ms"] = 600_000
    documents = [scenario("waits", late, endless), scenario("any", text_step("Hi!"))]
    more = "".join(f", 'site_settings.{name}'" for name in middleware)
    (folder / "site_settings.py").write_text(SETTINGS.replace("{more}", more))
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    variables = {
        "PATH": os.environ["PATH"],
        "PYTHONPATH": f"{folder}{os.pathsep}{ROOT}",
        "DJANGO_SETTINGS_MODULE": "site_settings",
        "MOCKLLM_MAX_BODY_BYTES": str(MAX_BODY),
    }
    command = [sys.executable, *(word.format(port=port) for word in SERVERS[server])]
    with open(folder / "log", "wb") as log:
        process = subprocess.Popen(command, cwd=folder, env=variables, stdout=log, stderr=log)
        try:
            _wait_for_port(port, process, folder / "log")
            address = f"http://127.0.0.1:{port}"
            with client_of(address) as client:
                loaded = client.post("/control/scenarios", json={"scenarios": documents})
                assert loaded.status_code == 201, loaded.text
            yield address
        finally:
            process.terminate()
            process.wait(30)


def _wait_for_port(port: int, process: "subprocess.Popen[bytes]", log: Path) -> None:
    deadline = time.monotonic() + START_SECONDS
    while process.poll() is None and time.monotonic() < deadline:
        with socket.socket() as client:
            if client.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.05)
    raise AssertionError(log.read_text())


def client_of(address: str) -> httpx2.Client:
    return httpx2.Client(base_url=address, headers=HEADERS, timeout=60, trust_env=False)


@pytest.mark.parametrize("server", SERVERS)
def test_sites_middleware_sees_every_request_of_a_provider(tmp_path: Path, server: str) -> None:
    unseen, statuses = [], {}
    with run_site(tmp_path, server, "mark_in_thread") as address, client_of(address) as client:
        for name, path, body, _ in ENDPOINTS:
            response = client.post(path, json=body)
            statuses[name] = response.status_code
            if not {"x-site", "x-thread", "x-mockllm-request"} <= response.headers.keys():
                unseen.append(name)
        wrong_method = client.put("/v1/chat/completions")
        assert (wrong_method.status_code, wrong_method.headers["x-site"]) == (405, "seen")
        assert client.get("/v1/models").headers["x-site"] == "seen"
        assert client.get("/").headers["x-thread"] == "seen"
    assert unseen == []
    assert statuses == {name: status for name, _, _, status in ENDPOINTS}


@pytest.mark.parametrize("server", ["uvicorn", "daphne"])
@pytest.mark.parametrize("middleware", [(), ("mark_in_thread",)], ids=["ours", "synchronous"])
def test_pages_answer_while_providers_answers_wait(
    tmp_path: Path, server: str, middleware: tuple[str, ...]
) -> None:
    """There are more of them than threads, also where a site's middleware waits in a thread."""
    body = json.dumps({**CHAT, "model": "endless", "stream": True}).encode()
    head = f"POST /v1/chat/completions HTTP/1.1\r\nhost: a\r\ncontent-length: {len(body)}\r\n"
    request = f"{head}authorization: Bearer k\r\n\r\n".encode() + body
    with ExitStack() as stack:
        address = stack.enter_context(run_site(tmp_path, server, *middleware))
        client = stack.enter_context(client_of(address))
        target = ("127.0.0.1", client.base_url.port)
        waiting = [
            stack.enter_context(socket.create_connection(target)) for _ in range(WAITING_ANSWERS)
        ]
        for connection in waiting:
            connection.sendall(request)
        while f"mockllm_streams_open {WAITING_ANSWERS}.0" not in client.get("/metrics").text:
            # Each of these needs a thread for the database.
            assert client.get("/control/requests").status_code == 200
        whole = client.post("/v1/chat/completions", json=CHAT)
        assert whole.status_code == 200
        assert select.select(waiting, [], [], 0)[0] == []
