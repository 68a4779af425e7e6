"""The ASGI transport: an application in front of Django for the providers' paths."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import aclosing
from io import BytesIO

from scenarios_app.engine.canonical import ErrorAnswer
from scenarios_app.serving.pipeline import Pipeline
from scenarios_app.serving.playback import Answer
from scenarios_app.serving.reply import Reply
from scenarios_app.serving.services import running_pipeline
from scenarios_app.serving.transports.asgi_scope import (
    Close,
    Message,
    Receive,
    Scope,
    Send,
    announced_length,
    call_of_scope,
    close_of,
)
from scenarios_app.serving.transports.body_memory import SMALL_BODY, NoBodyMemory, body_memory

# Memory of a request in multiples of its body: the bytes, the texts in them, and copies of these.
BODY_COPIES = 3
# Time limit for a client to read the sent bytes before its connection is closed.
READ_SECONDS = 30.0


class ProviderApp:
    """ASGI application that answers every HTTP request as a provider, of any path."""

    def __init__(self, pipeline: Callable[[], Awaitable[Pipeline]] = running_pipeline) -> None:
        self._pipeline = pipeline

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        pipeline = await self._pipeline()
        max_bytes = pipeline.options.max_body_bytes
        announced = announced_length(scope, unknown=max_bytes)
        if announced > min(SMALL_BODY, max_bytes):
            answer = await _answer_to_large(pipeline, scope, receive, announced=announced)
        else:
            answer = await _answer_to(pipeline, scope, receive)
        if answer is not None:
            await send_answer(answer, receive, send)


async def send_answer(answer: Answer, receive: Receive, send: Send) -> None:
    """Send an answer whose request was read already."""
    close = close_of(send) if answer.may_close_connection else None
    if close is None:
        answer.replace_cut_with_error()
    if answer.is_immediate:
        body = answer.immediate_body()
        # First the journal: who has an answer may look there at once.
        answer.finish()
        await send(response_start(answer.reply))
        await send(_body_message(body, more=False))
    else:
        await _play(answer, receive, send, close=close)


async def _answer_to(pipeline: Pipeline, scope: Scope, receive: Receive) -> Answer | None:
    """Return the answer to a request, or None if its client disconnected before the body ended."""
    body = await read_body(receive, pipeline.options.max_body_bytes)
    return None if body is None else await pipeline.answer(call_of_scope(scope, body))


async def _answer_to_large(
    pipeline: Pipeline, scope: Scope, receive: Receive, *, announced: int
) -> Answer | None:
    """Refuse what the head decides; otherwise wait for memory to read the body. None if the client
    disconnected."""
    head = call_of_scope(scope, b"")
    if announced > pipeline.options.max_body_bytes:
        return pipeline.refuse_body(head)
    if refused := pipeline.refuse_head(head):
        return refused
    # A body of unknown length is rarely as large as allowed.
    size = BODY_COPIES * announced_length(scope, unknown=0) or announced
    try:
        # Reserved until the answer, because a waiting request also takes memory.
        async with body_memory.reserve(size):
            return await _answer_to(pipeline, scope, receive)
    except NoBodyMemory:
        busy = "The server is reading other large requests; try again."
        return pipeline.refuse(head, ErrorAnswer(503, busy, retry_after_ms=1000))


async def read_body(receive: Receive, max_bytes: int) -> bytes | None:
    """Return the body of a request, or None if its client disconnected. A body larger than
    `max_bytes` is read only until that is certain.

    The server discards the unread rest: closing the connection would reach a client that is still
    sending as a reset.
    """
    # BytesIO grows in place; joining pieces would take twice the memory.
    read = BytesIO()
    while read.tell() <= max_bytes:
        message = await receive()
        if message["type"] == "http.disconnect":
            return None
        piece: bytes = message.get("body", b"")
        more: bool = message.get("more_body", False)
        if not more and not read.tell():
            return piece
        read.write(piece)
        if not more:
            break
    return read.getvalue()


def response_start(reply: Reply) -> Message:
    """Return the message that opens an HTTP response."""
    headers = [(name.encode("latin-1"), value.encode("latin-1")) for name, value in reply.headers]
    return {"type": "http.response.start", "status": reply.status, "headers": headers}


async def _play(answer: Answer, receive: Receive, send: Send, *, close: Close | None) -> None:
    """Send a timed answer. A listener task notices a disconnect, since servers do not cancel the
    application then. Raises ConnectionAbortedError for a cut that the server cannot make itself."""
    giving = asyncio.current_task()
    assert giving is not None
    gone = False

    async def wait_for_disconnect() -> None:
        """Cancel the sending task once the client has disconnected."""
        nonlocal gone
        while (await receive())["type"] != "http.disconnect":
            pass
        gone = True
        giving.cancel()

    listener = asyncio.create_task(wait_for_disconnect())
    try:
        started = False
        async with aclosing(answer.pieces()) as pieces:
            async for piece in pieces:
                if not started:
                    await send(response_start(answer.reply))
                    started = True
                await send(_body_message(piece, more=True))
        if not answer.reply.cut:
            await send(_body_message(b"", more=False))
        elif close is None:
            # An error is the only way to cut the connection on such a server.
            raise ConnectionAbortedError("The answer ends here, as its provider's did.")
        else:
            close()
            # The server reports an error if this returns while the connection is open.
            async with asyncio.timeout(READ_SECONDS):
                await listener
    except asyncio.CancelledError:
        if not gone:
            raise
        giving.uncancel()
    except TimeoutError:
        pass
    finally:
        listener.cancel()
        await asyncio.gather(listener, return_exceptions=True)


def _body_message(data: bytes, *, more: bool) -> Message:
    return {"type": "http.response.body", "body": data, "more_body": more}
