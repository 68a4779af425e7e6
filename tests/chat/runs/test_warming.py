"""Warm-up: SDKs and MCP servers are ready before the first message; failures are logged."""

import asyncio
import json
from pathlib import Path
from typing import Any

import httpx2
import pytest

from chat_app import loop
from chat_app.clients.providers import ANTHROPIC, OPENAI
from chat_app.runs import startup as warming
from mockllm_site.serve import first_start as starting
from tests.chat.chatting import Chat
from tests.chat.tools.tool_servers import eventually
from tests.serving.processes.serve_process import serving


class Toolbox:
    """A toolbox that is asked, and never answers if it is told to hang."""

    def __init__(self, *, hangs: bool = False) -> None:
        self.asked: list[str] = []
        self.left = False
        self._hangs = hangs

    async def available_tools(self, servers: list[str]) -> tuple[()]:
        self.asked += servers
        try:
            if self._hangs:
                await asyncio.Event().wait()
        except asyncio.CancelledError:
            self.left = True
            raise
        return ()


@pytest.fixture
def modules(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Record imports instead of doing them; one of them fails."""
    found: list[str] = []

    async def import_in_thread(module: str) -> None:
        found.append(module)
        if module == ANTHROPIC.first_import:
            raise ModuleNotFoundError(module)

    monkeypatch.setattr(warming, "import_in_thread", import_in_thread)
    return found


def tools(monkeypatch: pytest.MonkeyPatch, **how: Any) -> Toolbox:
    found = Toolbox(**how)
    monkeypatch.setattr(warming, "toolbox", lambda: found)
    return found


async def test_it_is_what_profiles_need(
    chat: Chat, modules: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    await chat.profile(provider_id="anthropic", mcp_servers=["files", "demo"])
    await chat.profile(provider_id="ollama", mcp_servers=["demo"])
    await chat.profile(provider_id="a custom one", mcp_servers={"not": "a list"})
    asked = tools(monkeypatch)
    await loop.run_on_loop(warming._warm_up())
    assert modules == [ANTHROPIC.first_import, OPENAI.first_import]
    assert asked.asked == ["demo", "files"]


async def test_the_end_of_the_process_waits_for_none_of_it(
    chat: Chat, modules: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    await chat.profile(mcp_servers=["slow"])
    asked = tools(monkeypatch, hangs=True)
    warming.warm_up()
    await eventually(lambda: bool(asked.asked))
    await asyncio.to_thread(loop.stop)
    assert asked.left and not warming._tasks


@pytest.mark.parametrize(("mode", "times"), [("test", 0), ("dev", 1), ("prod", 1)])
def test_test_mode_stays_cold(
    settings: Any, monkeypatch: pytest.MonkeyPatch, mode: str, times: int
) -> None:
    called: list[bool] = []
    monkeypatch.setattr(warming, "warm_up", lambda: called.append(True))
    settings.MOCKLLM_ENV = mode
    starting.warm_up()
    assert len(called) == times


def test_a_server_that_cannot_be_opened_neither_stops_nor_delays_the_start(tmp_path: Path) -> None:
    servers = tmp_path / "servers.json"
    servers.write_text(json.dumps({"demo": {"command": ["/no/such/program"]}}))
    with serving(tmp_path, warm=True, MOCKLLM_ENV="dev", MCP_SERVERS=str(servers)) as server:
        server.logged("MCP server demo cannot be reached")
        assert httpx2.get(f"{server.base_url}/healthz").status_code == 200
        code, _, err = server.end()
    assert code == 0
    assert "Traceback" not in err
