"""The WebSocket routes."""

from channels.generic.websocket import AsyncWebsocketConsumer
from channels.routing import URLRouter
from django.urls import re_path

NO_SUCH_PATH = 4404


class Unknown(AsyncWebsocketConsumer):
    """Ends a connection to a path that is not there; without it that is an error of ours."""

    async def connect(self) -> None:
        await self.accept()
        await self.close(code=NO_SUCH_PATH)


sockets = URLRouter([re_path(r"", Unknown.as_asgi())])
