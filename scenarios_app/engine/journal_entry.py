"""Defines the record of a served request: its fields, and how each is cleaned, stored and shown.

The pipeline makes an entry, `clean_entry` removes its secrets, and it becomes a row of the
journal. The API's objects, the lists and the verdict's requests are made from these fields.
"""

import codecs
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import (
    Annotated,
    Any,
    Final,
    Generic,
    Literal,
    Self,
    TypeAlias,
    TypeVar,
    cast,
    get_args,
    get_type_hints,
)

import msgspec
from msgspec.structs import replace

from scenarios_app.engine import redaction
from scenarios_app.engine.canonical import Json
from scenarios_app.engine.secrets import is_secret, mask, secrets_of

Outcome: TypeAlias = Literal["complete", "client_gone", "fault", "unmatched"]
# The API's object that has a field: a line of a list, or a line's request or response.
ShownIn: TypeAlias = Literal["line", "request", "response", ""]
# A body as it was received or sent: its bytes, or an iterable that yields its pieces anew.
RawBody: TypeAlias = bytes | Iterable[bytes]
HeaderPairs: TypeAlias = Sequence[tuple[str, str]]
# A part of a stored body: the id of a block, and the start and size in its bytes.
Part: TypeAlias = tuple[int, int, int]
B = TypeVar("B", RawBody, str)

# Longer names of sessions, scenarios and steps are cut.
NAME_CHARS = 255
# Maximum length of the previews that lists show.
MAX_PREVIEW_CHARS = 200


@dataclass(frozen=True, slots=True)
class Cleaner:
    """Removes the secrets of one request from its values, and NUL, which PostgreSQL refuses."""

    secrets: Sequence[str]

    def text(self, text: str) -> str:
        text = redaction.redact_text(text, self.secrets) if self.secrets else text
        return text.replace("\0", "\\x00") if "\0" in text else text

    def body(self, text: str) -> str:
        """Return a text that may be JSON with secret keys, whole or cut."""
        return self.text(redaction.redact_body(text))

    def texts(self, texts: Iterable[str]) -> list[str]:
        return [*map(self.text, texts)]

    def pairs(self, pairs: Mapping[str, str] | Iterable[tuple[str, str]]) -> dict[str, str]:
        """Return headers or a query by name; values of secret names are masked."""
        items = pairs.items() if isinstance(pairs, Mapping) else pairs
        masked = redaction.redact_pairs(items)
        together = "\n".join((*masked, *masked.values()))
        if self.text(together) == together:
            return masked
        return {self.text(name): self.text(value) for name, value in masked.items()}

    def json(self, value: Json) -> Json:
        """Return JSON with its texts cleaned; the actual value of a secret header is masked."""
        match value:
            case str():
                return self.text(value)
            case list() | tuple():
                return [self.json(item) for item in value]
            case dict():
                cleaned = {key: self.json(item) for key, item in value.items()}
                _, of_header, name = str(value.get("field")).rpartition("headers.")
                if isinstance(actual := value.get("actual"), str) and of_header and is_secret(name):
                    cleaned["actual"] = mask(actual)
                return cleaned
            case _:
                return value


@dataclass(frozen=True, slots=True)
class FieldRule:
    """How a field is cleaned, stored and shown.

    `clean` is the method of the Cleaner that its value passes before it is cut to `max_chars`.
    `column` is the name of the model's field if it differs; None for a field that is not stored.
    `shown_in` is the API's object that has it, and `help` describes it there; `null` shows an empty
    text as null.
    """

    help: str = ""
    shown_in: ShownIn = ""
    null: bool = False
    clean: Callable[[Cleaner, Any], Any] | None = None
    max_chars: int | None = None
    column: str | None = ""


_PREVIEW = FieldRule(clean=Cleaner.body, max_chars=MAX_PREVIEW_CHARS)
_HEADERS_HELP = "The headers by name; secrets are masked."
_BODY_HELP = "The body as text."
_BYTES_HELP = "The size of the body."
_CUT_HELP = "True if the stored body is not complete."


