"""The Django transport: a view for the providers' paths, under any ASGI server."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from typing import TypeVar
from urllib.parse import quote

from django.http import HttpRequest, HttpResponse, StreamingHttpResponse
from django.http.response import HttpResponseBase
from django.views.decorators.csrf import csrf_exempt

from mockllm_site.kit.api.whole_stream import can_stream, read_to_end
from mockllm_site.kit.lost_streams import close_if_lost, close_soon
from scenarios_app.engine.canonical import ErrorAnswer
from scenarios_app.serving.playback import Answer
from scenarios_app.serving.reply import Reply
from scenarios_app.serving.services import running_pipeline, services
from scenarios_app.serving.transports.asgi_scope import (
    EXTENSION,
    SAFE_IN_PATH,
    Close,
    call_of_scope,
    make_call,
    read_headers,
)
from scenarios_app.wire.base import Call

Response = TypeVar("Response", bound=HttpResponseBase)

# Time limit for a closed connection to disappear.
CLOSE_SECONDS = 30.0


@csrf_exempt
async def provider(request: HttpRequest) -> HttpResponseBase:
    """Answer any method and path below a provider's prefix."""
    pipeline = await running_pipeline()
    max_bytes = pipeline.options.max_body_bytes
    body = request.read(max_bytes + 1)
    if len(body) > max_bytes:
        answer = pipeline.refuse_body(_call_of_request(request, b""))
    else:
        answer = await pipeline.answer(_call_of_request(request, body))
    if not can_stream(request):
        answer.replace_cut_with_error()
        return _with_status_and_headers(await read_to_end(answer.pieces()), answer.reply)
    close: Close | None = getattr(request, "scope", {}).get("extensions", {}).get(EXTENSION)
    if close is None:
        answer.replace_cut_with_error()
    return await _build_response(answer, close)


def refusal(request: HttpRequest, error: ErrorAnswer) -> HttpResponse:
    """Return the error response for a provider's path when Django fails outside the view."""
    answer = services().pipeline.refuse(_call_of_request(request, b""), error)
    response = HttpResponse(answer.immediate_body())
    answer.finish()
    return _with_status_and_headers(response, answer.reply)


async def _build_response(answer: Answer, close: Close | None) -> HttpResponseBase:
    """Return the response with an answer's pieces: whole if the answer is immediate, else a stream.
    `close` cuts an answer without any piece."""
    pieces = answer.pieces()
    try:
        first = await anext(pieces, None)
        if first is None:
            await _cut(close)
            return HttpResponse(status=500)
        if answer.is_immediate and not answer.reply.streaming:
            await pieces.aclose()
            return _with_status_and_headers(HttpResponse(first), answer.reply)
    except BaseException:
        await pieces.aclose()
        raise
    body = _Body(first, pieces, answer, close)
    close_if_lost(body)
    return _with_status_and_headers(StreamingHttpResponse(body), answer.reply)


class _Body:
    """The body of a stream. Django calls `close` whether it read all of it, a part or nothing."""

    def __init__(
        self,
        first: bytes,
        pieces: AsyncGenerator[bytes, None],
        answer: Answer,
        close_connection: Close | None,
    ) -> None:
        self._first = first
        self._pieces = pieces
        self._answer = answer
        self._close_connection = close_connection
        self._loop = asyncio.get_running_loop()
        self._through = False

    async def __aiter__(self) -> AsyncIterator[bytes]:
        yield self._first
        async for piece in self._pieces:
            yield piece
        self._through = True
        if self._answer.reply.cut:
            await _cut(self._close_connection)

    def close(self) -> None:
        if not self._through:
            close_soon(self._pieces, self._loop)


async def _cut(close: Close | None) -> None:
    """Close the connection and wait for the cancellation: returning would end the response
    properly."""
    if close is not None:
        close()
        await asyncio.sleep(CLOSE_SECONDS)


def _call_of_request(request: HttpRequest, body: bytes) -> Call:
    """Return the call of a Django request. Its raw path and headers are lost under WSGI, as in
    Django's own test client, and rebuilt."""
    scope = getattr(request, "scope", None)
    if scope is not None:
        return call_of_scope(scope, body)
    return make_call(
        request.method or "",
        quote(request.path_info, safe=SAFE_IN_PATH),
        query=request.META.get("QUERY_STRING", "").encode(),
        headers=read_headers((k.encode(), v.encode()) for k, v in request.headers.items()),
        body=body,
        scheme=request.scheme or "http",
    )


def _with_status_and_headers(response: Response, reply: Reply) -> Response:
    response.status_code = reply.status
    del response["content-type"]
    for name, value in reply.headers:
        response.headers[name] = value
    return response
