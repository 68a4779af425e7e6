"""Encodes a response as `chat.completion.chunk` events in the request's dialect."""

from collections import defaultdict
from collections.abc import Iterator
from functools import lru_cache
from itertools import count

from scenarios_app.engine.canonical import CanonicalRequest, CanonicalResponse, Json
from scenarios_app.engine.parts import (
    AnswerPart,
    FinishReason,
    PartDelta,
    PartEnd,
    PartStart,
    ReasoningPart,
    RefusalPart,
    ServerToolResultPart,
    ServerToolUsePart,
    StreamEvent,
    TextPart,
    ToolCallPart,
)
from scenarios_app.wire.base import encode_json, encode_line, encode_text
from scenarios_app.wire.openai.chat_answer import (
    annotations_of,
    call_fields,
    choice_fields,
    content_of,
    dialect_of,
    finish_fields,
    finish_reason,
    logprob_fields,
    needs_legacy_call,
    top_fields,
)
from scenarios_app.wire.openai.chat_request import ChatFields
from scenarios_app.wire.openai.dialects.dialect import Dialect, Fields, ResponseFieldsBuilder
from scenarios_app.wire.openai.dialects.reasoning import reasoning_delta_frame, reasoning_end_delta
from scenarios_app.wire.openai.obfuscation import MAX_PADDING_CHARS, PADDINGS

_OBJECT = "chat.completion.chunk"
_UNFINISHED: Fields = {"finish_reason": None}


@lru_cache(maxsize=256)
def _chunk_choice(dialect: Dialect, model: str) -> tuple[Fields, bytes]:
    """Return the fields of every chunk's choice, and the bytes after an unfinished delta."""
    fields = choice_fields(dialect.chunk_choice_fields, dialect, model)
    return fields, b"," + encode_json({**fields, **_UNFINISHED})[1:-1] + b"}]"


def _first_content(parts: tuple[AnswerPart, ...]) -> str | None:
    """Return the `content` of a choice's first chunk: None if a call or refusal is its first part
    beside reasoning, or it has these and no text; else an empty text."""
    first = next((part for part in parts if not isinstance(part, ReasoningPart)), None)
    is_other = isinstance(first, ToolCallPart | RefusalPart) or content_of(parts) is None
    return None if is_other else ""