class JournalEntry(msgspec.Struct, Generic[B], frozen=True, gc=False, kw_only=True):
    """One request with its response; a `FieldRule` says how a field is cleaned, stored and shown.

    With raw bodies it contains secrets and never leaves memory; with texts it is clean. `uid` is a
    UUID, `at` in Unix seconds of the real clock. `scenario`, `step` and `way` are empty without a
    decision. The previews are the beginnings of the last user message or tool result, and of the
    response's text or error message. `siblings` were other open connections whose latest request
    was of the same session and path. `…_bytes` is the size of a body that was cut; without one it
    is that of the body. A `response_plain` is known to contain no secret. `parts` are the places of
    long stored bodies, by "request" and "response". Garbage collection is off for entries, since
    thousands may wait to be written.
    """

    uid: Annotated[str, FieldRule("The value of the header x-mockllm-request.", "line")]
    at: Annotated[float, FieldRule("The time of arrival.", "line")]
    session: Annotated[
        str, FieldRule("The session.", "line", clean=Cleaner.text, max_chars=NAME_CHARS)
    ]
    provider: Annotated[str, FieldRule("The provider whose API was called.", "line")] = ""
    method: Annotated[
        str, FieldRule("The HTTP method.", "request", clean=Cleaner.text, max_chars=16)
    ]
    path: Annotated[str, FieldRule("The path without its query.", "line", clean=Cleaner.text)]
    query: Annotated[
        Mapping[str, str],
        FieldRule("The query by name; secrets are masked.", "request", clean=Cleaner.pairs),
    ] = {}
    model: Annotated[str, FieldRule(clean=Cleaner.text)] = ""
    streamed: bool = False
    scenario: Annotated[
        str,
        FieldRule(
            "The scenario that answered; null for none.", "line", null=True, max_chars=NAME_CHARS
        ),
    ] = ""
    step: Annotated[
        str,
        FieldRule(
            "The step's name, or its number from 1.", "line", null=True, max_chars=NAME_CHARS
        ),
    ] = ""
    step_key: str = ""
    way: str = ""
    matched: Annotated[
        bool, FieldRule("True for an answer of a step, block or endpoint.", shown_in="line")
    ] = False
    fallback: Annotated[bool, FieldRule("True if a catch-all answered.", "line")] = False
    attempt: int | None = None
    outcome: Annotated[Outcome, FieldRule("How the answer ended.", "line")]
    fault: str = ""
    status: Annotated[int, FieldRule("The HTTP status.", "line")]
    violations: Annotated[
        Sequence[str], FieldRule("Violated expectations.", "line", clean=Cleaner.texts)
    ] = ()
    near_misses: Annotated[
        Sequence[Json], FieldRule("The closest steps, if none matched.", "line", clean=Cleaner.json)
    ] = ()
    request_preview: Annotated[str, _PREVIEW] = ""
    response_preview: Annotated[str, _PREVIEW] = ""
    duration_ms: Annotated[float, FieldRule("Milliseconds to the answer's end.", "line")]
    siblings: int = 0
    request_headers: Annotated[
        Mapping[str, str], FieldRule(_HEADERS_HELP, "request", clean=Cleaner.pairs)
    ] = {}
    request_body: Annotated[B, FieldRule(_BODY_HELP, "request", column="request_text")]
    request_bytes: Annotated[int | None, FieldRule(_BYTES_HELP, "request")] = None
    request_cut: Annotated[bool, FieldRule(_CUT_HELP, "request")] = False
    response_headers: Annotated[
        Mapping[str, str] | HeaderPairs, FieldRule(_HEADERS_HELP, "response", clean=Cleaner.pairs)
    ] = ()
    response_body: Annotated[B, FieldRule(_BODY_HELP, "response", column="response_text")]
    response_bytes: Annotated[int | None, FieldRule(_BYTES_HELP, "response")] = None
    response_cut: Annotated[bool, FieldRule(_CUT_HELP, "response")] = False
    timings: Annotated[
        Mapping[str, float], FieldRule("Milliseconds since the request's arrival.", "response")
    ] = {}
    response_plain: Annotated[bool, FieldRule(column=None)] = False
    parts: Mapping[str, Sequence[Part]] | None = None

    @property
    def held_bytes(self) -> int:
        """Return the bytes of memory that the bodies take."""
        return held_bytes(self.request_body) + held_bytes(self.response_body)

    @property
    def is_unmatched(self) -> bool:
        """Whether no step but a catch-all's matched, or no endpoint has this URL; False for a
        request that was rejected before a step was looked for."""
        return self.fallback or (bool(self.way) and not self.matched)

    def entry(self) -> Self:
        """Return the entry itself, as other records of an answer return theirs."""
        return self


