"""Reads streams to their end for WSGI servers and for Django's synchronous test client.

Both give a view a separate event loop, which ends with the view.
"""

from collections.abc import AsyncGenerator, Iterator
from contextlib import aclosing

from django.http import HttpRequest, HttpResponse


class WholeStream(HttpResponse):
    """A stream that was read to its end. Its body is in `content`, as that of every response, and
    in `streaming_content`, as that of a stream."""

    @property
    def streaming_content(self) -> Iterator[bytes]:
        return iter(self)


def can_stream(request: HttpRequest) -> bool:
    """Return True for a request of an ASGI server or of `AsyncClient`, which read a stream piece by
    piece."""
    return hasattr(request, "scope")


async def read_to_end(pieces: AsyncGenerator[bytes, None]) -> WholeStream:
    """Return the response with all pieces of a stream."""
    async with aclosing(pieces):
        return WholeStream(b"".join([piece async for piece in pieces]))
