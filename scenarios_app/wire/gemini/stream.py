"""Encodes a Gemini response as server-sent events, or as the elements of one JSON array."""

from typing import Any

import msgspec

from scenarios_app.engine.canonical import CanonicalResponse, Json
from scenarios_app.engine.parts import (
    PartDelta,
    PartEnd,
    PartStart,
    ReasoningPart,
    RefusalPart,
    StreamEvent,
    TextPart,
    ToolCallPart,
    produced_text,
)
from scenarios_app.engine.producing.usage import count_tokens
from scenarios_app.wire.base import encode_line, encode_text
from scenarios_app.wire.gemini.answer import (
    EMPTY_PART,
    candidates_of,
    finish_fields,
    index_field,
    render_blocked,
    render_part,
    top_level_fields,
)
from scenarios_app.wire.gemini.server_tools import byte_length, citation_sources
from scenarios_app.wire.gemini.style import GeminiStyle
from scenarios_app.wire.gemini.usage import RunningUsage, logprobs_result, usage_fields


class Framing(msgspec.Struct, frozen=True):
    """The bytes before the first and each later chunk, after each chunk, and at the end."""

    first: bytes
    later: bytes
    after: bytes
    last: bytes


EVENTS = Framing(b"data: ", b"data: ", b"\r\n\r\n", b"")
ARRAY = Framing(b"[", b",", b"\n\n", b"]")

# The bytes between a candidate and the usage.
_USAGE = b'}],"usageMetadata":'


class BlockedEncoder:
    """The stream of a blocked prompt: one chunk."""

    __slots__ = ("_chunk", "_last")

    def __init__(self, response: CanonicalResponse, framing: Framing) -> None:
        self._chunk = framing.first + encode_line(render_blocked(response)) + framing.after
        self._last = framing.last

    def opening(self) -> bytes:
        return self._chunk

    def event(self, event: StreamEvent) -> bytes:
        return b""

    def closing(self) -> bytes:
        return self._last


