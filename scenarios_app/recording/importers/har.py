"""Reads HTTP archives (HAR 1.2), as browsers and proxies save them."""

import sys
from collections.abc import Iterator
from typing import Any

from scenarios_app.recording import Interaction, RecordedRequest, RecordedResponse
from scenarios_app.recording.importers.reader import FileValue, read_headers

_CUT = "its answer is not whole: the archive has no body for it"


def recognizes(value: Any) -> bool:
    """True if a decoded file is an HTTP archive."""
    return (
        isinstance(value, dict) and isinstance(value.get("log"), dict) and "entries" in value["log"]
    )


def read_interactions(archive: FileValue) -> Iterator[Interaction | str]:
    """Yield the interactions, and a note for each entry that is left out; raises DocumentError."""
    for entry in archive.at("log").at("entries").items():
        request = entry.at("request")
        method, url = request.at("method").text().upper(), request.at("url").text()
        match entry.at("response").at("status").value:
            case 0 | 204 if method == "OPTIONS":
                continue
            case 0:
                yield f"left out: {method} {url}: it has no answer"
            case 101:
                yield f"left out: {method} {url}: it became a WebSocket, which is not read here"
            case _:
                yield _read_interaction(method, url, entry=entry)


def _read_interaction(method: str, url: str, *, entry: FileValue) -> Interaction:
    """Return an entry's request and response; raises DocumentError."""
    request, response = entry.at("request"), entry.at("response")
    posted = request.maybe("postData").maybe("text").data()
    content = response.maybe("content")
    text = content.maybe("text")
    is_encoded = text.is_present and content.maybe("encoding").value == "base64"
    body = text.base64() if is_encoded else text.data()
    size = content.maybe("size").value
    notes = (_CUT,) if not body and isinstance(size, int) and size > 0 else ()
    # `wait` is the time until the first byte of the response. JSON has longer ones than a float.
    waited = entry.maybe("timings").maybe("wait").value
    is_time = isinstance(waited, int | float) and 0 < waited <= sys.float_info.max
    at = float(waited) if is_time else 0.0
    status, headers = response.at("status").status(), read_headers(response.maybe("headers"))
    return Interaction(
        RecordedRequest(method, url, read_headers(request.maybe("headers")), posted),
        RecordedResponse.whole(status, headers, body, at=round(at, 3)),
        notes,
    )
