"""What a step answers with: the recorded answer in parts that people can edit, and beside them the
answer as it came."""

from dataclasses import dataclass
from typing import Any, Final

from scenarios_app.engine.canonical import Json
from scenarios_app.engine.document.answer import PacingDocument, ProduceDocument
from scenarios_app.engine.document.load import validated
from scenarios_app.engine.document.recorded import chunk_document, digest_of_answer
from scenarios_app.engine.producing.templates import as_written
from scenarios_app.engine.recorded.requests import decoded, depth_of
from scenarios_app.engine.shapes import DocumentError
from scenarios_app.recording import RecordedResponse
from scenarios_app.recording.answers import said_by
from scenarios_app.recording.upstreams import Placed

# Headers that are sent again: what the body is, and what clients act on.
_KEPT: Final = frozenset(
    {"content-type", "retry-after", "retry-after-ms", "x-should-retry", "x-request-id"}
    | {"request-id", "openai-version", "openai-model", "openai-processing-ms"}
)
_KEPT_WITHIN: Final = "ratelimit"
_PRINTABLE: Final = frozenset(map(chr, (*range(0x20, 0x7F), *range(0xA0, 0x100))))
_DEEPEST: Final = 48
# A larger body cannot be edited.
_EDITABLE: Final = 1_000_000


@dataclass(frozen=True, slots=True)
class Produced:
    """The `produce` of a step. `lost` is what of the answer its parts do not say; with `braces` a
    text of them says braces by the variable of that name."""

    document: dict[str, Any]
    lost: tuple[str, ...] = ()
    braces: bool = False


def produced(where: Placed, response: RecordedResponse) -> Produced:
    """What a step answers with."""
    said = said_by(where, response)
    parts = None if said is None else _loadable(said.document())
    if said is None or parts is None:
        parts = {"raw": _raw(response)}
    lost = said.lost if said is not None and "raw" not in parts else ()
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
            return as_written(value)
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
    document = validated(ProduceDocument, parts, loc=("produce",))
    return document.model_dump(by_alias=True, exclude_defaults=True)


def _raw(response: RecordedResponse) -> dict[str, Json]:
    raw: dict[str, Json] = {}
    if response.status != 200:
        raw["status"] = response.status
    if headers := _headers(response):
        raw["headers"] = headers
    body = response.body
    if body and len(body) <= _EDITABLE:
        value = decoded(body)
        if isinstance(value, str) or depth_of(value) > _DEEPEST:
            value = body.decode(errors="replace")
        raw["body"] = value
    return raw


def _headers(response: RecordedResponse) -> dict[str, Json]:
    kept: dict[str, Json] = {}
    if response.body.startswith((b"data:", b"event:", b":")):
        kept["content-type"] = "text/event-stream"
    for name, value in response.headers:
        lower, bare = name.lower(), value.strip()
        if (lower in _KEPT or _KEPT_WITHIN in lower) and set(bare) <= _PRINTABLE:
            kept[lower] = bare
    return kept
