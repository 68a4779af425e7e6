"""Errors of the client of the control API, and of the MCP proxy that uses it."""

import io
import json
from typing import Any

import httpx2
import pytest

from scenarios_app.testing.control import Control, ServerFailed
from scenarios_app.testing.control_mcp import Proxy


def control_with(response: httpx2.Response) -> Control:
    """Return a client whose server sends this response to each request."""
    control = Control("http://other")
    transport = httpx2.MockTransport(lambda request: response)
    control._http = httpx2.Client(base_url=control.base_url, transport=transport)
    return control


@pytest.mark.parametrize(
    ("response", "status"),
    [
        (httpx2.Response(200, text="<html>Welcome</html>"), 200),
        (httpx2.Response(301, headers={"location": "https://other/"}), 301),
        (httpx2.Response(404, text="not found"), 404),
    ],
)
def test_response_of_another_server_is_one_line(response: httpx2.Response, status: int) -> None:
    with pytest.raises(ServerFailed) as raised:
        control_with(response).send("GET", "state")
    reason = f"http://other answers {status}, and not as a mockllm server"
    assert str(raised.value) == f"GET /control/state: {reason}"


@pytest.mark.parametrize(
    "message",
    [
        {"method": "tools/list", "params": {"_meta": None}},
        {"method": "tools/list", "params": ["x"]},
        {"method": "initialize", "params": {}},
    ],
)
def test_odd_mcp_message_gets_a_reply_with_its_id(message: dict[str, Any]) -> None:
    reply = {"jsonrpc": "2.0", "id": 7, "result": {}}
    output = io.BytesIO()
    proxy = Proxy(control_with(httpx2.Response(200, json=reply)), output)
    proxy.forward(json.dumps({"jsonrpc": "2.0", "id": 7, **message}).encode())
    assert json.loads(output.getvalue()) == reply


@pytest.mark.parametrize("line", [b"\n", b"[]", b"7", b"{", b"\xff", b"[" * 100_000])
def test_line_without_an_mcp_message_is_a_parse_error(line: bytes) -> None:
    output = io.BytesIO()
    Proxy(control_with(httpx2.Response(200)), output).forward(line)
    assert json.loads(output.getvalue())["error"]["code"] == -32700
