"""Renders an answer as OpenAI's `chat.completion` and as a stream of `chat.completion.chunk`, in
the dialect of who is asked."""

from functools import cache

from scenarios_app.engine.canonical import CanonicalRequest, CanonicalResponse, Choice, Json
from scenarios_app.engine.parts import (
    AnswerPart,
    Citation,
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
from scenarios_app.wire.openai.chat_request import ChatFields
from scenarios_app.wire.openai.dialects.dialect import Answered, Dialect, Fields
from scenarios_app.wire.openai.dialects.rows import DIALECTS, OPENAI
from scenarios_app.wire.openai.dialects.thoughts import thought_end, thought_frame, whole_thoughts
from scenarios_app.wire.openai.families import family_of, fingerprint_of
from scenarios_app.wire.openai.logprobs import choice_logprobs
from scenarios_app.wire.openai.obfuscation import OBFUSCATION, SIZE

# What the stream is made of can't be replaced by a script's own top-level fields.
_STRUCTURE = frozenset({"object", "choices", "usage"})
_NOTHING: Fields = {}


def dialect_of(own: ChatFields, response: CanonicalResponse) -> Dialect:
    """The dialect of an answer: as the request says, else as the step's provider does."""
    if response.spoken and own.dialect is OPENAI:
        return DIALECTS.get(response.spoken, OPENAI)
    return own.dialect


def completion(own: ChatFields, response: CanonicalResponse) -> dict[str, Json]:
    """The whole answer, in the form that its request asks for."""
    dialect = dialect_of(own, response)
    every = _choice_fields(dialect.choice, dialect, response.model)
    choices: list[Json] = []
    for index, choice in enumerate(response.choices):
        legacy = wants_legacy_call(own, choice)
        reason = finish_reason(choice.finish_reason, legacy=legacy)
        choices.append(
            {
                "index": index,
                "message": _message(choice, own.custom_tools, dialect, response, legacy=legacy),
                **every,
                **_likely(own, choice),
                **_ended(dialect, response.model, reason),
            }
        )
    return {
        **_top(response, "chat.completion", dialect, dialect.whole_top, dialect.whole),
        "choices": choices,
        "usage": dialect.usage(response.usage),
    }


def _likely(own: ChatFields, choice: Choice) -> Fields:
    """What a choice tells of its tokens, if that is asked for."""
    if own.top_logprobs is None:
        return {}
    return {"logprobs": choice_logprobs(content_of(choice.parts), own.top_logprobs)}


def _ended(dialect: Dialect, model: str, reason: str) -> Fields:
    """What a choice says of its end."""
    made = dialect.ending(model, reason) if dialect.ending else {}
    return {"finish_reason": reason, **made}


def _top(
    response: CanonicalResponse,
    object_name: str,
    dialect: Dialect,
    more: Fields = _NOTHING,
    made: Answered | None = None,
) -> dict[str, Json]:
    """The top-level fields that the whole answer and every chunk of a stream begin with; a whole
    one has `more`, and what is `made` of it."""
    top: dict[str, Json] = {
        "id": _id(dialect.id, response),
        "object": object_name,
        "created": response.created,
        "model": response.model,
        **dialect.top,
        **more,
    }
    if dialect.head:
        top |= dialect.head(response)
    if made:
        top |= made(response)
    if dialect.fingerprint is not None:
        top["system_fingerprint"] = _fingerprint(dialect.fingerprint, response.model)
    if response.metadata:
        top |= {k: v for k, v in response.metadata.items() if k not in _STRUCTURE}
    return top


def _id(form: str, response: CanonicalResponse) -> str:
    made = response.id
    if form == "chatcmpl-{hex}":
        return f"chatcmpl-{made}"
    return form.format(
        hex=made,
        uuid=f"{made[:8]}-{made[8:12]}-{made[12:16]}-{made[16:20]}-{made[20:]}",
        short=made[:20],
        created=response.created,
        number=int(made[:8] or "0", 16) % 1000,
    )


def _fingerprint(of: str, model: str) -> str | None:
    match of:
        case "family":
            return fingerprint_of(model) if family_of(model).fingerprint else None
        case "made":
            return fingerprint_of(model)
        case _:
            return of


def _choice_fields(fields: Fields, dialect: Dialect, model: str) -> Fields:
    """The fields of every choice, but for logprobs where the model's family has no place for
    them."""
    if not dialect.by_family or family_of(model).logprobs:
        return fields
    return {key: value for key, value in fields.items() if key != "logprobs"}


def finish_reason(reason: FinishReason, *, legacy: bool) -> str:
    if reason == "stop_sequence":
        return "stop"
    return "function_call" if legacy and reason == "tool_calls" else reason


def wants_legacy_call(own: ChatFields, choice: Choice) -> bool:
    """Whether the client offered legacy `functions` alone, whose form of answer holds one call."""
    calls = sum(isinstance(part, ToolCallPart) for part in choice.parts)
    return own.legacy_functions and calls == 1


def content_of(parts: tuple[AnswerPart, ...]) -> str | None:
    """The text of a message: null where a call or a refusal stands in its place."""
    text = "".join(part.text for part in parts if isinstance(part, TextPart))
    replaced = any(isinstance(part, ToolCallPart | RefusalPart) for part in parts)
    return None if replaced and not text else text


def annotations_of(parts: tuple[AnswerPart, ...], index: int) -> list[Json]:
    """The sources of the text part at `index`, placed in the content of the message.

    Each spans the words it cites, or all of its part where those are not found in it.
    """
    part = parts[index]
    if not isinstance(part, TextPart) or not part.citations:
        return []
    before = sum(len(p.text) for p in parts[:index] if isinstance(p, TextPart))
    return [_annotation(citation, part.text, before) for citation in part.citations]


def _annotation(citation: Citation, text: str, before: int) -> Json:
    cited = citation.cited_text
    start = text.find(cited) if cited else -1
    start, length = (0, len(text)) if start < 0 else (start, len(cited))
    source: Json = {
        "start_index": before + start,
        "end_index": before + start + length,
        "title": citation.title or "",
        "url": citation.url,
    }
    return {"type": "url_citation", "url_citation": source}


def _message(
    choice: Choice,
    custom: frozenset[str],
    dialect: Dialect,
    response: CanonicalResponse,
    *,
    legacy: bool,
) -> dict[str, Json]:
    parts = choice.parts
    content = content_of(parts)
    said: Fields = {"content": content}
    calls = [p for p in parts if isinstance(p, ToolCallPart)]
    if content is None and calls:
        said = dialect.silent
    message: dict[str, Json] = {"role": "assistant", **said, **dialect.message}
    if refusal := "".join(p.text for p in parts if isinstance(p, RefusalPart)):
        message["refusal"] = refusal
    if sources := [a for index in range(len(parts)) for a in annotations_of(parts, index)]:
        message["annotations"] = sources
    if thoughts := [p for p in parts if isinstance(p, ReasoningPart)]:
        message |= whole_thoughts(dialect.reasoning, thoughts, response.model, content)
    if legacy:
        message["function_call"] = {"name": calls[0].name, "arguments": calls[0].arguments}
    elif calls:
        message["tool_calls"] = [
            _call(call, custom, dialect, number) for number, call in enumerate(calls)
        ]
    return message


def _call(call: ToolCallPart, custom: frozenset[str], dialect: Dialect, number: int) -> Json:
    numbered: dict[str, Json] = {"index": number} if dialect.call_index else {}
    if call.name in custom:
        content: Json = {"name": call.name, "input": call.arguments}
        return {"id": call.id, "type": "custom", "custom": content, **numbered}
    return {**numbered, **_function(call, call.arguments, typed=dialect.call_type)}


def _function(call: ToolCallPart, arguments: str, *, typed: bool) -> dict[str, Json]:
    kind: dict[str, Json] = {"type": "function"} if typed else {}
    return {"id": call.id, **kind, "function": {"name": call.name, "arguments": arguments}}


_OBJECT = "chat.completion.chunk"


class ChunkEncoder:
    """One stream. A part's start fixes the frame of its deltas: the bytes around the encoded text
    (between its occurrences too, where it stands in several places), so that a delta only joins
    them.

    A custom tool's call streams as a function call: the official chunk type knows no other.
    """

    def __init__(self, request: CanonicalRequest, response: CanonicalResponse) -> None:
        self._own: ChatFields = request.own
        self._response = response
        self._dialect = dialect = dialect_of(self._own, response)
        asked = self._own.include_usage
        self._with_usage = dialect.usage_told == "always" or (
            asked and dialect.usage_told == "asked"
        )
        top = encode_json(_top(response, _OBJECT, dialect))[1:-1]
        self._top = b"data: {" + top
        self._head = self._top + b',"choices":[{'
        null = b',"usage":null' if asked and dialect.usage_null else b""
        by_family = dialect.by_family and not family_of(response.model).logprobs
        self._every, said = _chunk_choice(dialect.name, by_family)
        self._after = said + null
        self._obfuscated = dialect.obfuscated and self._own.obfuscated
        self._null = null
        self._top_logprobs = self._own.top_logprobs
        self._begun: set[int] = set()
        self._calls: dict[int, int] = {}
        self._frames: dict[tuple[int, int], tuple[bytes, ...]] = {}

    def opening(self) -> bytes:
        if self._compact(0):
            # The message begins with its call.
            return self._dialect.opening
        return self._dialect.opening + self._begin(0)

    def event(self, event: StreamEvent) -> bytes:
        match event:
            case PartDelta():
                frame = self._frames[event.choice, event.index]
                if not frame:
                    return b""
                if self._top_logprobs is not None and isinstance(event.part, TextPart):
                    return self._with_logprobs(event, self._top_logprobs)
                said = encode_text(event.text).join(frame)
                if not self._obfuscated:
                    return said + b"}\n\n"
                return b"%b%b}\n\n" % (said, OBFUSCATION[len(event.text) % SIZE])
            case PartStart():
                return self._start(event)
            case PartEnd():
                return self._end(event)
            case _:
                return self._begin(event.choice) + self._finish(event.choice, event.reason)

    def _with_logprobs(self, event: PartDelta, top: int) -> bytes:
        delta = {**self._dialect.every_delta, "content": event.text}
        told: Fields = {"logprobs": choice_logprobs(event.text, top), **_GOES_ON}
        return self._chunk(event.choice, delta, told, size=len(event.text))

    def closing(self) -> bytes:
        if not self._with_usage:
            return b"data: [DONE]\n\n"
        usage = encode_json(self._dialect.usage(self._response.usage))
        hidden = OBFUSCATION[0] if self._obfuscated else b""
        return b'%b,"choices":[],"usage":%b%b}\n\ndata: [DONE]\n\n' % (self._top, usage, hidden)

    def _compact(self, number: int) -> ToolCallPart | None:
        """The call with which a choice begins in one chunk, if it is all there is of calls."""
        if not self._dialect.compact_call or self._legacy(number):
            return None
        parts = self._response.choices[number].parts
        calls = [part for part in parts if isinstance(part, ToolCallPart)]
        return calls[0] if len(calls) == 1 and parts[0] is calls[0] else None

    def _calls_several(self, number: int) -> bool:
        """Whether a choice is nothing but calls."""
        parts = self._response.choices[number].parts
        return len(parts) > 1 and all(isinstance(part, ToolCallPart) for part in parts)

    def _begin(self, choice: int) -> bytes:
        """The chunk with the role, before anything else of its choice."""
        if choice in self._begun:
            return b""
        self._begun.add(choice)
        content = _first_content(self._response.choices[choice])
        delta: dict[str, Json] = {"role": "assistant", "content": content}
        if call := self._compact(choice):
            self._calls[choice] = 1
            delta["tool_calls"] = [_call_start(0, call, self._dialect)]
        elif self._dialect.compact_call and self._calls_several(choice):
            # The real one then says nothing of refusals.
            return self._chunk(choice, delta)
        first = self._dialect.first if len(self._begun) == 1 else None
        return self._chunk(choice, {**delta, **self._dialect.delta}, made=first)

    def _start(self, event: PartStart) -> bytes:
        choice, part = event.choice, event.part
        chunk = self._begin(choice)
        frame: tuple[bytes, ...]
        match part:
            case TextPart():
                frame = self._framed("content")
            case ServerToolUsePart() | ServerToolResultPart():
                frame = ()
            case RefusalPart():
                frame = self._framed("refusal")
            case ReasoningPart():
                frame = thought_frame(self._dialect, self._response.model)
            case ToolCallPart() if self._legacy(choice):
                chunk += self._chunk(
                    choice, {"function_call": {"name": part.name, "arguments": ""}}
                )
                frame = (b'{"function_call":{"arguments":', b"}}")
            case _ if self._dialect.whole_calls:
                frame = ()
            case _:
                number = 0
                if event.index or not self._compact(choice):
                    number = self._calls.get(choice, 0)
                    self._calls[choice] = number + 1
                    chunk += self._chunk(
                        choice, {"tool_calls": [_call_start(number, part, self._dialect)]}
                    )
                frame = (
                    b'{"tool_calls":[{"index":%d,"function":{"arguments":' % number,
                    b"}}]}",
                )
        self._frames[choice, event.index] = self._around(choice, frame)
        return chunk

    def _around(self, choice: int, frame: tuple[bytes, ...]) -> tuple[bytes, ...]:
        """The frame of a delta with that of its chunk around it."""
        if not frame:
            return ()
        before, *between, after = frame
        start = b'%b"index":%d,"delta":%b' % (self._head, choice, before)
        return (start, *between, after + self._after)

    def _framed(self, key: str) -> tuple[bytes, ...]:
        beside = {k: v for k, v in self._dialect.every_delta.items() if k != key}
        before = encode_json(beside)[1:-1] + b"," if beside else b""
        return (b'{%b"%b":' % (before, key.encode()), b"}")

    def _end(self, event: PartEnd) -> bytes:
        part, dialect = event.part, self._dialect
        if isinstance(part, ReasoningPart):
            rest = thought_end(dialect.reasoning, part, self._response.model)
            return self._chunk(event.choice, rest) if rest else b""
        if isinstance(part, ToolCallPart):
            whole = dialect.whole_calls and not self._legacy(event.choice)
            return self._whole_call(event.choice, part) if whole else b""
        sources = annotations_of(self._response.choices[event.choice].parts, event.index)
        return self._chunk(event.choice, {"annotations": sources}) if sources else b""

    def _whole_call(self, choice: int, part: ToolCallPart) -> bytes:
        number = self._calls.get(choice, 0)
        self._calls[choice] = number + 1
        said = _function(part, part.arguments, typed=self._dialect.call_type)
        call: Json = {"index": number, **said}
        return self._chunk(choice, {**self._dialect.every_delta, "tool_calls": [call]})

    def _finish(self, choice: int, why: FinishReason) -> bytes:
        reason = finish_reason(why, legacy=self._legacy(choice))
        ended = _ended(self._dialect, self._response.model, reason)
        last = self._dialect.last if choice == len(self._response.choices) - 1 else None
        return self._chunk(choice, self._dialect.last_delta, ended, made=last)

    def _chunk(
        self,
        choice: int,
        delta: Fields,
        ended: Fields | None = None,
        *,
        made: Answered | None = None,
        size: int = 0,
    ) -> bytes:
        fields = {"index": choice, "delta": delta, **self._every, **(ended or _GOES_ON)}
        more = b"," + encode_json(made(self._response))[1:-1] if made else b""
        hidden = OBFUSCATION[size % SIZE] if self._obfuscated else b""
        return b"%b%b}]%b%b%b}\n\n" % (
            self._head,
            encode_line(fields)[1:-1],
            self._null,
            more,
            hidden,
        )

    def _legacy(self, choice: int) -> bool:
        return wants_legacy_call(self._own, self._response.choices[choice])


@cache
def _chunk_choice(name: str, without_logprobs: bool) -> tuple[Fields, bytes]:
    """The fields of every choice of a chunk, and the bytes after a delta that goes on."""
    fields = DIALECTS[name].chunk_choice
    if without_logprobs:
        fields = {key: value for key, value in fields.items() if key != "logprobs"}
    return fields, b"," + encode_json({**fields, **_GOES_ON})[1:-1] + b"}]"


_GOES_ON: Fields = {"finish_reason": None}


def _first_content(choice: Choice) -> str | None:
    """An empty text, unless a call or a refusal is what the choice begins with or consists of."""
    first = next((p for p in choice.parts if not isinstance(p, ReasoningPart)), None)
    if isinstance(first, ToolCallPart | RefusalPart):
        return None
    return None if content_of(choice.parts) is None else ""


def _call_start(number: int, call: ToolCallPart, dialect: Dialect) -> Json:
    return {"index": number, **_function(call, "", typed=dialect.call_type)}
