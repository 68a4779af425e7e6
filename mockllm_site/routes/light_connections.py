"""Routes the connections of a light server, which is installed without Channels."""

from collections.abc import Mapping

from scenarios_app.serving.transports.asgi_scope import App, Receive, Scope, Send, path_of
from scenarios_app.serving.transports.websocket_asgi import SocketApp
from scenarios_app.wire.registry import find_intended_path, is_provider_path

_provider_sockets = SocketApp()


class ProtocolTypeRouter:
    """Passes a connection to the application for its type."""

    def __init__(self, applications: Mapping[str, App]) -> None:
        self._applications = applications

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self._applications[scope["type"]](scope, receive, send)


async def sockets(scope: Scope, receive: Receive, send: Send) -> None:
    """Serve a provider's WebSocket; refuse a page's, which only a full server has."""
    path = path_of(scope)
    if is_provider_path(path) or find_intended_path("POST", path):
        await _provider_sockets(scope, receive, send)
        return
    await receive()
    await send({"type": "websocket.close"})
