"""Converts interactions to the steps of one scenario, a cassette: the recorded request, the answer
in editable parts, and its bytes. Recordings without bytes become ordinary conditions."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from scenarios_app.engine.canonical import Json, depth_of
from scenarios_app.engine.document.answer import PacingDocument, ProduceDocument
from scenarios_app.engine.document.load import validate
from scenarios_app.engine.document.recorded import chunk_document, digest_of_answer
from scenarios_app.engine.producing.templates import BRACES, OPENING, escape_templates
from scenarios_app.engine.recorded.requests import decode_body
from scenarios_app.engine.secrets import is_secret
from scenarios_app.engine.shapes import DocumentError
from scenarios_app.recording import Interaction, RecordedResponse
from scenarios_app.recording.places import PlacedRequest, describe_unsupported_api, place_request
from scenarios_app.recording.redaction import redact_interaction
from scenarios_app.wire.decoded import DecodedResponse
from scenarios_app.wire.registry import upstreams

# The tag of recorded scenarios.
TAG: Final = "recording"
# Documents have at most 64 levels, and a recorded body begins a few levels down.
_MAX_BODY_DEPTH: Final = 48
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
    with a note; the document may then have no steps.
    """
    steps: list[Json] = []
    notes: Counter[str] = Counter()
    braces = False
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
        answer = build_produce(where, clean.response)
        braces = braces or answer.braces
        steps.append({"match": _recorded_match(where), "produce": answer.document})
        notes.update(f"step {len(steps)}: {note}" for note in clean.notes)
        if answer.lost:
            notes[f"once edited, an answer is without {', '.join(answer.lost)}"] += 1
    document: dict[str, Any] = {"name": name, "tags": [TAG]}
    if braces:
        document["variables"] = {BRACES: OPENING}
    note_lines = (f"{note} ({n} interactions)" if n > 1 else note for note, n in notes.items())
    return Conversion({**document, "steps": steps}, tuple(note_lines))


def to_step(interaction: Interaction) -> dict[str, Any] | None:
    """Return the step of one interaction, for callers that change its match; None for an API that
    this server does not support."""
    conversion = to_document("step", [interaction])
    return conversion.document["steps"][0] if conversion.steps else None


def _recorded_match(where: PlacedRequest) -> dict[str, Json]:
    match: dict[str, Json] = {}
    if where.target.endpoint is not None:
        match["provider"] = where.provider
    match["path"] = where.path
    if where.model:
        match["model"] = where.model
    return {**match, "recorded": _recorded_request(where)}


def _recorded_request(where: PlacedRequest) -> dict[str, Any]:
    call = where.call
    recorded: dict[str, Any] = {}
    if call.method != "POST":
        recorded["method"] = call.method
    query = {name: value for name, value in call.query.items() if not is_secret(name)}
    if query:
        recorded["query"] = query
    body = decode_body(call.body)
    if body is not None:
        deep = not isinstance(body, str) and depth_of(body) > _MAX_BODY_DEPTH
        recorded["body"] = call.body.decode() if deep else body
    return recorded


@dataclass(frozen=True, slots=True)
class BuiltProduce:
    """The `produce` of a step. `lost` lists content of the answer that its parts cannot hold. With
    `braces` a text uses the variable that stands for literal braces."""

    document: dict[str, Any]
    lost: tuple[str, ...] = ()
    braces: bool = False


def build_produce(where: PlacedRequest, response: RecordedResponse) -> BuiltProduce:
    """Return what a step needs to replay a recorded response."""
    decoded_response = _decode_response(where, response)
    parts = None if decoded_response is None else _loadable_parts(decoded_response.document())
    if decoded_response is None or parts is None:
        parts = {"raw": _raw_answer(response)}
    lost = decoded_response.lost if decoded_response and "raw" not in parts else ()
    escaped = escape_produce(parts)
    if response.cut and "raw" not in escaped:
        escaped["fault"] = {"kind": "disconnect", "after_chunks": _count_streamed_chunks(parts)}
    request, endpoint = where.request, where.target.endpoint
    recorded: dict[str, Json] = {"status": response.status}
    if headers := _headers(response):
        recorded["headers"] = headers
    recorded["chunks"] = [chunk_document(at, data) for at, data in response.chunks if data]
    if response.cut:
        recorded["cut"] = True
    recorded["path"] = where.path
    if request is not None and endpoint is not None and endpoint.generates:
        recorded["stream"] = request.stream
    recorded["of"] = digest_of_answer(_without_defaults(escaped))
    return BuiltProduce({**escaped, "recorded": recorded}, lost, braces=escaped != parts)


