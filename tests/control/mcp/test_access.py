"""The MCP server has the access rules of the control API and rejects other origins."""

from typing import Any

import pytest

from mockllm_site.kit.api.locality import ADDRESS_VARIABLE
from tests.control.mcp.tool_caller import ToolCaller

pytestmark = pytest.mark.django_db
TOKEN = "the-token-of-this-test"


@pytest.mark.parametrize(
    ("address", "mode", "headers", "token", "status"),
    [
        ("127.0.0.1", "test", {}, "", 200),
        ("127.0.0.1", "dev", {"host": "127.0.0.1:8000"}, "", 200),
        ("127.0.0.1", "test", {"host": "evil.example"}, "", 403),
        ("127.0.0.1", "test", {"host": "evil.example"}, TOKEN, 401),
        ("127.0.0.1", "test", {"origin": "http://evil.example"}, "", 403),
        ("127.0.0.1", "test", {"origin": "http://localhost:5099"}, "", 200),
        ("127.0.0.1", "test", {"x-forwarded-for": "127.0.0.1"}, "", 403),
        ("0.0.0.0", "test", {}, "", 403),
        ("127.0.0.1", "prod", {}, "", 403),
        ("127.0.0.1", "prod", {}, TOKEN, 401),
        ("127.0.0.1", "prod", {"authorization": "Bearer wrong"}, TOKEN, 401),
        ("0.0.0.0", "prod", {"authorization": f"Bearer {TOKEN}"}, TOKEN, 200),
    ],
)
def test_access_follows_the_control_api(
    tools: ToolCaller,
    monkeypatch: pytest.MonkeyPatch,
    settings: Any,
    address: str,
    mode: str,
    headers: dict[str, str],
    token: str,
    status: int,
) -> None:
    monkeypatch.setenv(ADDRESS_VARIABLE, address)
    settings.ALLOWED_HOSTS = ["*"]
    settings.MOCKLLM_ENV, settings.MOCKLLM_CONTROL_TOKEN = mode, token
    assert ToolCaller(**headers).send("tools/list").status_code == status


def test_only_posts_are_answered(tools: ToolCaller) -> None:
    assert tools.get().status_code == 405


def test_instructions_name_the_address_that_the_client_used(tools: ToolCaller) -> None:
    hello = {
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": {"name": "t", "version": "1"},
    }
    result = tools.send("initialize", hello).json()["result"]
    assert "OPENAI_BASE_URL=http://localhost:5099/v1" in result["instructions"]
    assert result["serverInfo"]["name"] == "mockllm-control"
