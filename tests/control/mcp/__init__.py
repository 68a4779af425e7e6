"""The control MCP server, asked by the client of the official SDK."""
