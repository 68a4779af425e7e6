"""Reads cassettes of vcrpy and pytest-recording (YAML or JSON, also with `parsed_body`) and of
Ruby's VCR."""

import json
from collections.abc import Iterator
from typing import Any

from scenarios_app.recording import Interaction, RecordedRequest, RecordedResponse
from scenarios_app.recording.bodies import UnreadableBody, decode_base64, decompress
from scenarios_app.recording.importers.reader import FileValue, headers_by_name, read_headers

KEYS = ("interactions", "http_interactions")


def fits(value: Any) -> bool:
    """True if a decoded file is such a cassette."""
    return isinstance(value, dict) and any(key in value for key in KEYS)


def read(value: Any, *, source: str = "") -> Iterator[Interaction]:
    """Yield the interactions; raises DocumentError."""
    cassette = FileValue(value, source)
    key = next(key for key in KEYS if key in cassette.object())
    for interaction in cassette.at(key).items():
        yield _interaction(interaction)


def _interaction(place: FileValue) -> Interaction:
    request_place, response = place.at("request"), place.at("response")
    headers = read_headers(request_place.maybe("headers"))
    url = (
        request_place.at("uri")
        if request_place.maybe("uri").is_present
        else request_place.at("url")
    )
    try:
        body = decompress(_body(request_place), headers_by_name(headers))
    except UnreadableBody as error:
        raise request_place.error(str(error)) from None
    request = RecordedRequest(request_place.at("method").text().upper(), url.text(), headers, body)
    return Interaction(request, _response(response))


def _response(place: FileValue) -> RecordedResponse:
    status = place.maybe("status")
    code = status.maybe("code") if isinstance(status.value, dict) else status
    if not code.is_present:
        code = place.maybe("status_code")
    headers = read_headers(place.maybe("headers"))
    try:
        body = decompress(_body(place), headers_by_name(headers))
    except UnreadableBody as error:
        raise place.error(str(error)) from None
    return RecordedResponse(
        status=code.status() if code.is_present else 200,
        headers=headers,
        chunks=((0.0, body),) if body else (),
    )


def _body(place: FileValue) -> bytes:
    """Return the body of a request or response. A body that the recorder parsed is encoded again as
    Python's json does it, which is what that recorder replays."""
    parsed = place.maybe("parsed_body")
    if parsed.is_present:
        return json.dumps(parsed.value, default=str).encode()
    held = place.maybe("body")
    if not held.is_present:
        held = place.maybe("content")
    if isinstance(held.value, dict):
        encoded = held.maybe("base64_string")
        if encoded.is_present:
            return decode_base64(encoded.text())
        held = held.at("string")
    return held.data() if held.is_present else b""
