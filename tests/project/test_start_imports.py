"""Modules that a process imports at its start: none that only some users need."""

import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx2
import pytest

READY_SECONDS = 60.0
# The SDKs and their dependencies, the admin, both APIs, and modules that only tests use.
HEAVY = {
    *("openai", "anthropic", "google.genai", "mcp", "ollama", "httpx", "requests"),
    *("unfold.admin", "django.contrib.postgres", "scenarios_app.admin", "chat_app.admin"),
    *("rest_framework.views", "rest_framework.fields", "drf_spectacular.plumbing"),
    *("mockllm_site.routes.pages", "scenarios_app.control.urls", "chat_app.api.urls"),
    *("daphne", "twisted", "channels_redis", "redis", "psycopg", "jsonschema"),
    *("django.test", "unittest", "pytest", "hypothesis", "schemathesis"),
}
# Modules that a light server never imports. Django REST framework imports others, such as pygments,
# if they are installed.
NOT_LIGHT = {
    *("chat_app", "traces_app", "channels", "axes", "unfold", "whitenoise", "daphne", "twisted"),
    *("uvloop", "drf_spectacular", "prometheus_client", "jsonschema", "markdown_it", "mcp"),
    *("openai", "anthropic", "google.genai", "django.test", "unittest", "pytest"),
    *("django.contrib.sessions", "django.contrib.staticfiles", "scenarios_app.admin"),
}
# Answered without the modules of any page.
HEALTH_PATHS = ("/livez", "/readyz", "/healthz")
# Imported only by the first request that needs them.
LATE = {
    *("rest_framework.views", "scenarios_app.control.urls", "scenarios_app.verdict.judge"),
    *("httpx2", "httpcore2", "python_multipart", "scenarios_app.engine.document.schema_maker"),
}
# Writes a line of JSON to standard error for each line of input, and one at the end. No server
# warms up, so modules come with the first request that needs them.
REPORT_MODULES_CODE = """
import atexit, json, sys, threading
def tell():
    print("MODULES", json.dumps(list(sys.modules)), file=sys.stderr, flush=True)
def tell_all():
    for _ in sys.stdin:
        tell()
threading.Thread(target=tell_all, daemon=True).start()
atexit.register(tell)
from mockllm_site.serve import chat
chat.warm_up = lambda: None
from mockllm_site.__main__ import main
main()
"""


def start(folder: Path, *arguments: str, **variables: str) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [sys.executable, "-P", "-c", REPORT_MODULES_CODE, *arguments],
        cwd=folder,
        env={"PATH": os.environ["PATH"], **variables},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def parse_modules(stderr: str) -> set[str]:
    """Return the modules that the last report in this output lists."""
    modules = set(json.loads(stderr.rpartition("MODULES ")[2]))
    assert "mockllm_site.settings" in modules
    return modules


def parse_heavy_modules(stderr: str) -> set[str]:
    return HEAVY & parse_modules(stderr)


@contextmanager
def serving(folder: Path, *options: str) -> Iterator[tuple[str, "subprocess.Popen[str]"]]:
    """Start a server and yield its address; it is killed if it does not become ready in time."""
    with start(folder, "serve", "--port", "0", *options, MOCKLLM_ENV="test") as process:
        timer = threading.Timer(READY_SECONDS, process.kill)
        timer.start()
        assert process.stdout is not None
        line = process.stdout.readline()
        timer.cancel()
        try:
            assert line, process.communicate()[1]
            yield line.split()[-1], process
        finally:
            process.terminate()


def read_modules(process: "subprocess.Popen[str]") -> set[str]:
    assert process.stdin is not None and process.stderr is not None
    print(file=process.stdin, flush=True)
    lines = iter(process.stderr.readline, "")
    return parse_modules(next(line for line in lines if line.startswith("MODULES ")))


def read_heavy_modules(process: "subprocess.Popen[str]") -> set[str]:
    return HEAVY & read_modules(process)


