"""Tools: MCP servers that the operator named, behind one small interface."""
