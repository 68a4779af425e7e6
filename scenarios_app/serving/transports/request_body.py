"""Limits the bodies of providers' requests, which Django reads before it calls the view.

What is wrong with a request is in its scope, so that the view answers it, as all others.
"""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack

from scenarios_app.engine.canonical import ErrorAnswer
from scenarios_app.serving.pipeline import Pipeline
from scenarios_app.serving.services import running_pipeline
from scenarios_app.serving.transports.asgi_scope import (
    App,
    Message,
    Receive,
    Scope,
    Send,
    announced_length,
    call_of_scope,
)
from scenarios_app.serving.transports.body_memory import SMALL_BODY, NoBodyMemory, body_memory

# Memory of a request in multiples of its body: the bytes, the texts in them, and copies of these.
BODY_COPIES = 3
# The key of a scope with the `RequestBody`.
BODY = "mockllm.body"
NO_BODY_MEMORY = "The server is reading other large requests; try again."


class RequestBody:
    """The body of a request as Django gets it: empty from the moment that `refusal` is set. Memory
    for a large one stays reserved until `release`. `pipeline` answers the request."""

    def __init__(self, receive: Receive, pipeline: Pipeline) -> None:
        self.pipeline = pipeline
        self.refusal: ErrorAnswer | None = None
        self._receive = receive
        self._size = 0
        self._ended = False
        self._reservation = AsyncExitStack()

    async def reserve(self, scope: Scope) -> None:
        """Reserve memory for a large or unbounded body, maybe after a wait; or set `refusal` to
        what its head decides, or to a 503 if there is no memory."""
        pipeline, max_bytes = self.pipeline, self.pipeline.options.max_body_bytes
        announced = announced_length(scope, unknown=max_bytes)
        if announced <= min(SMALL_BODY, max_bytes):
            return
        if announced > max_bytes:
            self.refusal = pipeline.too_large()
            return
        self.refusal = pipeline.refusal_of_head(call_of_scope(scope, b""))
        if self.refusal is None:
            # A body of unknown length is rarely as large as allowed.
            size = BODY_COPIES * announced_length(scope, unknown=0) or announced
            try:
                await self._reservation.enter_async_context(body_memory.reserve(size))
            except NoBodyMemory:
                self.refusal = ErrorAnswer(503, NO_BODY_MEMORY, retry_after_ms=1000)

    async def release(self) -> None:
        """Free the reserved memory."""
        await self._reservation.aclose()

    async def receive(self) -> Message:
        """Return the next message; the end of the body once the request is refused."""
        if self.refusal is None:
            message = await self._receive()
            self._size += len(message.get("body", b""))
            if self._size <= self.pipeline.options.max_body_bytes:
                return message
            self.refusal = self.pipeline.too_large()
        if self._ended:
            # The rest stays unread. A refusal is sent at once, so no disconnect is waited for.
            await asyncio.Event().wait()
        self._ended = True
        return {"type": "http.request", "body": b"", "more_body": False}


def with_request_body(
    app: App, running: Callable[[], Awaitable[Pipeline]] = running_pipeline
) -> App:
    """Return the application, for which large bodies wait for memory, and too large ones are
    refused."""

    async def limited(scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, with its `RequestBody` in the scope."""
        body = RequestBody(receive, await running())
        try:
            await body.reserve(scope)
            await app({**scope, BODY: body}, body.receive, send)
        finally:
            await body.release()

    return limited
