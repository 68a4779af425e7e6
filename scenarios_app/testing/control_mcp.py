"""`mockllm control-mcp`: the control MCP server through pipes. Imports no Django."""

import os
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Sequence
from contextlib import closing
from importlib.util import find_spec
from typing import Final

from scenarios_app.testing.control import TOKEN, Control, ServerFailed
from scenarios_app.testing.documents import to_documents
from scenarios_app.testing.mcp import MISSING
from scenarios_app.testing.process import ServerOptions, server_process

HELP: Final = (
    "Lets a coding agent drive a server over MCP, through pipes. "
    "Without --url or MOCKLLM_URL it starts a server that ends with it."
)
URL: Final = "MOCKLLM_URL"
INTERRUPTED: Final = 130


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--url",
        default=os.environ.get(URL, ""),
        help=f"address of a running server (default: {URL}); its token is read from {TOKEN}",
    )
    parser.add_argument(
        "--scenario",
        action="append",
        default=[],
        metavar="FILE",
        help="file or directory of scenarios for a new server; may be given again",
    )


def main(arguments: Sequence[str]) -> int:
    """Run `mockllm control-mcp` with these arguments; return its exit code."""
    parser = ArgumentParser(prog="mockllm control-mcp", description=HELP)
    add_arguments(parser)
    return control_mcp(parser.parse_args(arguments))


def control_mcp(options: Namespace) -> int:
    """Serve until the client closes the connection; return the exit code."""
    if find_spec("mcp") is None:
        return _refused(MISSING)
    url = options.url.rstrip("/")
    if url and options.scenario:
        return _refused("--scenario is for a new server; leave out --url and MOCKLLM_URL")
    try:
        if url:
            _serve(url, token=os.environ.get(TOKEN, ""))
        else:
            with server_process(ServerOptions(to_documents(options.scenario))) as (base_url, _):
                _serve(base_url)
    except ServerFailed as error:
        return _refused(str(error))
    except KeyboardInterrupt:
        return INTERRUPTED
    return 0


def _serve(base_url: str, *, token: str = "") -> None:
    with closing(Control(base_url, token=token)) as control:
        # Fails with one line if there is no server, or the token is wrong.
        control.send("GET", "requests", limit="1")
    # Imported late: the MCP SDK takes a second to import.
    from scenarios_app.testing import mcp_proxy, mcp_server

    mcp_server.serve_pipes(lambda _: mcp_proxy.open_proxy(f"{base_url}/control/mcp", token=token))


def _refused(message: str) -> int:
    print(f"mockllm control-mcp: {message}", file=sys.stderr)
    return 1
