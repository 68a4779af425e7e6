"""Routes WebSockets: providers' here, those of pages in a module that the first one imports."""

from typing import Any

from channels.routing import ProtocolTypeRouter as ProtocolTypeRouter
from channels.routing import URLRouter
from django.urls import re_path

from mockllm_site.kit.imports import import_in_thread
from scenarios_app.serving.transports.asgi_scope import Receive, Scope, Send, path_of
from scenarios_app.serving.transports.websocket_asgi import SocketApp
from scenarios_app.wire.registry import find_intended_path, url_patterns

provider_sockets = SocketApp()


async def other_sockets(scope: Scope, receive: Receive, send: Send) -> None:
    """Serve a page's WebSocket, or refuse as a provider one that was meant for it."""
    if find_intended_path("POST", path_of(scope)):
        await provider_sockets(scope, receive, send)
        return
    module = await import_in_thread("mockllm_site.serve.sockets")
    await module.sockets(scope, receive, send)


# Django's types allow only views.
routes: list[tuple[str, Any]] = [
    *((pattern, provider_sockets) for pattern in url_patterns()),
    ("", other_sockets),
]
sockets = URLRouter([re_path(pattern, app) for pattern, app in routes])
