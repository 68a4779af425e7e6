"""Responses over a WebSocket: through uvicorn's protocol, any ASGI server, and with bad clients."""