class GeminiEncoder:
    """Encodes one stream, whose parts arrive strictly one after another.

    Texts and reasoning are sent in pieces, other parts whole when they end. Signatures, citations
    and the finish reason come in chunks with an empty text. Some models send calls without other
    parts in one chunk, with the finish reason.
    """

    __slots__ = (
        *("_response", "_framing", "_style", "_frame", "_lead", "_usage"),
        *("_candidates", "_of_choice", "_bytes", "_said", "_held", "_unsigned"),
        *("_before_text", "_after_text", "_counted", "_top_logprobs"),
    )

    def __init__(self, response: CanonicalResponse, framing: Framing, style: GeminiStyle) -> None:
        self._response = response
        self._framing = framing
        self._style = style
        self._lead = framing.first
        self._candidates = candidates_of(response, style)
        self._of_choice = [c for c in self._candidates for _ in c.choices]
        self._usage = RunningUsage(response.usage, style)
        self._frame = b"," + encode_line(top_level_fields(response))[1:] + framing.after
        # The text bytes sent by each candidate, for the offsets of its citations.
        self._bytes = [0] * len(self._candidates)
        # The characters sent by all candidates, without reasoning.
        self._said = 0
        # The bytes around the text of each delta of the open part, up to the usage; empty during
        # a part that does not stream. Reasoning does not count towards the usage.
        self._before_text = self._after_text = b""
        self._counted = False
        # The calls of candidates with only calls, and the signatures not sent yet.
        self._held: list[list[Any] | None] = [
            [] if style.joined and candidate.has_only_calls(style) else None
            for candidate in self._candidates
        ]
        # Scripted log probabilities come with the finish reason.
        scripted = {"avgLogprobs", "logprobsResult"} & response.metadata.keys()
        self._top_logprobs = None if scripted else style.top_logprobs
        self._unsigned = [candidate.signature for candidate in self._candidates]

    def opening(self) -> bytes:
        return b""

    def event(self, event: StreamEvent) -> bytes:
        match event:
            case PartDelta(text=text):
                before = self._before_text
                if not before:
                    return b""
                usage = self._usage.uncounted
                if self._counted:
                    self._said += len(text)
                    usage = self._usage.after(count_tokens(self._said))
                lead, self._lead = self._lead, self._framing.later
                after = self._after_text
                if self._counted and self._top_logprobs is not None:
                    result = logprobs_result(text, self._top_logprobs)
                    logprobs = b',"logprobsResult":%b%b' % (encode_line(result), _USAGE)
                    after = after.removesuffix(_USAGE) + logprobs
                return b"".join((lead, before, encode_text(text), after, usage, self._frame))
            case PartStart():
                self._start_part(event)
                return b""
            case PartEnd():
                self._before_text = b""
                return self._end_part(event)
            case _:
                return self._finish(event.choice)

    def closing(self) -> bytes:
        return self._framing.last

    def _start_part(self, event: PartStart) -> None:
        """Set the bytes around the text of each delta, if the part streams."""
        match event.part:
            case TextPart() | RefusalPart():
                mark = b""
            case ReasoningPart():
                mark = b',"thought":true'
            case _:
                return
        self._counted = not mark
        index = self._of_choice[event.choice].index
        place = b',"index":%d' % index if index or self._style.indexed else b""
        self._before_text = b'{"candidates":[{"content":{"parts":[{"text":'
        self._after_text = b'%b}],"role":"model"}%b%b' % (mark, place, _USAGE)

    def _end_part(self, event: PartEnd) -> bytes:
        """Return the chunk of a part's signature or citations, if any, or of a part that does not
        stream."""
        parts = self._response.choices[event.choice].parts
        rendered = render_part(parts, event.index, self._style)
        if rendered is None:
            return b""
        candidate = self._of_choice[event.choice].index
        match event.part:
            case ReasoningPart():
                signed = "thoughtSignature" in rendered
                return self._chunk(candidate, [rendered | EMPTY_PART]) if signed else b""
            case TextPart() | RefusalPart() as said:
                before = self._bytes[candidate]
                self._bytes[candidate] += byte_length(said.text)
                sources = citation_sources(said, before=before)
                if not sources:
                    return b""
                cited: Json = {"citationSources": sources}
                return self._chunk(candidate, [EMPTY_PART], citationMetadata=cited)
            case part:
                self._said += len(produced_text(part))
                if isinstance(part, ToolCallPart):
                    rendered |= self._take_signature(candidate)
                return self._add_whole_part(rendered, candidate)

    def _add_whole_part(self, rendered: dict[str, Any], candidate: int) -> bytes:
        """Return the chunk of a whole part; empty for a call that goes into the last chunk."""
        held = self._held[candidate]
        if held is None:
            return self._chunk(candidate, [rendered])
        held.append(rendered)
        return b""

    def _take_signature(self, candidate: int) -> dict[str, str]:
        """Return the candidate's signature of unscripted reasoning, if it was not sent yet."""
        signature, self._unsigned[candidate] = self._unsigned[candidate], None
        return {"thoughtSignature": signature} if signature else {}

    def _finish(self, choice: int) -> bytes:
        """Return the last chunk of a choice's candidate, or nothing if more choices of it follow.
        The chunk of the last candidate has the full usage."""
        response, candidate = self._response, self._of_choice[choice]
        is_last = choice == len(response.choices) - 1
        if response.consecutive and not is_last:
            return b""
        held = self._held[candidate.index]
        # Without a call the signature goes to the text, if there is any.
        signed = self._take_signature(candidate.index) if self._bytes[candidate.index] else {}
        fields = finish_fields(
            response, candidate, explains=held is not None and self._style.explains
        )
        usage = usage_fields(response.usage, self._style) if is_last else None
        return self._chunk(candidate.index, held or [{**EMPTY_PART, **signed}], usage, **fields)

    def _chunk(
        self, candidate: int, parts: list[Any], usage: dict[str, Json] | None = None, **fields: Json
    ) -> bytes:
        """Return one chunk for a candidate; without `usage` it has the usage so far."""
        content = {"parts": parts, "role": "model"}
        place = index_field(candidate, self._style)
        chunk = encode_line({"candidates": [{"content": content, **fields, **place}]})
        if usage is None:
            counted = self._usage.after(count_tokens(self._said))
        else:
            counted = encode_line(usage)
        lead, self._lead = self._lead, self._framing.later
        return lead + chunk[:-1] + b',"usageMetadata":' + counted + self._frame
