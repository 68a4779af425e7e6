"""The guard in front of Django: counts a body while it comes in, since Django would first spool
all of it to disk."""

import json

from django.conf import settings

from mockllm_site.api.errors import PREFIXES
from scenarios_app.serving.calls import declared_length
from scenarios_app.serving.connection import App, Message, Receive, Scope, Send


def with_body_limit(app: App) -> App:
    """The application, with 413 for requests whose body is too large."""

    async def guarded(scope: Scope, receive: Receive, send: Send) -> None:
        most: int = settings.MOCKLLM_MAX_BODY_BYTES
        if declared_length(scope) > most:
            await _refuse(scope, send, most)
            return
        size = 0
        answered = False

        async def counted() -> Message:
            nonlocal size
            if size > most:
                return {"type": "http.disconnect"}
            message = await receive()
            size += len(message.get("body", b""))
            # For the application the client is gone; the answer it gets is ours.
            return message if size <= most else {"type": "http.disconnect"}

        async def watched(message: Message) -> None:
            nonlocal answered
            answered = True
            await send(message)

        await app(scope, counted, watched)
        if size > most and not answered:
            await _refuse(scope, send, most)

    return guarded


async def _refuse(scope: Scope, send: Send, most: int) -> None:
    # Without `connection: close`: it would reach a client that is still sending as a reset.
    message = f"The body is larger than {most} bytes."
    if scope["path"].startswith(PREFIXES):
        error = {"code": "VALIDATION_ERROR", "message": message, "field": None}
        body, kind = json.dumps(error).encode(), b"application/json"
    else:
        body, kind = message.encode(), b"text/plain; charset=utf-8"
    headers = [(b"content-type", kind), (b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": 413, "headers": headers})
    await send({"type": "http.response.body", "body": body})
