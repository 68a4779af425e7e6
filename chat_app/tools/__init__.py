"""Tools: MCP servers that the operator named, behind one small interface."""

from functools import cache

from chat_app import loop
from chat_app.tools.calls import Toolbox


@cache
def toolbox() -> Toolbox:
    """The tools of this process. What is opened on the chat's event loop is closed when that
    stops; on any other loop `close` does it."""
    # Not above: the bundled server is a module of this package, and starts without Django.
    from chat_app.tools.mcp_toolbox import McpToolbox

    tools = McpToolbox()
    loop.at_stop(tools.close)
    return tools
