"""Imports Django's routes in a thread when they are first needed."""

from django.conf import settings

from mockllm_site.kit.imports import import_in_thread
from mockllm_site.pages import health
from scenarios_app.serving.transports.asgi_scope import App, Receive, Scope, Send, path_of

ADMIN_PATH = "/admin/"


async def load_routes(path: str = ADMIN_PATH, *, gently: bool = False) -> None:
    """Import the modules with the views of a path; those of the admin import all others."""
    await import_in_thread(settings.ROOT_URLCONF, gently=gently)
    if path.startswith(ADMIN_PATH) and not settings.MOCKLLM_LIGHT:
        await import_in_thread("mockllm_site.admin_urls", gently=gently)


def with_routes(app: App) -> App:
    """Return the application, for which each request waits until its routes are imported."""

    async def routed(scope: Scope, receive: Receive, send: Send) -> None:
        """Load the routes that a path may need before the application gets it."""
        path = path_of(scope)
        if path not in health.PATHS:
            await load_routes(path)
        await app(scope, receive, send)

    return routed


async def page_sockets(scope: Scope, receive: Receive, send: Send) -> None:
    """Pass a page's WebSocket to the routes of `serve/sockets.py`; a light server refuses it."""
    if settings.MOCKLLM_LIGHT:
        await receive()
        await send({"type": "websocket.close"})
        return
    module = await import_in_thread("mockllm_site.serve.sockets")
    await module.sockets(scope, receive, send)
