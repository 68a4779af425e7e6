"""What the pipeline records of a request, and the row that the journal keeps of it."""

import codecs
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from uuid import UUID

from scenarios_app.engine.canonical import Json
from scenarios_app.engine.secrets import is_secret, mask, secrets_of
from scenarios_app.journal import redaction
from scenarios_app.models import Outcome, ServedRequest

_LINE = 255


@dataclass(frozen=True, slots=True)
class JournalEntry:
    """One request as it came and as it was answered, secrets and all: it never leaves memory.

    `uid` is a UUID, `at` in Unix seconds of the real clock. `response_body` is what was sent, in
    pieces; `near_misses` is plain data as the control API shows it. `scenario`, `step` and `way`
    are empty where nothing was chosen. `…_bytes` is given where a body was cut already.
    """

    uid: str
    at: float
    session: str
    method: str
    path: str
    status: int
    outcome: str
    duration_ms: float
    provider: str = ""
    query: Mapping[str, str] = field(default_factory=dict)
    model: str = ""
    streamed: bool = False
    scenario: str = ""
    step: str = ""
    step_key: str = ""
    way: str = ""
    matched: bool = False
    fallback: bool = False
    attempt: int | None = None
    fault: str = ""
    violations: tuple[str, ...] = ()
    near_misses: Sequence[Json] = ()
    timings: Mapping[str, float] = field(default_factory=dict)
    request_headers: Mapping[str, str] = field(default_factory=dict)
    request_body: bytes = b""
    request_bytes: int | None = None
    response_headers: Sequence[tuple[str, str]] = ()
    response_body: Sequence[bytes] = ()
    response_bytes: int | None = None


def row_of(entry: JournalEntry, *, body_bytes: int) -> ServedRequest:
    """The journal's row of an entry: bodies cut after `body_bytes`, secrets masked everywhere."""
    secrets = secrets_of(entry.request_headers, entry.query)

    def clean(text: str) -> str:
        return redaction.redact_text(text, secrets).replace("\0", "\\x00")

    def body(data: bytes, size: int) -> str:
        # The last character may be cut in two.
        decoder = codecs.getincrementaldecoder("utf-8")("backslashreplace")
        text = decoder.decode(data[:body_bytes], final=size <= body_bytes)
        return clean(redaction.redact_body(text))

    response = b"".join(entry.response_body)
    request_bytes = size_of(entry.request_bytes, entry.request_body)
    response_bytes = size_of(entry.response_bytes, response)
    return ServedRequest(
        uid=UUID(entry.uid),
        at=datetime.fromtimestamp(entry.at, UTC),
        session=clean(entry.session)[:_LINE],
        provider=entry.provider,
        method=clean(entry.method)[:16],
        path=clean(entry.path),
        query={clean(k): clean(v) for k, v in redaction.redact_query(entry.query).items()},
        model=clean(entry.model),
        streamed=entry.streamed,
        scenario=entry.scenario[:_LINE],
        step=entry.step[:_LINE],
        step_key=entry.step_key,
        way=entry.way,
        matched=entry.matched,
        fallback=entry.fallback,
        attempt=entry.attempt,
        outcome=Outcome(entry.outcome),
        fault=entry.fault,
        status=entry.status,
        violations=[clean(text) for text in entry.violations],
        near_misses=_clean(list(entry.near_misses), clean),
        duration_ms=entry.duration_ms,
        timings=dict(entry.timings),
        request_headers=_headers(entry.request_headers.items(), clean),
        request_body=body(entry.request_body, request_bytes),
        request_bytes=request_bytes,
        request_cut=request_bytes > body_bytes,
        response_headers=_headers(entry.response_headers, clean),
        response_body=body(response, response_bytes),
        response_bytes=response_bytes,
        response_cut=response_bytes > body_bytes,
    )


def size_of(known: int | None, body: bytes) -> int:
    """How large a body was that may be cut."""
    return len(body) if known is None else known


def _headers(headers: Iterable[tuple[str, str]], clean: Callable[[str], str]) -> dict[str, str]:
    return {clean(k): clean(v) for k, v in redaction.redact_headers(headers).items()}


def _clean(value: Json, clean: Callable[[str], str]) -> Json:
    match value:
        case str():
            return clean(value)
        case list():
            return [_clean(item, clean) for item in value]
        case dict():
            cleaned = {key: _clean(item, clean) for key, item in value.items()}
            if isinstance(actual := value.get("actual"), str) and _is_secret(value.get("field")):
                cleaned["actual"] = mask(actual)
            return cleaned
        case _:
            return value


def _is_secret(place: Json) -> bool:
    """Whether a condition is one on a secret header."""
    _, of_header, name = str(place).rpartition("headers.")
    return bool(of_header) and is_secret(name)
