"""Warm-up: pages, SDKs and MCP servers are ready before the first page and message; failures are
logged."""

import asyncio
import json
from pathlib import Path
from typing import Any

import httpx2
import pytest

from chat_app import loop, profiles
from chat_app.clients.providers import ANTHROPIC, OPENAI
from chat_app.runs import startup as warming
from chat_app.tools.toolbox import MCP_MODULE
from mockllm_site.kit.database_thread import in_database
from mockllm_site.routes.imports import page_modules
from mockllm_site.serve import chat as serve_chat
from tests.chat.chat_helpers import Chat
from tests.chat.tools.tool_servers import eventually
from tests.serving.pipelines import scenario, text_step
from tests.serving.processes.serve_process import run_server, write_scenarios


class RecordingToolbox:
    """A toolbox that records the servers and, with `hangs`, never answers."""

    def __init__(self, *, hangs: bool = False) -> None:
        self.servers: list[str] = []
        self.was_cancelled = False
        self._hangs = hangs

    async def available_tools(self, servers: list[str]) -> tuple[()]:
        self.servers += servers
        try:
            if self._hangs:
                await asyncio.Event().wait()
        except asyncio.CancelledError:
            self.was_cancelled = True
            raise
        return ()


@pytest.fixture
def imported_modules(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Record imports instead of running them; one of them fails."""
    imported: list[str] = []

    async def import_in_thread(module: str, *, gently: bool) -> None:
        assert gently
        imported.append(module)
        if module == ANTHROPIC.first_import:
            raise ModuleNotFoundError(module)

    monkeypatch.setattr(warming, "import_in_thread", import_in_thread)
    return imported


def patch_toolbox(monkeypatch: pytest.MonkeyPatch, **options: Any) -> RecordingToolbox:
    box = RecordingToolbox(**options)
    monkeypatch.setattr(warming, "toolbox", lambda: box)
    return box


async def test_warm_up_loads_pages_then_the_default_profile_then_others(
    chat: Chat, imported_modules: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    await chat.profile(name="a", provider_id="anthropic", mcp_servers=["files", "demo"])
    await chat.profile(name="b", provider_id="ollama", mcp_servers={"not": "a list"})
    await in_database(profiles.default_profile)
    box = patch_toolbox(monkeypatch)
    await loop.run_on_loop(warming._warm_up(["page"]))
    assert imported_modules == [
        "page",
        *(MCP_MODULE, OPENAI.first_import),
        *(MCP_MODULE, ANTHROPIC.first_import),
        OPENAI.first_import,
    ]
    assert box.servers == ["demo", "files", "demo"]


async def test_warm_up_is_cancelled_at_the_end_of_the_process(
    chat: Chat, imported_modules: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    await chat.profile(mcp_servers=["slow"])
    box = patch_toolbox(monkeypatch, hangs=True)
    warming.warm_up([])
    await eventually(lambda: bool(box.servers))
    await asyncio.to_thread(loop.stop)
    assert box.was_cancelled and not warming._tasks


@pytest.mark.parametrize(("chat_installed", "count"), [(False, 0), (True, 1)])
def test_full_servers_warm_up_in_every_mode(
    settings: Any, monkeypatch: pytest.MonkeyPatch, chat_installed: bool, count: int
) -> None:
    calls: list[list[str]] = []
    monkeypatch.setattr(warming, "warm_up", calls.append)
    monkeypatch.setattr(serve_chat, "is_installed", lambda: chat_installed)
    assert settings.MOCKLLM_ENV == "test"
    serve_chat.warm_up()
    assert calls == [page_modules()] * count


def test_unreachable_mcp_server_does_not_delay_the_start(tmp_path: Path) -> None:
    servers = tmp_path / "servers.json"
    servers.write_text(json.dumps({"demo": {"command": ["/no/such/program"]}}))
    with run_server(tmp_path, warm=True, MOCKLLM_ENV="dev", MCP_SERVERS=str(servers)) as server:
        server.wait_for_log("MCP server demo cannot be reached")
        assert httpx2.get(f"{server.base_url}/healthz").status_code == 200
        code, _, err = server.end()
    assert code == 0
    assert "Traceback" not in err


def test_first_message_to_a_cold_server_is_answered_with_the_bundled_tools(tmp_path: Path) -> None:
    offered = {"match": {"tool_count": {"min": 1}}, "produce": {"text": "With tools."}}
    scenarios = write_scenarios(tmp_path, scenario("tools", offered, text_step("Without.")))
    message = {"client_id": "a", "message": "Hello"}
    with run_server(tmp_path, MOCKLLM_SCENARIOS=scenarios) as server:
        url = f"{server.base_url}/api/get_chat_response_stream"
        answer = httpx2.post(url, json=message, timeout=90)
        code, _, err = server.end()
    assert (answer.status_code, code) == (200, 0)
    assert "With tools." in answer.text
    assert "still starting" not in err
