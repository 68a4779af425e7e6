"""A caller of the MCP tools of this process."""

import pytest

from tests.control.control_client import Control
from tests.control.mcp.tool_caller import ToolCaller


@pytest.fixture
def tools(control: Control) -> ToolCaller:
    return ToolCaller()
