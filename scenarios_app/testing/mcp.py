"""`mockllm mcp PATH…`: serves the tools of scenarios and recordings over MCP. Imports no Django."""

import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Sequence
from importlib.util import find_spec
from typing import Final

from mockllm_site.kit.parsers import OneLineParser
from scenarios_app.engine.document import DocumentError
from scenarios_app.recording.files import read_paths
from scenarios_app.recording.tools import RecordedTools
from scenarios_app.testing.run import refuse

HELP: Final = (
    "Serves scripted and recorded tools over MCP (extra `mcp`). "
    "Each call is answered as it was, through pipes or, with --port, over HTTP."
)
MISSING_PACKAGE: Final = "MCP needs one more package: pip install 'mockllm-server[mcp]'"


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument(
        "paths", nargs="+", metavar="PATH", help="file or directory of scenarios or recordings"
    )
    parser.add_argument(
        "--port", type=int, metavar="N", help="speak HTTP on this port of 127.0.0.1; 0 picks one"
    )
    parser.add_argument(
        "--pace", action="store_true", help="answer each call after its recorded duration"
    )


def main(arguments: Sequence[str]) -> int:
    """Run `mockllm mcp` with these arguments; return its exit code."""
    parser = OneLineParser(prog="mockllm mcp", description=HELP)
    add_arguments(parser)
    return run_mcp(parser.parse_args(arguments))


def run_mcp(options: Namespace) -> int:
    """Serve recorded tools over pipes until the client leaves, or over HTTP; return exit code."""
    if find_spec("mcp") is None:
        return refuse("mcp", MISSING_PACKAGE, code=1)
    try:
        files = read_paths(options.paths)
    except DocumentError as error:
        return refuse("mcp", error, code=1)
    for note in files.notes:
        print(f"mockllm mcp: {note}", file=sys.stderr)
    tools = RecordedTools(files.documents)
    if not tools.offered:
        return refuse("mcp", "these scenarios have no tools", code=1)
    # Imported late: the MCP SDK takes a second to import.
    from scenarios_app.testing import mcp_server

    try:
        if options.port is None:
            mcp_server.serve_pipes(tools, pace=options.pace)
        else:
            mcp_server.serve_http(mcp_server.build_server(tools, pace=options.pace), options.port)
    except OSError as error:
        return refuse("mcp", f"port {options.port}: {error.strerror}", code=1)
    except OverflowError:
        return refuse("mcp", f"port {options.port}: expected a number from 0 to 65535", code=1)
    return 0