RawEntry: TypeAlias = JournalEntry[RawBody]
CleanEntry: TypeAlias = JournalEntry[str]


def _read_rules() -> dict[str, FieldRule]:
    """Return the rule of each field of an entry."""
    hints = get_type_hints(JournalEntry, include_extras=True)
    default = FieldRule()
    return {
        name: next((item for item in get_args(hint) if isinstance(item, FieldRule)), default)
        for name, hint in hints.items()
    }


FIELD_RULES: Final = _read_rules()
# The stored fields, by the names of the model's fields.
COLUMNS: Final = {
    rule.column or name: name for name, rule in FIELD_RULES.items() if rule.column is not None
}
_CLEANED: Final = [
    (name, rule) for name, rule in FIELD_RULES.items() if rule.clean or rule.max_chars
]


def clean_entry(entry: RawEntry, *, body_bytes: int) -> CleanEntry:
    """Return an entry without secrets, its bodies as texts that are cut after `body_bytes`."""
    cleaner = Cleaner(secrets_of(entry.request_headers, entry.query))
    values: dict[str, Any] = {}
    for name, rule in _CLEANED:
        value = getattr(entry, name)
        value = rule.clean(cleaner, value) if rule.clean else value
        values[name] = value[: rule.max_chars] if rule.max_chars else value
    request, response = join_body(entry.request_body), join_body(entry.response_body)
    request_bytes = size_of(entry.request_bytes, request)
    response_bytes = size_of(entry.response_bytes, response)
    response_text = _decode_body(response, response_bytes, body_bytes)
    values |= {
        "request_body": cleaner.body(_decode_body(request, request_bytes, body_bytes)),
        "request_bytes": request_bytes,
        "request_cut": request_bytes > min(body_bytes, len(request)),
        "response_body": (cleaner.text if entry.response_plain else cleaner.body)(response_text),
        "response_bytes": response_bytes,
        "response_cut": response_bytes > min(body_bytes, len(response)),
    }
    return cast("CleanEntry", replace(entry, **values))


def cut_entry(entry: RawEntry, max_bytes: int) -> RawEntry:
    """Return the entry with its bodies cut after `max_bytes` bytes; their full sizes are set."""
    request, response = join_body(entry.request_body), join_body(entry.response_body)
    return replace(
        entry,
        request_body=request[:max_bytes],
        request_bytes=size_of(entry.request_bytes, request),
        response_body=response[:max_bytes],
        response_bytes=size_of(entry.response_bytes, response),
    )


def join_body(body: RawBody) -> bytes:
    """Return the bytes of a body."""
    return body if isinstance(body, bytes) else b"".join(body)


def held_bytes(body: RawBody | str) -> int:
    """Return the bytes of memory that a raw body takes: an iterable that is no tuple of pieces says
    so by its `held_bytes`, else takes none."""
    if isinstance(body, bytes):
        return len(body)
    held: int = getattr(body, "held_bytes", 0)
    return sum(map(len, body)) if isinstance(body, tuple) else held


def size_of(size: int | None, body: bytes) -> int:
    """Return `size`, known if a body was cut before, else the length of the body."""
    return len(body) if size is None else size


def _decode_body(data: bytes, size: int, max_bytes: int) -> str:
    """Return a body up to `max_bytes` as text, invalid bytes escaped. `size` is that before any
    cut; a broken last character of a cut body is left out."""
    data = data[:max_bytes]
    try:
        return data.decode()
    except UnicodeDecodeError:
        decoder = codecs.getincrementaldecoder("utf-8")("backslashreplace")
        return decoder.decode(data, final=size <= max_bytes)
