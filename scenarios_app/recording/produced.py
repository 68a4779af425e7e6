"""What a step answers with: the recorded answer in parts that people can edit, and beside them the
answer as it came."""

from typing import Any, Final

from scenarios_app.engine.canonical import Json
from scenarios_app.engine.document.answer import ProduceDocument
from scenarios_app.engine.document.load import validated
from scenarios_app.engine.document.recorded import chunk_document, digest_of_answer
from scenarios_app.engine.recorded.requests import decoded, depth_of
from scenarios_app.recording.interaction import RecordedResponse
from scenarios_app.recording.places import Placed

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


def produced(where: Placed, response: RecordedResponse) -> dict[str, Any]:
    """The `produce` of a step."""
    parts: dict[str, Any] = {"raw": _raw(response)}
    request = where.request
    recorded: dict[str, Json] = {"status": response.status}
    if headers := _headers(response):
        recorded["headers"] = headers
    recorded["chunks"] = [chunk_document(at, data) for at, data in response.chunks if data]
    if response.cut:
        recorded["cut"] = True
    recorded["path"] = where.path
    if request is not None and where.target.endpoint and where.target.endpoint.generates:
        recorded["stream"] = request.stream
    recorded["of"] = digest_of_answer(_shortest(parts))
    return {**parts, "recorded": recorded}


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
    for name, value in response.headers:
        lower, bare = name.lower(), value.strip()
        if (lower in _KEPT or _KEPT_WITHIN in lower) and set(bare) <= _PRINTABLE:
            kept.setdefault(lower, bare)
    return kept
