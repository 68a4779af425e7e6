"""What a client is told for whom there is no room: 503 in the envelope that belongs to the path."""

import json

from mockllm_site.kit.api.errors import PREFIXES
from scenarios_app.engine.errors import ErrorAnswer
from scenarios_app.serving.doors.asgi import head
from scenarios_app.serving.doors.calls import call_of_scope, path_of
from scenarios_app.serving.doors.connection import Receive, Scope, Send
from scenarios_app.serving.services import running_pipeline
from scenarios_app.wire.registry import owns

MESSAGE = "This server has as many connections as it takes; try again."
RETRY_MS = 1000
CLOSE = (b"connection", b"close")


async def busy(scope: Scope, receive: Receive, send: Send) -> None:
    """Answers without reading the body, and has the connection closed."""
    if owns(path_of(scope)):
        pipeline = await running_pipeline()
        error = ErrorAnswer(503, MESSAGE, retry_after_ms=RETRY_MS)
        answer = pipeline.refuse(call_of_scope(scope, b""), error)
        opening = head(answer.reply)
        opening["headers"].append(CLOSE)
        await send(opening)
        await send({"type": "http.response.body", "body": answer.give_at_once()})
        answer.through()
        return
    if scope["path"].startswith(PREFIXES):
        said = {"code": "SERVICE_UNAVAILABLE", "message": MESSAGE, "field": None}
        body, kind = json.dumps(said).encode(), b"application/json"
    else:
        body, kind = f"{MESSAGE}\n".encode(), b"text/plain; charset=utf-8"
    headers = [
        (b"content-type", kind),
        (b"content-length", b"%d" % len(body)),
        (b"retry-after", b"1"),
        CLOSE,
    ]
    await send({"type": "http.response.start", "status": 503, "headers": headers})
    await send({"type": "http.response.body", "body": body})
