"""A Gemini answer as a stream: server-sent events, or the elements of one JSON array."""

from dataclasses import dataclass
from typing import Any

from scenarios_app.engine.canonical import CanonicalResponse, Json
from scenarios_app.engine.parts import (
    PartDelta,
    PartEnd,
    PartStart,
    ReasoningPart,
    RefusalPart,
    StreamEvent,
    TextPart,
)
from scenarios_app.wire.base import encode_line, encode_text
from scenarios_app.wire.gemini.answer import (
    SILENCE,
    blocked,
    byte_length,
    candidates_of,
    ending,
    frame_of,
    is_said,
    part_of,
    signature_of,
    sources_of,
    usage_of,
)


@dataclass(frozen=True, slots=True)
class Framing:
    """The bytes around each chunk. A blank line ends every one: the server counts them by it."""

    first: bytes
    later: bytes
    after: bytes
    last: bytes


EVENTS = Framing(b"data: ", b"data: ", b"\r\n\r\n", b"")
ARRAY = Framing(b"[", b",", b"\n\n", b"]")


class BlockedEncoder:
    """The stream of an answer whose prompt was blocked: one chunk that says so."""

    __slots__ = ("_chunk", "_last")

    def __init__(self, response: CanonicalResponse, framing: Framing) -> None:
        self._chunk = framing.first + encode_line(blocked(response)) + framing.after
        self._last = framing.last

    def opening(self) -> bytes:
        return self._chunk

    def event(self, event: StreamEvent) -> bytes:
        return b""

    def closing(self) -> bytes:
        return self._last


class GeminiEncoder:
    """Encodes one stream whose parts arrive strictly one after another.

    A text or thought comes in pieces, anything else whole when it ends; a thought's signature, a
    text's sources and the reason to finish come in chunks with an empty text.
    """

    __slots__ = (
        "_after_text",
        "_before_text",
        "_bytes",
        "_candidates",
        "_framing",
        "_lead",
        "_of_choice",
        "_response",
        "_tail",
    )

    def __init__(self, response: CanonicalResponse, framing: Framing) -> None:
        self._response = response
        self._framing = framing
        self._lead = framing.first
        self._candidates = candidates_of(response)
        self._of_choice = [c for c in self._candidates for _ in c.choices]
        self._tail = b"," + encode_line(frame_of(response))[1:] + framing.after
        # How much text each candidate has said, for the places of its sources.
        self._bytes = [0] * len(self._candidates)
        # What stands around the text of each delta of the open part; empty while one that does
        # not stream goes by.
        self._before_text = self._after_text = b""

    def opening(self) -> bytes:
        return b""

    def event(self, event: StreamEvent) -> bytes:
        match event:
            case PartDelta(text=text):
                before = self._before_text
                if not before:
                    return b""
                return self._begun() + before + encode_text(text) + self._after_text
            case PartStart():
                self._open(event)
                return b""
            case PartEnd():
                self._before_text = b""
                return self._end(event)
            case _:
                return self._finish(event.choice)

    def closing(self) -> bytes:
        return self._framing.last

    def _open(self, event: PartStart) -> None:
        match event.part:
            case TextPart() | RefusalPart():
                mark = b""
            case ReasoningPart():
                mark = b',"thought":true'
            case _:
                return
        index = self._of_choice[event.choice].index
        self._before_text = b'{"candidates":[{"content":{"parts":[{"text":'
        self._after_text = b'%b}],"role":"model"},"index":%d}]%b' % (mark, index, self._tail)

    def _end(self, event: PartEnd) -> bytes:
        if not is_said(event.part):
            return b""
        candidate = self._of_choice[event.choice].index
        match event.part:
            case ReasoningPart() as thought:
                signed = signature_of(thought)
                last = {"text": "", "thought": True, **signed}
                return self._chunk(candidate, last) if signed else b""
            case TextPart() | RefusalPart() as said:
                before = self._bytes[candidate]
                self._bytes[candidate] += byte_length(said.text)
                sources = sources_of(said, before=before)
                if not sources:
                    return b""
                cited: Json = {"citationSources": sources}
                return self._chunk(candidate, SILENCE, citationMetadata=cited)
            case _:
                parts = self._response.choices[event.choice].parts
                return self._chunk(candidate, part_of(parts, event.index))

    def _finish(self, choice: int) -> bytes:
        """The last chunk of a candidate; the last of them all has the usage."""
        response, candidate = self._response, self._of_choice[choice]
        is_last = choice == len(response.choices) - 1
        if response.consecutive and not is_last:
            return b""
        usage = {"usageMetadata": usage_of(response.usage)} if is_last else {}
        return self._chunk(candidate.index, SILENCE, usage, **ending(response, candidate))

    def _chunk(
        self,
        candidate: int,
        part: Any,
        beside: dict[str, Any] | None = None,
        **fields: Json,
    ) -> bytes:
        content = {"parts": [part], "role": "model"}
        chunk = {"candidates": [{"content": content, **fields, "index": candidate}]}
        return self._framed(encode_line({**chunk, **(beside or {})}))

    def _framed(self, chunk: bytes) -> bytes:
        return self._begun() + chunk[:-1] + self._tail

    def _begun(self) -> bytes:
        lead, self._lead = self._lead, self._framing.later
        return lead
