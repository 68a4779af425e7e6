"""`mcp`: the tools of scenarios and recordings as an MCP server."""

from functools import partial

from mockllm_site.management.programs import ProgramCommand
from scenarios_app.testing import mcp

Command = partial(ProgramCommand, mcp.HELP, mcp.add_arguments, mcp.mcp)
