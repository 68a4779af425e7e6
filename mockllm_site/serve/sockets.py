"""Routes of the WebSockets of Django's pages, only for pages of this site."""

from channels.auth import AuthMiddlewareStack
from channels.generic.websocket import AsyncWebsocketConsumer
from channels.routing import URLRouter
from channels.security.websocket import AllowedHostsOriginValidator, WebsocketDenier
from django.urls import path, re_path

from mockllm_site.kit.api.admin_host import has_pages
from mockllm_site.kit.api.locality import is_foreign_origin
from scenarios_app.journal.live import LiveJournal
from scenarios_app.serving.transports.asgi_scope import App, Receive, Scope, Send, read_headers

NO_SUCH_PATH = 4404


class UnknownPath(AsyncWebsocketConsumer):
    """Closes a WebSocket to an unknown path, which Channels would report as an error."""

    async def connect(self) -> None:
        """Accept and close with a code that clients see, unlike a refused handshake."""
        await self.accept()
        await self.close(code=NO_SUCH_PATH)


def refuse_foreign_pages(app: App) -> App:
    """Return the application with a refusal of WebSockets from pages of other origins."""

    async def guarded(scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a WebSocket; refuse one that a page of another origin opens, or on a
        host without pages."""
        headers = read_headers(scope["headers"])
        host = headers.get("host", "")
        foreign = is_foreign_origin(headers.get("origin"), host) or not has_pages(host)
        await (WebsocketDenier() if foreign else app)(scope, receive, send)

    return guarded


live_journal = AllowedHostsOriginValidator(
    refuse_foreign_pages(AuthMiddlewareStack(LiveJournal.as_asgi()))
)
sockets = URLRouter([path("ws/journal/", live_journal), re_path(r"", UnknownPath.as_asgi())])
