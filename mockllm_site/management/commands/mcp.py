"""`mcp`: an MCP server on pipes with the tools of scenarios and recordings."""

from functools import partial

from mockllm_site.management.programs import ProgramCommand
from scenarios_app.testing.mcp import HELP, add_arguments, run_mcp

Command = partial(ProgramCommand, HELP, add_arguments, run_mcp)
