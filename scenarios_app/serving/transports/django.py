"""The Django transport: the view that answers all providers' requests, under any server."""

import asyncio
from collections import defaultdict
from collections.abc import AsyncGenerator, AsyncIterator, Iterable
from typing import TypeVar
from urllib.parse import quote

from django.http import HttpRequest, HttpResponse, StreamingHttpResponse
from django.http.response import HttpResponseBase
from django.views.decorators.csrf import csrf_exempt

from mockllm_site.kit.streams import WholeStream, can_stream, close_if_lost, close_soon, read_to_end
from scenarios_app.engine.canonical import ErrorAnswer
from scenarios_app.serving.playback import Answer
from scenarios_app.serving.reply import Reply
from scenarios_app.serving.services import running_pipeline, services
from scenarios_app.serving.transports.asgi_scope import (
    EXTENSION,
    SAFE_IN_PATH,
    Close,
    Scope,
    call_of_scope,
)
from scenarios_app.serving.transports.request_body import BODY, RequestBody
from scenarios_app.wire.base import Call

# Time limit for a closed connection to disappear.
CLOSE_SECONDS = 30.0
# The key of a WSGI request's environment with the scope that stands for it.
_SCOPE = "mockllm.scope"


class ProviderResponse(HttpResponseBase):
    """A response with the status and headers of a reply."""

    # The values of headers that occur more than once, which Django's headers cannot hold.
    _repeated: dict[str, list[str]] = {}  # noqa: RUF012  (never changed in place)

    def take_head(self, reply: Reply) -> None:
        """Take status and headers of a reply."""
        self.status_code = reply.status
        del self["content-type"]
        for name, value in reply.headers:
            self.headers[name] = value
        if len(self.headers) < len(reply.headers):
            values = defaultdict(list)
            for name, value in reply.headers:
                values[name].append(value)
            self._repeated = {name: several for name, several in values.items() if several[1:]}

    def items(self) -> Iterable[tuple[str, str]]:
        """Yield the headers for the server, also those that middleware has set."""
        for name, value in self.headers.items():
            several = self._repeated.get(name, ())
            if several and several[-1] == value:
                yield from ((name, each) for each in several)
            else:
                yield name, value


class WholeResponse(ProviderResponse, HttpResponse):
    """A provider's response whose body is there."""


class WholeStreamResponse(ProviderResponse, WholeStream):
    """A provider's stream that was read to its end."""


class StreamedResponse(ProviderResponse, StreamingHttpResponse):
    """A provider's response whose body is sent piece by piece."""


Response = TypeVar("Response", bound=ProviderResponse)


@csrf_exempt
async def provider(request: HttpRequest) -> HttpResponseBase:
    """Answer any method and path below a provider's prefix."""
    answer = await _answer_of(request)
    if not can_stream(request):
        answer.replace_cut_with_error()
        whole = await read_to_end(answer.pieces())
        return _with_head(WholeStreamResponse(whole.content), answer.reply)
    close: Close | None = (scope_of(request).get("extensions") or {}).get(EXTENSION)
    if close is None:
        answer.replace_cut_with_error()
    if answer.is_immediate:
        return _immediate_response(answer)
    return await _timed_response(answer, close)


def refusal(request: HttpRequest, error: ErrorAnswer) -> HttpResponseBase:
    """Return the error response for a provider's path when Django fails outside the view."""
    limited: RequestBody | None = scope_of(request).get(BODY)
    pipeline = services().pipeline if limited is None else limited.pipeline
    return _immediate_response(pipeline.refuse(_call_of(request, b""), error))


async def _answer_of(request: HttpRequest) -> Answer:
    """Return the answer to a request, whose body is in memory until then only."""
    limited: RequestBody | None = scope_of(request).get(BODY)
    pipeline = await running_pipeline() if limited is None else limited.pipeline
    max_bytes = pipeline.options.max_body_bytes
    try:
        if limited is not None and limited.refusal is not None:
            return pipeline.refuse(_call_of(request, b""), limited.refusal)
        body = request.read(max_bytes + 1)
        if can_stream(request):
            # Django keeps the body until the end of the response.
            request.close()
        if len(body) > max_bytes:
            return pipeline.refuse(_call_of(request, b""), pipeline.too_large())
        return await pipeline.answer(_call_of(request, body))
    finally:
        if limited is not None:
            await limited.release()


def _immediate_response(answer: Answer) -> HttpResponseBase:
    """Return the response with an answer that is due now."""
    body = answer.immediate_body()
    # First the journal: who has an answer may look there at once.
    answer.finish()
    if answer.reply.streaming:
        return _with_head(StreamedResponse(_one_piece(body)), answer.reply)
    return _with_head(WholeResponse(body), answer.reply)


async def _one_piece(body: bytes) -> AsyncIterator[bytes]:
    yield body


async def _timed_response(answer: Answer, close: Close | None) -> HttpResponseBase:
    """Return the response with an answer's pieces, once the first is due. `close` cuts an answer
    without any piece."""
    pieces = answer.pieces()
    try:
        first = await anext(pieces, None)
        if first is None:
            await _cut(close)
            return HttpResponse(status=500)
        if answer.is_immediate and not answer.reply.streaming:
            # A late whole answer: its end is journalled before it is sent, too.
            await pieces.aclose()
            return _with_head(WholeResponse(first), answer.reply)
    except BaseException:
        await pieces.aclose()
        raise
    body = _Body(first, pieces, answer, close)
    close_if_lost(body)
    return _with_head(StreamedResponse(body), answer.reply)


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
    properly. Raises ConnectionAbortedError on a server that cannot close it."""
    if close is None:
        # An error is the only way to cut the connection there.
        raise ConnectionAbortedError("The answer ends here, as its provider's did.")
    close()
    await asyncio.sleep(CLOSE_SECONDS)


def scope_of(request: HttpRequest) -> Scope:
    """Return a request's ASGI scope. Under WSGI one is made of the environment, which has lost the
    raw path and headers."""
    scope: Scope | None = getattr(request, "scope", None) or request.META.get(_SCOPE)
    if scope is None:
        scope = request.META[_SCOPE] = {
            "method": request.method or "",
            "path": request.path_info,
            "raw_path": quote(request.path_info, safe=SAFE_IN_PATH).encode(),
            "query_string": request.META.get("QUERY_STRING", ""),
            "headers": [(k.lower().encode(), v.encode()) for k, v in request.headers.items()],
            "scheme": request.scheme or "http",
        }
    return scope


def _call_of(request: HttpRequest, body: bytes) -> Call:
    return call_of_scope(scope_of(request), body)


def _with_head(response: Response, reply: Reply) -> Response:
    response.take_head(reply)
    return response
