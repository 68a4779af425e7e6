"""Django's application without a database, for servers in other processes.

`/-/journal` returns the number of requests, the journal's outcomes and the number of tasks.
"""

import asyncio
import json

import django

django.setup()

from scenarios_app.serving.transports.asgi_scope import App, Receive, Scope, Send  # noqa: E402
from tests.serving.cases import case_harness  # noqa: E402
from tests.serving.transports.provider_app import provider_app  # noqa: E402

_harness = case_harness()


def with_journal_path(app: App) -> App:
    async def outer(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["path"] != "/-/journal":
            return await app(scope, receive, send)
        state = _harness.state
        status = {
            "requests": sum([(await state.read(s)).ordinal for s in await state.sessions()]),
            "outcomes": {entry.model: entry.outcome for entry in _harness.journal},
            "tasks": len(asyncio.all_tasks()),
            "streams": _harness.pipeline.streams.taken,
        }
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": json.dumps(status).encode()})

    return outer


app = with_journal_path(provider_app(_harness))
