"""Converts interactions to the steps of one scenario, a cassette: the recorded request, the answer
in editable parts, and its bytes. Recordings without bytes become ordinary conditions."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from scenarios_app.engine.canonical import Json
from scenarios_app.engine.document.answer import PacingDocument, ProduceDocument
from scenarios_app.engine.document.json_text import to_plain_json
from scenarios_app.engine.document.load import validate
from scenarios_app.engine.document.recorded import chunk_document, digest_of_answer
from scenarios_app.engine.producing.placeholders import BRACES, OPENING, escape_placeholders
from scenarios_app.engine.recorded.requests import decode_body
from scenarios_app.engine.secrets import is_secret
from scenarios_app.engine.shapes import DocumentError
from scenarios_app.recording import Interaction, RecordedResponse
from scenarios_app.recording.places import PlacedRequest, describe_unsupported_api, place_request
from scenarios_app.recording.redaction import redact_interaction
from scenarios_app.wire.upstreams import upstreams

# The tag of recorded scenarios.
TAG: Final = "recording"
# A recorded body begins a few levels down in its document, and gets 48 of its 64 levels.
_BODY_LOC: Final = ("body",) * 16
# Replayed headers of every API: the content type, and those on which clients act.
_REPLAYED_HEADERS: Final = frozenset(
    {"content-type", "retry-after", "retry-after-ms", "x-should-retry", "x-request-id"}
)
_REPLAYED_HEADER_PART: Final = "ratelimit"
_PRINTABLE: Final = frozenset(map(chr, (*range(0x20, 0x7F), *range(0xA0, 0x100))))
# The usual limit of HTTP servers; decoding longer URLs repeatedly takes seconds.
MAX_URL_CHARS: Final = 8_192
# Larger bodies are not made editable.
_MAX_EDITABLE_BYTES: Final = 1_000_000


@dataclass(frozen=True, slots=True)
class Conversion:
    """The document of a cassette, and notes for people on what could not be converted."""

    document: dict[str, Any]
    notes: tuple[str, ...] = ()

    @property
    def steps(self) -> int:
        return len(self.document["steps"])


def to_document(name: str, interactions: Sequence[Interaction]) -> Conversion:
    """Return the scenario document that replays these interactions in order.

    Secrets are removed first. Requests to an API that this server does not support are left out,
    with a note; the document may then have no steps. Raises DocumentError for a status that is not
    from 200 to 599.
    """
    steps: list[dict[str, Any]] = []
    notes: Counter[str] = Counter()
    for interaction in interactions:
        if len(interaction.request.url) > MAX_URL_CHARS:
            notes[f"left out: a request with a URL of more than {MAX_URL_CHARS:,} characters"] += 1
            continue
        clean = redact_interaction(interaction)
        where = place_request(clean.request)
        if where is None:
            api = describe_unsupported_api(clean.request)
            notes[f"left out: {api} is an API that this server does not speak"] += 1
            continue
        parts, lost = _editable_parts(where, clean.response) or (_raw_parts(clean.response), ())
        recorded = _recorded_answer(where, clean.response, parts=escape_produce(parts))
        produce = {**parts, "recorded": recorded}
        steps.append({"match": _recorded_match(where), "produce": produce})
        notes.update(f"step {len(steps)}: {note}" for note in clean.notes)
        if lost:
            notes[f"once edited, an answer is without {', '.join(lost)}"] += 1
    note_lines = (f"{note} ({n} interactions)" if n > 1 else note for note, n in notes.items())
    return make_conversion(name, steps, note_lines)


def _recorded_match(where: PlacedRequest) -> dict[str, Json]:
    """Return the `match` of a step: provider, path, model, and the recorded request."""
    call = where.call
    recorded: dict[str, Json] = {
        "method": call.method if call.method != "POST" else None,
        "query": {name: value for name, value in call.query.items() if not is_secret(name)} or None,
        "body": _decode_for_document(call.body),
    }
    match: dict[str, Json] = {
        "provider": where.provider if where.target.endpoint is not None else None,
        "path": where.path,
        "model": where.model or None,
        "recorded": _without_none(recorded),
    }
    return _without_none(match)


def _decode_for_document(body: bytes) -> Json:
    """Return a body as `decode_body` does, but as text if a document cannot hold its JSON."""
    try:
        return to_plain_json(decode_body(body), loc=_BODY_LOC)
    except DocumentError:
        return body.decode()


def _without_none(fields: dict[str, Json]) -> dict[str, Json]:
    return {key: value for key, value in fields.items() if value is not None}


def _recorded_answer(
    where: PlacedRequest, response: RecordedResponse, *, parts: dict[str, Any]
) -> dict[str, Json]:
    """Return the recorded answer of a step, which is replayed until its parts are edited."""
    request, endpoint = where.request, where.target.endpoint
    streams = request.stream if request and endpoint and endpoint.generates else None
    recorded: dict[str, Json] = {
        "status": response.status,
        "headers": _replayed_headers(response) or None,
        "chunks": [chunk_document(at, data) for at, data in response.chunks if data],
        "cut": response.cut or None,
        "path": where.path,
        "stream": streams,
        "of": digest_of_answer(_validate_produce(parts)),
    }
    return _without_none(recorded)


def _editable_parts(
    where: PlacedRequest, response: RecordedResponse
) -> tuple[dict[str, Any], tuple[str, ...]] | None:
    """Return a response's `produce` and the fields that it lacks. Returns None unless its status is
    200 and its body can be decoded into valid parts."""
    endpoint = where.target.endpoint
    if endpoint is None or endpoint.decoder is None or response.status != 200:
        return None
    decoded = endpoint.decoder.decode(response.body)
    if decoded is None:
        return None
    parts = decoded.to_produce()
    if response.cut:
        parts["fault"] = {"kind": "disconnect", "after_chunks": _count_streamed_chunks(parts)}
    try:
        _validate_produce(parts)
    except DocumentError:
        return None
    return parts, decoded.lost


def escape_produce(produce: dict[str, Any]) -> dict[str, Any]:
    """Return a `produce` with placeholders in its texts escaped, except in `raw` and `recorded`."""
    return {
        key: value if key in ("raw", "recorded") else _escape_values(value)
        for key, value in produce.items()
    }


def _escape_values(value: Any) -> Any:
    """Return a copy in which no text has a placeholder."""
    match value:
        case str():
            return escape_placeholders(value)
        case dict():
            return {key: _escape_values(item) for key, item in value.items()}
        case list():
            return [_escape_values(item) for item in value]
        case _:
            return value


def _count_streamed_chunks(parts: dict[str, Any]) -> int:
    """Return the approximate number of chunks in which the text of these parts streams."""
    words = len(str(parts.get("text") or "").split())
    return max(1, words // PacingDocument().words_per_chunk)


def _validate_produce(parts: dict[str, Any]) -> dict[str, Any]:
    """Return a `produce` without defaults; raises DocumentError if it is invalid."""
    document = validate(ProduceDocument, parts, loc=("produce",))
    return document.model_dump(by_alias=True, exclude_defaults=True)


def _raw_parts(response: RecordedResponse) -> dict[str, Any]:
    """Return a `produce` with the response as `raw`, without a body that is too large to edit."""
    status = response.status if response.status != 200 else None
    raw = _without_none({"status": status, "headers": _replayed_headers(response) or None})
    body = response.body
    if body and len(body) <= _MAX_EDITABLE_BYTES:
        value = _decode_for_document(body)
        raw["body"] = body.decode(errors="replace") if isinstance(value, str) else value
    return {"raw": raw}


def _replayed_headers(response: RecordedResponse) -> dict[str, Json]:
    """Return the headers to replay, by name in lower case; a stream always has a content type."""
    replayed = _REPLAYED_HEADERS.union(*(each.replayed_headers for each in upstreams().values()))
    headers: dict[str, Json] = {}
    if response.body.startswith((b"data:", b"event:", b":")):
        headers["content-type"] = "text/event-stream"
    for name, value in response.headers:
        lower, bare = name.lower(), value.strip()
        if (lower in replayed or _REPLAYED_HEADER_PART in lower) and set(bare) <= _PRINTABLE:
            headers[lower] = bare
    return headers


def expected_tools(names: Sequence[str]) -> Json:
    """Return the `expect` of a step for these tools, which does not require all of them."""
    return {"tools": list(names), "allow_missing_tools": True}


def make_conversion(name: str, steps: Sequence[dict[str, Any]], notes: Iterable[str]) -> Conversion:
    """Return a document with these steps, with placeholders in their texts escaped, and notes."""
    escaped = [{**step, "produce": escape_produce(step["produce"])} for step in steps]
    variables = {"variables": {BRACES: OPENING}} if escaped != list(steps) else {}
    return Conversion({"name": name, "tags": [TAG], **variables, "steps": escaped}, tuple(notes))
