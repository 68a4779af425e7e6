"""The rules of a Responses connection over a WebSocket, without a server."""
