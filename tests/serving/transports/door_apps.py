"""The doors as applications for an ASGI server in a process of its own, without a database.

Beside them `/-/journal` tells what was asked and journalled, and how many tasks run.
"""

import asyncio
import json

from django.core.asgi import get_asgi_application

django = get_asgi_application()

from scenarios_app.serving.transports import django as module  # noqa: E402
from scenarios_app.serving.transports.asgi import ProviderApp  # noqa: E402
from scenarios_app.serving.transports.asgi_scope import App, Receive, Scope, Send, with_close  # noqa: E402
from tests.serving.cases import playing  # noqa: E402

_playing = playing()
module.running_pipeline = _playing.running


def observed(app: App) -> App:
    async def outer(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["path"] != "/-/journal":
            return await app(scope, receive, send)
        state = _playing.state
        told = {
            "asked": sum([(await state.read(s)).ordinal for s in await state.sessions()]),
            "outcomes": {entry.model: entry.outcome for entry in _playing.journal},
            "tasks": len(asyncio.all_tasks()),
            "streams": _playing.pipeline.streams.open,
        }
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": json.dumps(told).encode()})

    return outer


door = observed(ProviderApp(_playing.running))
view = observed(with_close(django))
