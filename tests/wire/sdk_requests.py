"""Convert an SDK's HTTP requests to calls of the wire layer."""

import httpx2

from scenarios_app.wire.base import Call


def to_call(request: httpx2.Request) -> Call:
    return Call(
        request.method,
        request.url.raw_path.split(b"?")[0].decode(),
        dict(request.url.params),
        {name.lower(): value for name, value in request.headers.items()},
        request.read(),
    )
