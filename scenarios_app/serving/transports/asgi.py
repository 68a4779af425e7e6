"""Sends an answer of the protocol's own through uvicorn's cycle."""

import asyncio
from contextlib import aclosing

from scenarios_app.serving.playback import Answer
from scenarios_app.serving.transports.asgi_scope import (
    Close,
    Message,
    Receive,
    Send,
    close_of,
    response_start,
)

# Time limit for a client to read the sent bytes before its connection is closed.
READ_SECONDS = 30.0


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
