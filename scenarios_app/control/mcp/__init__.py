"""The control MCP server at `/control/mcp`: tools over the same functions as the REST views.

Only `server` imports the MCP SDK. That takes a second, so `view` imports it with the first
request.
"""
