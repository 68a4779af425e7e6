"""Defines the pipeline's record of a request, and the journal row made from it."""

import codecs
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import NamedTuple
from uuid import UUID

import msgspec

from scenarios_app.engine import redaction
from scenarios_app.engine.canonical import Json
from scenarios_app.engine.secrets import is_secret, mask, secrets_of
from scenarios_app.models.bodies import Part

_LINE = 255
# Maximum length of the message and the answer that lists show.
MAX_PREVIEW_CHARS = 200


class JournalEntry(msgspec.Struct, frozen=True, gc=False):
    """One request with its response, secrets included: it never leaves memory.

    `uid` is a UUID, `at` in Unix seconds of the real clock. `response_body` is what was sent: a
    tuple of pieces, or an iterable that makes them anew. `near_misses` is plain data as the control
    API shows it. `scenario`, `step` and `way` are empty without a decision. `asked` and `answered`
    are the beginnings of question and answer. `…_bytes` is set if a body was cut. A `plain`
    response is known to contain no secret. Garbage collection is off for entries, since thousands
    may wait to be written.
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
    query: Mapping[str, str] = {}
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
    asked: str = ""
    answered: str = ""
    timings: Mapping[str, float] = {}
    siblings: int = 0
    request_headers: Mapping[str, str] = {}
    request_body: bytes = b""
    request_bytes: int | None = None
    response_headers: Sequence[tuple[str, str]] = ()
    response_body: Iterable[bytes] = ()
    response_bytes: int | None = None
    response_plain: bool = False

    @property
    def held_bytes(self) -> int:
        return len(self.request_body) + held_bytes(self.response_body)

    def entry(self) -> "JournalEntry":
        """Return the entry itself, as other records of an answer return theirs."""
        return self


class Row(NamedTuple):
    """A row of the journal's table without its number; fields are named like the columns."""

    uid: UUID
    at: datetime
    session: str
    provider: str
    method: str
    path: str
    query: dict[str, str]
    model: str
    streamed: bool
    scenario: str
    step: str
    step_key: str
    way: str
    matched: bool
    fallback: bool
    attempt: int | None
    outcome: str
    fault: str
    status: int
    violations: list[str]
    near_misses: Json
    asked: str
    answered: str
    duration_ms: float
    timings: dict[str, float]
    siblings: int
    request_headers: dict[str, str]
    request_text: str
    request_bytes: int
    request_cut: bool
    response_headers: dict[str, str]
    response_text: str
    response_bytes: int
    response_cut: bool
    parts: Mapping[str, Sequence[Part]] | None = None


def row_of(entry: JournalEntry, *, body_bytes: int) -> Row:
    """Return the journal's row for an entry: bodies cut after `body_bytes`, secrets masked."""
    secrets = secrets_of(entry.request_headers, entry.query)

    def clean(text: str) -> str:
        """Return a text without secrets, and without NUL, which PostgreSQL refuses."""
        text = redaction.redact_text(text, secrets) if secrets else text
        return text.replace("\0", "\\x00") if "\0" in text else text

    def cut_body(data: bytes, size: int) -> str:
        """Return the text of a body up to `body_bytes`; `size` is its size before any cut."""
        return _decode_body(data[:body_bytes], whole=size <= body_bytes)

    response = b"".join(entry.response_body)
    request_bytes = size_of(entry.request_bytes, entry.request_body)
    response_bytes = size_of(entry.response_bytes, response)
    asked, answered, request_body = redaction.redact_bodies(
        (entry.asked, entry.answered, cut_body(entry.request_body, request_bytes))
    )
    response_body = cut_body(response, response_bytes)
    if not entry.response_plain:
        response_body = redaction.redact_body(response_body)
    return Row(
        uid=UUID(entry.uid),
        at=datetime.fromtimestamp(entry.at, UTC),
        session=clean(entry.session)[:_LINE],
        provider=entry.provider,
        method=clean(entry.method)[:16],
        path=clean(entry.path),
        query={clean(k): clean(v) for k, v in redaction.redact_pairs(entry.query.items()).items()},
        model=clean(entry.model),
        streamed=entry.streamed,
        scenario=entry.scenario[:_LINE],
        step=entry.step[:_LINE],
        step_key=entry.step_key,
        way=entry.way,
        matched=entry.matched,
        fallback=entry.fallback,
        attempt=entry.attempt,
        outcome=entry.outcome,
        fault=entry.fault,
        status=entry.status,
        violations=[*map(clean, entry.violations)],
        near_misses=[_clean_texts(miss, clean) for miss in entry.near_misses],
        asked=clean(asked)[:MAX_PREVIEW_CHARS],
        answered=clean(answered)[:MAX_PREVIEW_CHARS],
        duration_ms=entry.duration_ms,
        timings=dict(entry.timings),
        siblings=entry.siblings,
        request_headers=_clean_headers(entry.request_headers.items(), clean),
        request_text=clean(request_body),
        request_bytes=request_bytes,
        request_cut=request_bytes > min(body_bytes, len(entry.request_body)),
        response_headers=_clean_headers(entry.response_headers, clean),
        response_text=clean(response_body),
        response_bytes=response_bytes,
        response_cut=response_bytes > body_bytes,
    )


def _decode_body(data: bytes, *, whole: bool) -> str:
    """Return bytes as text, invalid ones escaped; a broken last character is left out if the body
    is cut."""
    try:
        return data.decode()
    except UnicodeDecodeError:
        decoder = codecs.getincrementaldecoder("utf-8")("backslashreplace")
        return decoder.decode(data, final=whole)


def held_bytes(pieces: Iterable[bytes]) -> int:
    """Return the bytes of memory that a tuple of pieces takes, or `held_bytes` of another iterable;
    0 if it has no such attribute."""
    if isinstance(pieces, tuple):
        return sum(map(len, pieces))
    size: int = getattr(pieces, "held_bytes", 0)
    return size


def size_of(size: int | None, body: bytes) -> int:
    """Return `size`, known if a body was cut before, else the length of the body."""
    return len(body) if size is None else size


def _clean_headers(
    headers: Iterable[tuple[str, str]], clean: Callable[[str], str]
) -> dict[str, str]:
    """Return headers with secrets masked, and cleaned texts."""
    masked = redaction.redact_pairs(headers)
    together = "\n".join((*masked, *masked.values()))
    if clean(together) == together:
        return masked
    return {clean(name): clean(value) for name, value in masked.items()}


def _clean_texts(value: Json, clean: Callable[[str], str]) -> Json:
    """Return JSON with its texts cleaned; the actual value of a secret header is masked."""
    match value:
        case str():
            return clean(value)
        case list():
            return [_clean_texts(item, clean) for item in value]
        case dict():
            cleaned = {key: _clean_texts(item, clean) for key, item in value.items()}
            if isinstance(actual := value.get("actual"), str) and _is_secret(value.get("field")):
                cleaned["actual"] = mask(actual)
            return cleaned
        case _:
            return value


def _is_secret(place: Json) -> bool:
    """Return whether a condition's place is a secret header."""
    _, of_header, name = str(place).rpartition("headers.")
    return bool(of_header) and is_secret(name)
