"""The tools of this process as an agent on this machine calls them."""

import pytest

from tests.control.control_client import Control
from tests.control.mcp.tool_caller import ToolCaller


@pytest.fixture
def tools(control: Control) -> ToolCaller:
    return ToolCaller()