def test_server_imports_heavy_modules_with_the_first_page(
    tmp_path: Path,
) -> None:
    with (
        serving(tmp_path) as (address, process),
        httpx2.Client(base_url=address, timeout=30, trust_env=False) as client,
    ):
        assert read_heavy_modules(process) == set()
        body = {"model": "m", "messages": [{"role": "user", "content": "Hello"}]}
        key = {"authorization": "Bearer k"}
        assert client.post("/v1/chat/completions", json=body, headers=key).status_code == 200
        for path in HEALTH_PATHS:
            assert client.get(path).status_code == 200
        assert read_heavy_modules(process) == set()
        assert client.get("/control/scenarios").status_code == 200
        heavy_modules = read_heavy_modules(process)
        assert {"rest_framework.views", "scenarios_app.control.urls"} <= heavy_modules
        assert heavy_modules == {
            *("rest_framework.views", "rest_framework.fields", "scenarios_app.control.urls")
        }
        assert client.get("/admin/login/").status_code == 200
        assert client.get("/api/list_conversations?client_id=a").status_code == 200
        assert client.get("/").status_code == 200
        heavy_modules = read_heavy_modules(process)
        assert {"unfold.admin", "scenarios_app.admin", "mockllm_site.routes.pages"} <= heavy_modules
        assert heavy_modules.isdisjoint({"django.test", "drf_spectacular.plumbing"})
        accept = {"accept": "application/json, text/event-stream"}
        list_tools = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
        assert client.post("/control/mcp", json=list_tools, headers=accept).status_code == 200
        assert "mcp" in read_heavy_modules(process)


def test_light_server_imports_nothing_of_chat_admin_and_pages(tmp_path: Path) -> None:
    with (
        serving(tmp_path, "--light") as (address, process),
        httpx2.Client(base_url=address, timeout=30, trust_env=False) as client,
    ):
        for path in HEALTH_PATHS:
            assert client.get(path).status_code == 200
        assert read_modules(process) & (NOT_LIGHT | LATE) == set()
        body = {"model": "m", "messages": [{"role": "user", "content": "Hello"}]}
        key = {"authorization": "Bearer k"}
        assert client.post("/v1/chat/completions", json=body, headers=key).status_code == 200
        file, purpose = {"file": ("a.jsonl", b"{}")}, {"purpose": "batch"}
        assert client.post("/v1/files", files=file, data=purpose, headers=key).status_code == 200
        for path in ("scenarios", "verdict?session=k", "coverage", "drift", "schema/scenario.json"):
            assert client.get(f"/control/{path}").status_code == 200
        for path in ("/admin/", "/chat/", "/metrics", "/traces/x/", "/api/x", "/control/schema/"):
            assert client.get(path).status_code == 404
        for name in ("", "scenarios/", "reference/routes/"):
            page = client.get(f"/docs/{name}")
            assert page.headers["content-type"] == "text/markdown; charset=utf-8"
            assert page.text.startswith("# ")
        assert client.get("/docs/nothing/").status_code == 404
        assert read_modules(process) & NOT_LIGHT == set()


@pytest.mark.parametrize("command", ["check_scenarios", "export_scenarios", "prune"])
def test_command_does_not_import_heavy_modules(tmp_path: Path, command: str) -> None:
    with start(tmp_path, "migrate", "--skip-checks") as process:
        stderr = process.communicate()[1]
    assert (process.returncode, parse_heavy_modules(stderr)) == (0, set()), stderr
    with start(tmp_path, command, RETENTION_DAYS="1") as process:
        stderr = process.communicate()[1]
    assert (process.returncode, parse_heavy_modules(stderr)) == (0, set()), stderr


def test_checks_include_the_admin(tmp_path: Path) -> None:
    with start(tmp_path, "check") as process:
        stderr = process.communicate()[1]
    assert process.returncode == 0, stderr
    modules = parse_heavy_modules(stderr)
    assert {"scenarios_app.admin", "chat_app.admin", "mockllm_site.routes.pages"} <= modules


def test_plugin_of_a_test_imports_no_document_models() -> None:
    """The modules that the fixture needs before and beside a server."""
    code = (
        "import sys, scenarios_app.testing.shared.early_start, scenarios_app.testing.process\n"
        "early = set(sys.modules)\n"
        "import scenarios_app.testing.sessions, scenarios_app.testing.guard\n"
        "late = set(sys.modules)\n"
        "unneeded = {'pydantic', 'django', 'scenarios_app.engine.scenario'}\n"
        "print('httpx2' in early, bool(unneeded & late))"
    )
    command = [sys.executable, "-P", "-c", code]
    assert subprocess.check_output(command, text=True) == "False False\n"