class ChunkEncoder:
    """Encodes a stream of the Chat Completions API in chunks, then a usage chunk if there is one.

    The start of a part fixes the frame of its deltas: the bytes around the encoded text, and
    between its occurrences if a delta repeats it. Calls of custom tools are streamed as the real
    API does, though the official type of a chunk has none.
    """

    def __init__(self, request: CanonicalRequest, response: CanonicalResponse) -> None:
        self._own: ChatFields = request.own
        self._response = response
        self._dialect = dialect = dialect_of(self._own, response)
        usage_requested = self._own.include_usage
        self._with_usage = dialect.usage_chunk == "always" or (
            usage_requested and dialect.usage_chunk == "asked"
        )
        self._top = b"data: {" + encode_json(top_fields(response, _OBJECT, dialect, {}))[1:-1]
        self._head = self._top + b',"choices":[{'
        self._null = b',"usage":null' if usage_requested and dialect.usage_null else b""
        self._every, after_delta = _chunk_choice(dialect, response.model)
        self._after = after_delta + self._null
        self._obfuscated = dialect.obfuscated and self._own.obfuscated
        self._has_logprobs = self._own.top_logprobs is not None
        self._begun: set[int] = set()
        # The numbers of the calls of each choice.
        self._numbers: defaultdict[int, Iterator[int]] = defaultdict(count)
        self._frames: dict[tuple[int, int], tuple[bytes, ...]] = {}

    def opening(self) -> bytes:
        # A first chunk with a call comes with the call.
        begin = b"" if self._first_chunk_call(0) else self._first_chunk(0)
        return self._dialect.stream_prefix + begin

    def event(self, event: StreamEvent) -> bytes:
        match event:
            case PartDelta():
                frame = self._frames[event.choice, event.index]
                if not frame:
                    return b""
                if self._has_logprobs and isinstance(event.part, TextPart):
                    delta = {**self._dialect.delta_fields, "content": event.text}
                    ended = {**logprob_fields(self._own, event.text), **_UNFINISHED}
                    return self._encode_chunk(event.choice, delta, ended, size=len(event.text))
                chunk = encode_text(event.text).join(frame)
                if not self._obfuscated:
                    return chunk + b"}\n\n"
                return b"%b%b}\n\n" % (chunk, PADDINGS[len(event.text) % MAX_PADDING_CHARS])
            case PartStart():
                return self._start_part(event)
            case PartEnd():
                return self._end_part(event)
            case _:
                return self._first_chunk(event.choice) + self._finish(event.choice, event.reason)

    def closing(self) -> bytes:
        if not self._with_usage:
            return b"data: [DONE]\n\n"
        usage = encode_json(self._dialect.usage(self._response.usage))
        hidden = PADDINGS[0] if self._obfuscated else b""
        return b'%b,"choices":[],"usage":%b%b}\n\ndata: [DONE]\n\n' % (self._top, usage, hidden)

    def _first_chunk_call(self, choice: int) -> ToolCallPart | None:
        """Return the call that a choice's first chunk contains: its first part and only call. None
        if there is no such call, or the dialect sends calls apart."""
        if not self._dialect.compact_call or self._has_legacy_call(choice):
            return None
        parts = self._response.choices[choice].parts
        calls = [part for part in parts if isinstance(part, ToolCallPart)]
        return calls[0] if len(calls) == 1 and parts[0] is calls[0] else None

    def _first_chunk(self, choice: int) -> bytes:
        """Return a choice's first chunk, with the role; empty if it was sent already."""
        if choice in self._begun:
            return b""
        self._begun.add(choice)
        dialect, parts = self._dialect, self._response.choices[choice].parts
        delta: dict[str, Json] = {"role": "assistant", "content": _first_content(parts)}
        if call := self._first_chunk_call(choice):
            delta |= self._call_delta(next(self._numbers[choice]), call)
        only_calls = len(parts) > 1 and all(isinstance(part, ToolCallPart) for part in parts)
        # Before several calls the real API leaves out the refusal.
        if not (only_calls and dialect.compact_call):
            delta |= dialect.first_delta_fields
        first = dialect.make_first_chunk_fields if len(self._begun) == 1 else None
        return self._encode_chunk(choice, delta, make_fields=first)

    def _call_delta(self, number: int, call: ToolCallPart, text: str = "") -> Fields:
        """Return a delta with a call, its index `number`, and `text` as its arguments or input."""
        fields = call_fields(call, text, typed=self._dialect.call_type)
        return {"tool_calls": [{"index": number, **fields}]}

    def _start_part(self, event: PartStart) -> bytes:
        """Return the chunks that begin a part, if any, and fix the frame of its deltas: empty if
        they are not sent."""
        choice, part = event.choice, event.part
        chunk = self._first_chunk(choice)
        frame: tuple[bytes, ...]
        match part:
            case TextPart():
                frame = self._delta_frame("content")
            case ServerToolUsePart() | ServerToolResultPart():
                frame = ()
            case RefusalPart():
                frame = self._delta_frame("refusal")
            case ReasoningPart():
                frame = reasoning_delta_frame(
                    self._dialect, self._response.model, self._reasoning_number(event)
                )
            case ToolCallPart() if self._has_legacy_call(choice):
                call: Json = {"name": part.name, "arguments": ""}
                chunk += self._encode_chunk(choice, {"function_call": call})
                frame = (b'{"function_call":{"arguments":', b"}}")
            case _ if self._dialect.whole_calls:
                frame = ()
            case _:
                number = 0
                if event.index or not self._first_chunk_call(choice):
                    number = next(self._numbers[choice])
                    chunk += self._encode_chunk(choice, self._call_delta(number, part))
                key = b'"custom":{"input":' if part.custom else b'"function":{"arguments":'
                frame = (b'{"tool_calls":[{"index":%d,%b' % (number, key), b"}}]}")
        self._frames[choice, event.index] = self._chunk_frame(choice, frame)
        return chunk

    def _chunk_frame(self, choice: int, frame: tuple[bytes, ...]) -> tuple[bytes, ...]:
        """Return the bytes around the text in a chunk; `frame` are those in its delta, if any."""
        if not frame:
            return ()
        before, *between, after = frame
        start = b'%b"index":%d,"delta":%b' % (self._head, choice, before)
        return (start, *between, after + self._after)

    def _delta_frame(self, key: str) -> tuple[bytes, ...]:
        """Return the bytes before and after the encoded text in a delta with this key."""
        beside = {k: v for k, v in self._dialect.delta_fields.items() if k != key}
        before = encode_json(beside)[1:-1] + b"," if beside else b""
        return (b'{%b"%b":' % (before, key.encode()), b"}")

    def _end_part(self, event: PartEnd) -> bytes:
        """Return the last chunk of a part: the end of OpenRouter's reasoning, a call that is sent
        whole, or annotations; empty if there is none."""
        part, dialect = event.part, self._dialect
        if isinstance(part, ReasoningPart):
            model, number = self._response.model, self._reasoning_number(event)
            rest = reasoning_end_delta(dialect.reasoning, part, model, number)
            return self._encode_chunk(event.choice, rest) if rest else b""
        if isinstance(part, ToolCallPart):
            if not dialect.whole_calls or self._has_legacy_call(event.choice):
                return b""
            call = self._call_delta(next(self._numbers[event.choice]), part, part.arguments)
            return self._encode_chunk(event.choice, {**dialect.delta_fields, **call})
        sources = annotations_of(self._response.choices[event.choice].parts, event.index)
        return self._encode_chunk(event.choice, {"annotations": sources}) if sources else b""

    def _finish(self, choice: int, why: FinishReason) -> bytes:
        """Return the chunk with the finish reason `why` of a choice."""
        reason = finish_reason(why, legacy=self._has_legacy_call(choice))
        ended = finish_fields(self._dialect, self._response.model, reason)
        is_last = choice == len(self._response.choices) - 1
        last = self._dialect.make_last_chunk_fields if is_last else None
        return self._encode_chunk(choice, self._dialect.last_delta, ended, make_fields=last)

    def _encode_chunk(
        self,
        choice: int,
        delta: Fields,
        choice_fields: Fields | None = None,
        *,
        make_fields: ResponseFieldsBuilder | None = None,
        size: int = 0,
    ) -> bytes:
        """Return a chunk with a delta of this choice, unfinished unless `choice_fields` are given.
        `make_fields` adds top-level fields; `size` is the length of the text, for the padding."""
        fields = {"index": choice, "delta": delta, **self._every, **(choice_fields or _UNFINISHED)}
        more = b"," + encode_json(make_fields(self._response))[1:-1] if make_fields else b""
        hidden = PADDINGS[size % MAX_PADDING_CHARS] if self._obfuscated else b""
        encoded = encode_line(fields)[1:-1]
        return b"%b%b}]%b%b%b}\n\n" % (self._head, encoded, self._null, more, hidden)

    def _reasoning_number(self, event: PartStart | PartEnd) -> int:
        """Return the number of reasoning parts before a part in its choice."""
        before = self._response.choices[event.choice].parts[: event.index]
        return sum(isinstance(part, ReasoningPart) for part in before)

    def _has_legacy_call(self, choice: int) -> bool:
        return needs_legacy_call(self._own, self._response.choices[choice])
