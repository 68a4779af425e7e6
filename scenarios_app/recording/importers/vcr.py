"""Reads cassettes of vcrpy and pytest-recording (also with `parsed_body`) and of Ruby's VCR."""

import json
from collections.abc import Iterator
from typing import Any

from scenarios_app.recording import Interaction, RecordedRequest, RecordedResponse
from scenarios_app.recording.bodies import UnreadableBody, decompress
from scenarios_app.recording.importers.reader import FileValue, read_headers

KEYS = ("interactions", "http_interactions")


def recognizes(value: Any) -> bool:
    """True if a decoded file is a cassette of vcrpy or of Ruby's VCR."""
    return isinstance(value, dict) and any(key in value for key in KEYS)


def read_interactions(cassette: FileValue) -> Iterator[Interaction]:
    """Yield the interactions; raises DocumentError."""
    key = next(key for key in KEYS if key in cassette.object())
    yield from map(_read_interaction, cassette.at(key).items())


def _read_interaction(place: FileValue) -> Interaction:
    """Return an entry's request and response; raises DocumentError."""
    sent, response = place.at("request"), place.at("response")
    method, url = sent.at("method").text().upper(), sent.first("uri", "url").text()
    headers = read_headers(sent.maybe("headers"))
    request = RecordedRequest(method, url, headers, _read_body(sent, headers))
    return Interaction(request, _read_response(response))


def _read_response(place: FileValue) -> RecordedResponse:
    """Return a response, with status 200 if the file has none; raises DocumentError."""
    status = place.maybe("status")
    code = status.maybe("code") if isinstance(status.value, dict) else status
    if not code.is_present:
        code = place.maybe("status_code")
    headers = read_headers(place.maybe("headers"))
    body = _read_body(place, headers)
    return RecordedResponse.whole(code.status() if code.is_present else 200, headers, body)


def _read_body(place: FileValue, headers: tuple[tuple[str, str], ...]) -> bytes:
    """Return the body of a request or response without its compression; raises DocumentError."""
    encodings = (value for name, value in headers if name.lower() == "content-encoding")
    try:
        return decompress(_written_body(place), next(encodings, ""))
    except UnreadableBody as error:
        raise place.error(str(error)) from None


def _written_body(place: FileValue) -> bytes:
    """Return the body in the file; a parsed one is encoded as the recorder itself replays it.
    Raises DocumentError."""
    parsed = place.maybe("parsed_body")
    if parsed.is_present:
        return json.dumps(parsed.value, default=str).encode()
    held = place.first("body", "content")
    if held.maybe("base64_string").is_present:
        return held.at("base64_string").base64()
    return (held.at("string") if isinstance(held.value, dict) else held).data()
