"""The control MCP server, called with the client of the official SDK."""
