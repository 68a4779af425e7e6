"""Cassettes of vcrpy and pytest-recording, in YAML or JSON, also with a `parsed_body`; and those of
Ruby's VCR."""

import json
from collections.abc import Iterator
from typing import Any

from scenarios_app.recording import Interaction, RecordedRequest, RecordedResponse
from scenarios_app.recording.bodies import Unreadable, decompressed, from_base64
from scenarios_app.recording.importers.reader import Place, by_name, headers_of

KEYS = ("interactions", "http_interactions")


def fits(value: Any) -> bool:
    """Whether a decoded file is such a cassette."""
    return isinstance(value, dict) and any(key in value for key in KEYS)


def read(value: Any, *, source: str = "") -> Iterator[Interaction]:
    """The interactions; raises DocumentError."""
    cassette = Place(value, source)
    key = next(key for key in KEYS if key in cassette.object())
    for interaction in cassette.at(key).items():
        yield _interaction(interaction)


def _interaction(place: Place) -> Interaction:
    request_place, response = place.at("request"), place.at("response")
    headers = headers_of(request_place.maybe("headers"))
    url = (
        request_place.at("uri")
        if request_place.maybe("uri").is_present
        else request_place.at("url")
    )
    try:
        body = decompressed(_body(request_place), by_name(headers))
    except Unreadable as error:
        raise request_place.error(str(error)) from None
    request = RecordedRequest(request_place.at("method").text().upper(), url.text(), headers, body)
    return Interaction(request, _response(response))


def _response(place: Place) -> RecordedResponse:
    status = place.maybe("status")
    code = status.maybe("code") if isinstance(status.value, dict) else status
    if not code.is_present:
        code = place.maybe("status_code")
    headers = headers_of(place.maybe("headers"))
    try:
        body = decompressed(_body(place), by_name(headers))
    except Unreadable as error:
        raise place.error(str(error)) from None
    return RecordedResponse(
        status=code.status() if code.is_present else 200,
        headers=headers,
        chunks=((0.0, body),) if body else (),
    )


def _body(place: Place) -> bytes:
    """The body of a request or an answer. One that the recorder parsed is written again as Python
    writes JSON, which is what it plays back itself."""
    parsed = place.maybe("parsed_body")
    if parsed.is_present:
        return json.dumps(parsed.value, default=str).encode()
    held = place.maybe("body")
    if not held.is_present:
        held = place.maybe("content")
    if isinstance(held.value, dict):
        encoded = held.maybe("base64_string")
        if encoded.is_present:
            return from_base64(encoded.text())
        held = held.at("string")
    return held.data() if held.is_present else b""
