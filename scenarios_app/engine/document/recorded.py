"""The part of a scenario document that holds the answer recorded for a step."""

import base64
import binascii
from collections.abc import Iterator, Mapping
from typing import Annotated, Any, Final

from pydantic import Field

from scenarios_app.engine.canonical import Json
from scenarios_app.engine.document.fault import STATUSES_WITHOUT_BODY
from scenarios_app.engine.recorded import RecordedAnswer
from scenarios_app.engine.recorded.requests import digest_of
from scenarios_app.engine.recorded.rules import RULE_NAMES, normalize_body
from scenarios_app.engine.shapes import (
    Document,
    KeyProblem,
    dump_as_string,
    fields,
    parse_from_string,
)

MAX_BODY_BYTES: Final = 10_000_000
# Keys that can be edited without ending the replay of the recorded answer.
_NOT_DIGESTED: Final = ("recorded", "latency_ms", "unoffered")


class RecordedChunkDocument(Document):
    """A chunk of a recorded response. A plain string is a chunk at 0 ms."""

    at: fields.Pace = 0.0
    """Milliseconds from the end of the request to this chunk."""
    text: fields.Text | None = None
    """The chunk, if it is text."""
    base64: fields.Text | None = None
    """The chunk in Base64, if it is not text."""

    def find_key_problems(self) -> Iterator[KeyProblem]:
        if (self.text is None) == (self.base64 is None):
            yield (), "expected text or base64"
        elif self.base64 is not None and _decode_base64(self.base64) is None:
            yield ("base64",), "expected Base64"

    @property
    def data(self) -> bytes:
        """The bytes of the chunk, also of one written in Base64."""
        if self.text is not None:
            return self.text.encode()
        return _decode_base64(self.base64 or "") or b""


Chunk = Annotated[
    RecordedChunkDocument, parse_from_string(RecordedChunkDocument, "text"), dump_as_string("text")
]


class RecordedAnswerDocument(Document):
    """An answer as it was recorded. It is sent byte for byte until the keys beside it are edited;
    then the answer is made from those keys."""

    status: fields.Status = 200
    """The HTTP status."""
    headers: fields.Headers = Field(default_factory=dict)
    """The headers to replay."""
    chunks: list[Chunk] = Field(default_factory=list)
    """The body in chunks."""
    cut: fields.Flag = False
    """True if the connection ended before the answer. The replay ends it too."""
    path: fields.Text = ""
    """The recorded endpoint. Requests at others get the answer built from its parts."""
    stream: fields.Flag | None = None
    """True if a stream was requested. Other requests get the answer built from its parts."""
    pace: fields.Flag = False
    """Send the chunks at their recorded times. By default without delay."""
    of: fields.Text
    """The digest of the recorded answer's parts, which detects edits."""

    def find_key_problems(self) -> Iterator[KeyProblem]:
        size = sum(len(chunk.data) for chunk in self.chunks)
        if size > MAX_BODY_BYTES:
            yield ("chunks",), f"hold {size} bytes, expected at most {MAX_BODY_BYTES}"
        if size and self.status in STATUSES_WITHOUT_BODY:
            yield ("chunks",), f"an answer of status {self.status} has no body"

    def compile(self) -> RecordedAnswer:
        return RecordedAnswer(
            status=self.status,
            headers=fields.sent_headers(self.headers),
            chunks=tuple((chunk.at, chunk.data) for chunk in self.chunks),
            cut=self.cut,
            path=self.path,
            stream=self.stream,
            pace=self.pace,
        )


def digest_of_answer(produce: Mapping[str, Any]) -> str:
    """Return the digest of a `produce` dumped without defaults. The recording, latency and
    `unoffered` do not count."""
    digested: Json = {key: value for key, value in produce.items() if key not in _NOT_DIGESTED}
    return digest_of(normalize_body(digested, exact=RULE_NAMES))


def chunk_document(at: float, data: bytes) -> Json:
    """Return the document of a recorded chunk: text or Base64, a plain string if text at 0 ms."""
    try:
        text = data.decode()
    except UnicodeDecodeError:
        held: dict[str, Json] = {"base64": base64.b64encode(data).decode()}
    else:
        if not at:
            return text
        held = {"text": text}
    return {"at": at, **held} if at else held


def _decode_base64(text: str) -> bytes | None:
    """Return the decoded bytes, or None if the text is no Base64."""
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        return None
