"""The WebSocket routes."""

from channels.auth import AuthMiddlewareStack
from channels.generic.websocket import AsyncWebsocketConsumer
from channels.routing import URLRouter
from channels.security.websocket import AllowedHostsOriginValidator
from django.urls import path, re_path

from scenarios_app.journal.live import LiveJournal

NO_SUCH_PATH = 4404


class Unknown(AsyncWebsocketConsumer):
    """Ends a connection to a path that is not there; without it that is an error of ours."""

    async def connect(self) -> None:
        await self.accept()
        await self.close(code=NO_SUCH_PATH)


# A page of another origin would come with its reader's cookies.
live_journal = AllowedHostsOriginValidator(AuthMiddlewareStack(LiveJournal.as_asgi()))
sockets = URLRouter([path("ws/journal/", live_journal), re_path(r"", Unknown.as_asgi())])
