"""A cassette is a scenario: interactions become the steps of one document, each with the request
that it answers, the answer in parts that people can edit, and the answer as it came; recordings
that tell a conversation and not its bytes become ordinary conditions on what was asked."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from scenarios_app.engine.canonical import Json
from scenarios_app.engine.document.answer import PacingDocument, ProduceDocument
from scenarios_app.engine.document.load import validate
from scenarios_app.engine.document.recorded import chunk_document, digest_of_answer
from scenarios_app.engine.producing.templates import BRACES, OPENING, escape_templates
from scenarios_app.engine.recorded.requests import decode_body, depth_of
from scenarios_app.engine.secrets import is_secret
from scenarios_app.engine.shapes import DocumentError
from scenarios_app.recording import Interaction, RecordedResponse
from scenarios_app.recording.places import Placed, placed, unspoken
from scenarios_app.recording.redaction import redacted
from scenarios_app.wire.decoded import DecodedResponse

# The tag of recorded scenarios.
TAG: Final = "recording"
# Documents have at most 64 levels, and a recorded body begins a few levels down.
_MAX_BODY_DEPTH: Final = 48
# Replayed headers: the content type, and those on which clients act.
_REPLAYED_HEADERS: Final = frozenset(
    {"content-type", "retry-after", "retry-after-ms", "x-should-retry", "x-request-id"}
    | {"request-id", "openai-version", "openai-model", "openai-processing-ms"}
)
_REPLAYED_HEADER_PART: Final = "ratelimit"
_PRINTABLE: Final = frozenset(map(chr, (*range(0x20, 0x7F), *range(0xA0, 0x100))))
# As servers of the field accept; decoding a longer one again and again takes seconds.
MAX_URL_CHARS: Final = 8_192
# Larger bodies are not made editable.
_MAX_EDITABLE_BYTES: Final = 1_000_000


@dataclass(frozen=True, slots=True)
class Conversion:
    """The document of a cassette, and in words for people what could not be carried over."""

    document: dict[str, Any]
    notes: tuple[str, ...] = ()

    @property
    def steps(self) -> int:
        return len(self.document["steps"])


def to_document(name: str, interactions: Sequence[Interaction]) -> Conversion:
    """The scenario document that replays these interactions in their order.

    Secrets are taken out first. What is for an API that this server does not speak is left out, and
    a note says so; without any left the document has no steps.
    """
    steps: list[Json] = []
    notes: Counter[str] = Counter()
    braces = False
    for interaction in interactions:
        if len(interaction.request.url) > MAX_URL_CHARS:
            notes[f"left out: a request with a URL of more than {MAX_URL_CHARS:,} characters"] += 1
            continue
        clean = redacted(interaction)
        where = placed(clean.request)
        if where is None:
            api = unspoken(clean.request)
            notes[f"left out: {api} is an API that this server does not speak"] += 1
            continue
        answer = produced(where, clean.response)
        braces = braces or answer.braces
        steps.append({"match": _match(where), "produce": answer.document})
        notes.update(f"step {len(steps)}: {note}" for note in clean.notes)
        if answer.lost:
            notes[f"once edited, an answer is without {', '.join(answer.lost)}"] += 1
    document: dict[str, Any] = {"name": name, "tags": [TAG]}
    if braces:
        document["variables"] = {BRACES: OPENING}
    note_lines = (f"{note} ({n} interactions)" if n > 1 else note for note, n in notes.items())
    return Conversion({**document, "steps": steps}, tuple(note_lines))


def step_of(interaction: Interaction) -> dict[str, Any] | None:
    """The step of one interaction, for those who change what it matches; None where it is for an
    API that this server does not speak."""
    conversion = to_document("step", [interaction])
    return conversion.document["steps"][0] if conversion.steps else None


def _match(where: Placed) -> dict[str, Json]:
    match: dict[str, Json] = {}
    if where.target.endpoint is not None:
        match["provider"] = where.provider
    match["path"] = where.path
    if where.model:
        match["model"] = where.model
    return {**match, "recorded": _recorded(where)}


def _recorded(where: Placed) -> dict[str, Any]:
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
class Produced:
    """The `produce` of a step. `lost` is what of the answer its parts do not say; with `braces` a
    text of them says braces by the variable of that name."""

    document: dict[str, Any]
    lost: tuple[str, ...] = ()
    braces: bool = False


def produced(where: Placed, response: RecordedResponse) -> Produced:
    """What a step answers with."""
    decoded_response = _decode_response(where, response)
    parts = None if decoded_response is None else _loadable(decoded_response.document())
    if decoded_response is None or parts is None:
        parts = {"raw": _raw(response)}
    lost = decoded_response.lost if decoded_response and "raw" not in parts else ()
    written = as_said(parts)
    if response.cut and "raw" not in written:
        written["fault"] = {"kind": "disconnect", "after_chunks": _chunks_of(parts)}
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
    recorded["of"] = digest_of_answer(_shortest(written))
    return Produced({**written, "recorded": recorded}, lost, braces=written != parts)


def _decode_response(where: Placed, response: RecordedResponse) -> DecodedResponse | None:
    """Return the decoded response; None for an error, or one of an unknown format."""
    endpoint = where.target.endpoint
    if endpoint is None or endpoint.decoder is None or response.status != 200:
        return None
    return endpoint.decoder.decode(response.body)


def _loadable(parts: dict[str, Any]) -> dict[str, Any] | None:
    """The parts, None where a document cannot hold them."""
    try:
        _shortest(parts)
    except DocumentError:
        return None
    return parts


def as_said(produce: dict[str, Any]) -> dict[str, Any]:
    """A `produce` whose texts say what they said, also where that looks like a template. What is
    raw is no template."""
    return {
        key: value if key in ("raw", "recorded") else _written(value)
        for key, value in produce.items()
    }


def _written(value: Any) -> Any:
    match value:
        case str():
            return escape_templates(value)
        case dict():
            return {key: _written(item) for key, item in value.items()}
        case list():
            return [_written(item) for item in value]
        case _:
            return value


def _chunks_of(parts: dict[str, Any]) -> int:
    """About so many chunks a text is streamed in: a cut comes after the last that there was."""
    words = len(str(parts.get("text") or "").split())
    return max(1, words // PacingDocument().words_per_chunk)


def _shortest(parts: dict[str, Any]) -> dict[str, Any]:
    document = validate(ProduceDocument, parts, loc=("produce",))
    return document.model_dump(by_alias=True, exclude_defaults=True)


def _raw(response: RecordedResponse) -> dict[str, Json]:
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
    headers: dict[str, Json] = {}
    if response.body.startswith((b"data:", b"event:", b":")):
        headers["content-type"] = "text/event-stream"
    for name, value in response.headers:
        lower, bare = name.lower(), value.strip()
        if (lower in _REPLAYED_HEADERS or _REPLAYED_HEADER_PART in lower) and set(
            bare
        ) <= _PRINTABLE:
            headers[lower] = bare
    return headers


@dataclass(frozen=True, slots=True)
class Turn:
    """One message of a conversation; `text` is what it says, or a tool's result."""

    role: str
    text: str = ""


def conversation_match(
    turns: Sequence[Turn], *, provider: str = "", model: str = ""
) -> dict[str, Json]:
    """What a request must be that goes on with these messages: its last user message, and the
    result after that, if one came."""
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
    """The `expect` of a step that was offered these tools: who serves them again offers them, and
    other clients may have others."""
    return {"tools": list(names), "allow_missing_tools": True}


def make_conversion(name: str, steps: Sequence[dict[str, Any]], notes: Sequence[str]) -> Conversion:
    """The document of such steps, whose answers are said as they stand."""
    written = [{**step, "produce": as_said(step["produce"])} for step in steps]
    document: dict[str, Any] = {"name": name, "tags": [TAG]}
    if written != list(steps):
        document["variables"] = {BRACES: OPENING}
    return Conversion({**document, "steps": written}, tuple(notes))