def _decode_response(where: PlacedRequest, response: RecordedResponse) -> DecodedResponse | None:
    """Return the decoded response; None for an error, or one of an unknown format."""
    endpoint = where.target.endpoint
    if endpoint is None or endpoint.decoder is None or response.status != 200:
        return None
    return endpoint.decoder.decode(response.body)


def _loadable_parts(parts: dict[str, Any]) -> dict[str, Any] | None:
    """Return the parts, or None if a document cannot hold them."""
    try:
        _without_defaults(parts)
    except DocumentError:
        return None
    return parts


def escape_produce(produce: dict[str, Any]) -> dict[str, Any]:
    """Return a `produce` whose texts are literal, even if they look like templates. Raw bodies are
    not templates and stay unchanged."""
    return {
        key: value if key in ("raw", "recorded") else _escape_values(value)
        for key, value in produce.items()
    }


def _escape_values(value: Any) -> Any:
    match value:
        case str():
            return escape_templates(value)
        case dict():
            return {key: _escape_values(item) for key, item in value.items()}
        case list():
            return [_escape_values(item) for item in value]
        case _:
            return value


def _count_streamed_chunks(parts: dict[str, Any]) -> int:
    """Return about how many chunks the text is streamed in; a recorded cut comes after the last."""
    words = len(str(parts.get("text") or "").split())
    return max(1, words // PacingDocument().words_per_chunk)


def _without_defaults(parts: dict[str, Any]) -> dict[str, Any]:
    document = validate(ProduceDocument, parts, loc=("produce",))
    return document.model_dump(by_alias=True, exclude_defaults=True)


def _raw_answer(response: RecordedResponse) -> dict[str, Json]:
    raw: dict[str, Json] = {}
    if response.status != 200:
        raw["status"] = response.status
    if headers := _headers(response):
        raw["headers"] = headers
    body = response.body
    if body and len(body) <= _MAX_EDITABLE_BYTES:
        value = decode_body(body)
        if isinstance(value, str) or depth_of(value) > _MAX_BODY_DEPTH:
            value = body.decode(errors="replace")
        raw["body"] = value
    return raw


def _headers(response: RecordedResponse) -> dict[str, Json]:
    replayed = _REPLAYED_HEADERS.union(*(each.replayed_headers for each in upstreams().values()))
    headers: dict[str, Json] = {}
    if response.body.startswith((b"data:", b"event:", b":")):
        headers["content-type"] = "text/event-stream"
    for name, value in response.headers:
        lower, bare = name.lower(), value.strip()
        if (lower in replayed or _REPLAYED_HEADER_PART in lower) and set(bare) <= _PRINTABLE:
            headers[lower] = bare
    return headers


@dataclass(frozen=True, slots=True)
class Turn:
    """One message of a conversation; `text` is its text, or a tool's result."""

    role: str
    text: str = ""


def conversation_match(
    turns: Sequence[Turn], *, provider: str = "", model: str = ""
) -> dict[str, Json]:
    """Return conditions for a request that continues these messages: its last user message, and the
    tool result after it, if there is one."""
    match: dict[str, Json] = {}
    if provider:
        match["provider"] = provider
    if model:
        match["model"] = model
    messages: list[Json] = []
    question = next((turn.text for turn in reversed(turns) if turn.role == "user"), "")
    if question:
        messages.append({"role": "user", "which": "last", "equals": question})
    if turns and turns[-1].role == "tool" and turns[-1].text:
        messages.append({"role": "tool", "which": "last", "equals": turns[-1].text})
    if messages:
        match["messages"] = messages
    return match


def turn_of(turns: Sequence[Turn]) -> int:
    """Return the number of the next response."""
    return 1 + sum(turn.role == "assistant" for turn in turns)


def expected_tools(names: Sequence[str]) -> Json:
    """Return the `expect` of a step whose client offered these tools. A client that replays it may
    offer others."""
    return {"tools": list(names), "allow_missing_tools": True}


def make_conversion(name: str, steps: Sequence[dict[str, Any]], notes: Sequence[str]) -> Conversion:
    """Return the conversion with these steps, with the texts of their answers made literal."""
    escaped = [{**step, "produce": escape_produce(step["produce"])} for step in steps]
    document: dict[str, Any] = {"name": name, "tags": [TAG]}
    if escaped != list(steps):
        document["variables"] = {BRACES: OPENING}
    return Conversion({**document, "steps": escaped}, tuple(notes))
