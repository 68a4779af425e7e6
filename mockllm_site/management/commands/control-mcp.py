"""`control-mcp`: the MCP server of the control API on pipes."""

from functools import partial

from mockllm_site.management.programs import ProgramCommand
from scenarios_app.testing import control_mcp

Command = partial(
    ProgramCommand, control_mcp.HELP, control_mcp.add_arguments, control_mcp.control_mcp
)
