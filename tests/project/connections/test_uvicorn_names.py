"""uvicorn has all names that the connection uses of it, also the private ones."""

import ast
import asyncio
import inspect
import logging
from typing import Any

import pytest
import uvicorn
from uvicorn.protocols.http.flow_control import FlowControl
from uvicorn.protocols.http.httptools_impl import (
    STATUS_LINE,
    HttpToolsProtocol,
    RequestResponseCycle,
)
from uvicorn.server import ServerState

from mockllm_site.serve.connection import HttpConnection

# Methods that the connection overrides, and their parameters.
METHODS = {
    "connection_made": ["transport"],
    "connection_lost": ["exc"],
    "data_received": ["data"],
    "on_message_begin": [],
    "on_header": ["name", "value"],
    "on_headers_complete": [],
    "on_body": ["body"],
    "on_message_complete": [],
    "on_response_complete": [],
    "pause_writing": [],
    "resume_writing": [],
    "shutdown": [],
    "handle_websocket_upgrade": [],
    "_should_upgrade": [],
    "_unsupported_upgrade_warning": [],
}
# Those that uvicorn itself calls rather than the event loop, the parser or the server.
CALLED_BY_UVICORN = ("handle_websocket_upgrade", "_should_upgrade", "_unsupported_upgrade_warning")
ATTRIBUTES = {
    *("app", "connections", "cycle", "expect_100_continue", "flow", "headers", "loop"),
    *("parser", "scope", "server_state", "tasks", "transport", "url", "ws_protocol_class"),
}
CYCLE = {
    *("body", "default_headers", "disconnected", "keep_alive", "message_event"),
    *("response_complete", "response_started"),
}
FLOW = {"drain", "pause_reading", "read_paused", "resume_reading", "write_paused"}
SERVER_STATE = {"connections", "default_headers", "tasks", "total_requests"}


def used_names(owner: str) -> set[str]:
    """Return the attributes of a name, or of an attribute of `self`, that the connection uses."""
    names = set()
    for node in ast.walk(ast.parse(inspect.getsource(HttpConnection))):
        if not isinstance(node, ast.Attribute):
            continue
        match node.value:
            case ast.Name(id=name) | ast.Attribute(value=ast.Name(id="self"), attr=name):
                if name == owner:
                    names.add(node.attr)
    return names


@pytest.fixture
async def protocol() -> HttpToolsProtocol:
    """Return uvicorn's own protocol, within a request."""
    config = uvicorn.Config(lambda: None, log_config=None, lifespan="off")
    config.load()
    protocol = HttpToolsProtocol(config, ServerState(), {}, asyncio.get_running_loop())
    protocol.on_message_begin()
    return protocol


def test_lists_name_everything_that_is_used() -> None:
    ours = {name for name in dir(HttpConnection) if name not in dir(HttpToolsProtocol)}
    fields = {"_settings", "limits", "queue", "direct", "_raw", "_turn"}
    assert used_names("self") - ours - fields - METHODS.keys() == ATTRIBUTES
    assert used_names("cycle") == CYCLE
    assert used_names("flow") <= FLOW and used_names("server_state") <= SERVER_STATE
    overridden = vars(HttpConnection).keys() & vars(HttpToolsProtocol).keys()
    assert {name for name in overridden if not name.startswith("__")} == METHODS.keys()


@pytest.mark.parametrize("name", METHODS)
def test_overridden_method_has_the_same_parameters(name: str) -> None:
    parameters = list(inspect.signature(getattr(HttpToolsProtocol, name)).parameters)
    assert parameters == ["self", *METHODS[name]]


@pytest.mark.parametrize("name", CALLED_BY_UVICORN)
def test_uvicorn_calls_what_is_overridden(name: str) -> None:
    assert f"self.{name}(" in inspect.getsource(HttpToolsProtocol)


def test_connection_without_a_websocket_class_upgrades_nothing(
    protocol: HttpToolsProtocol,
) -> None:
    protocol.headers += [(b"connection", b"upgrade"), (b"upgrade", b"websocket")]
    assert protocol._should_upgrade()
    protocol.ws_protocol_class = None
    assert not protocol._should_upgrade()


def test_uvicorn_has_all_attributes(protocol: HttpToolsProtocol) -> None:
    assert {name for name in ATTRIBUTES if not hasattr(protocol, name)} == set()
    cycle: Any = RequestResponseCycle(
        scope=protocol.scope,
        transport=asyncio.Transport(),
        flow=protocol.flow,
        logger=logging.getLogger(),
        access_logger=logging.getLogger(),
        access_log=False,
        default_headers=[],
        message_event=asyncio.Event(),
        expect_100_continue=False,
        keep_alive=True,
        on_response=lambda: None,
    )
    flow = FlowControl(asyncio.Transport())
    for names, value in ((CYCLE, cycle), (FLOW, flow), (SERVER_STATE, ServerState())):
        assert {name for name in names if not hasattr(value, name)} == set()
    assert STATUS_LINE[408].startswith(b"HTTP/1.1 408 ")
