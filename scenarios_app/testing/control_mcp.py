"""`mockllm control-mcp`: pipes MCP messages to and from `/control/mcp`. Imports no Django."""

import json
import os
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from importlib.util import find_spec
from threading import Lock
from typing import Any, BinaryIO, Final

from mockllm_site.kit.parsers import OneLineParser
from scenarios_app.testing.control import TOKEN_VARIABLE, Control, ServerFailed
from scenarios_app.testing.documents import to_documents
from scenarios_app.testing.mcp import MISSING_PACKAGE
from scenarios_app.testing.process import ServerOptions, server_process
from scenarios_app.testing.run import refuse

HELP: Final = (
    "Lets a coding agent drive a server over MCP (extra `mcp`). It speaks through pipes. "
    "Without --url or MOCKLLM_URL it starts a server that ends with it."
)
URL_VARIABLE: Final = "MOCKLLM_URL"
MAX_CONCURRENT_CALLS: Final = 8
_PARSE_ERROR, _NO_ANSWER, _INTERRUPTED = -32700, -32000, 130
_VERSION_KEY: Final = "io.modelcontextprotocol/protocolVersion"


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--url",
        default=os.environ.get(URL_VARIABLE, ""),
        help="address of a running server (default: MOCKLLM_URL); its token is read from "
        "MOCKLLM_CONTROL_TOKEN",
    )
    parser.add_argument(
        "--scenario",
        action="append",
        default=[],
        metavar="FILE",
        help="file or directory of scenarios for a new server; repeatable",
    )


def main(arguments: Sequence[str]) -> int:
    """Run `mockllm control-mcp` with these arguments; return its exit code."""
    parser = OneLineParser(prog="mockllm control-mcp", description=HELP)
    add_arguments(parser)
    return control_mcp(parser.parse_args(arguments))


def control_mcp(options: Namespace) -> int:
    """Forward messages until standard input ends; return the exit code."""
    url = options.url.rstrip("/")
    if url and options.scenario:
        return refuse(
            "control-mcp", "--scenario is for a new server; leave out --url and MOCKLLM_URL", code=1
        )
    if not url and find_spec("mcp") is None:
        return refuse("control-mcp", MISSING_PACKAGE, code=1)
    try:
        if url:
            _forward_input(url, token=os.environ.get(TOKEN_VARIABLE, ""))
        else:
            with server_process(ServerOptions(to_documents(options.scenario))) as (base_url, _):
                _forward_input(base_url)
    except ServerFailed as error:
        return refuse("control-mcp", error, code=1)
    except KeyboardInterrupt:
        return _INTERRUPTED
    return 0


def _forward_input(base_url: str, *, token: str = "") -> None:
    """Forward each line of standard input in a thread of a pool; return when all are answered.
    Raises ServerFailed before the first line if the server does not accept calls."""
    with closing(Control(base_url, token=token)) as control:
        # Fails with one line if there is no server, or the token is wrong.
        control.send("GET", "requests", limit="1")
        proxy = Proxy(control, sys.stdout.buffer)
        with ThreadPoolExecutor(MAX_CONCURRENT_CALLS) as executor:
            for line in sys.stdin.buffer:
                executor.submit(proxy.forward, line)


class Proxy:
    """Forwards JSON-RPC messages, one a line, to a server's `/control/mcp`. The protocol's versions
    differ in their headers only, which are derived from the messages."""

    def __init__(self, control: Control, output: BinaryIO) -> None:
        self._control = control
        self._output = output
        self._lock = Lock()
        # Of the handshake, where a client has one.
        self._version: str | None = None

    def forward(self, line: bytes) -> None:
        """Forward one message, and write the server's response if there is one."""
        try:
            message = json.loads(line)
        except (ValueError, RecursionError):
            message = None
        if isinstance(message, dict):
            answer = self._call_server(message)
        else:
            answer = _error_reply(None, _PARSE_ERROR, "Expected one JSON-RPC message a line.")
        if answer is not None:
            # The client may be gone.
            with self._lock, suppress(OSError):
                self._output.write(json.dumps(answer).encode() + b"\n")
                self._output.flush()

    def _call_server(self, message: dict[str, Any]) -> Any:
        """Return the server's response under the message's id, which it may lack, or None for a
        notification. Without one it is an error, or for `tools/call` a result with `isError`."""
        method, id = message.get("method"), message.get("id")
        params = _object_at(message, "params")
        version = _object_at(params, "_meta").get(_VERSION_KEY, self._version)
        name = params.get("name", params.get("uri"))
        headers = {"mcp-protocol-version": version, "mcp-method": method, "mcp-name": name}
        sent = {key: value for key, value in headers.items() if isinstance(value, str)}
        sent["accept"] = "application/json, text/event-stream"
        try:
            response = self._control.send_request("POST", "mcp", message, sent)
            answer = response.json() if response.content else None
        except (ServerFailed, UnicodeError, ValueError) as error:
            answer = {"message": str(error)}
        if id is None:
            return None
        if not isinstance(answer, dict) or "jsonrpc" not in answer:
            # It is no answer of the MCP server: there is none, or it is closed to this client.
            reason = answer.get("message") if isinstance(answer, dict) else None
            text = reason if isinstance(reason, str) else "No MCP server answered."
            if method != "tools/call":
                return _error_reply(id, _NO_ANSWER, text)
            content = [{"type": "text", "text": text}]
            result = {"resultType": "complete", "content": content, "isError": True}
            return {"jsonrpc": "2.0", "id": id, "result": result}
        if method == "initialize":
            self._version = _object_at(answer, "result").get("protocolVersion", self._version)
        return {**answer, "id": id}


def _object_at(message: Mapping[str, Any], key: str) -> dict[str, Any]:
    """Return the JSON object at a key, empty if there is none."""
    value = message.get(key)
    return value if isinstance(value, dict) else {}


def _error_reply(id: Any, code: int, message: str) -> dict[str, Any]:
    """Return a JSON-RPC response with an error; `id` is None if the request's is unknown."""
    return {"jsonrpc": "2.0", "id": id, "error": {"code": code, "message": message}}
