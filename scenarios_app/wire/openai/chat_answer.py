"""Renders an answer as OpenAI's `chat.completion` and as a stream of `chat.completion.chunk`."""

from scenarios_app.engine.canonical import CanonicalRequest, CanonicalResponse, Choice, Json, Usage
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
from scenarios_app.wire.base import encode_json, encode_line, encode_text, sse
from scenarios_app.wire.openai.chat_request import ChatFields

# What the stream is made of can't be replaced by a script's own top-level fields.
_STRUCTURE = frozenset({"object", "choices", "usage"})


def completion(own: ChatFields, response: CanonicalResponse) -> dict[str, Json]:
    """The whole answer, in the form that its request asks for."""
    choices: list[Json] = []
    for index, choice in enumerate(response.choices):
        legacy = wants_legacy_call(own, choice)
        choices.append(
            {
                "index": index,
                "message": _message(choice, own.custom_tools, legacy=legacy),
                "logprobs": None,
                "finish_reason": finish_reason(choice.finish_reason, legacy=legacy),
            }
        )
    return {
        **envelope(response, "chat.completion", service_tier="default"),
        "choices": choices,
        "usage": usage_fields(response.usage),
    }


def envelope(
    response: CanonicalResponse, object_name: str, *, prefix: str = "chatcmpl", **defaults: Json
) -> dict[str, Json]:
    """The top-level fields that the whole answer and every chunk of a stream begin with."""
    scripted = {k: v for k, v in response.metadata.items() if k not in _STRUCTURE}
    return {
        "id": f"{prefix}-{response.id}",
        "object": object_name,
        "created": response.created,
        "model": response.model,
        "system_fingerprint": None,
        **defaults,
        **scripted,
    }


def usage_fields(usage: Usage) -> dict[str, Json]:
    return {
        "prompt_tokens": usage.input_tokens,
        "completion_tokens": usage.output_tokens,
        "total_tokens": usage.total_tokens,
        "prompt_tokens_details": {
            "cached_tokens": usage.cached_tokens + usage.cache_read_tokens,
            "audio_tokens": 0,
        },
        "completion_tokens_details": {
            "reasoning_tokens": usage.reasoning_tokens,
            "audio_tokens": 0,
            "accepted_prediction_tokens": 0,
            "rejected_prediction_tokens": 0,
        },
    }


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


def _message(choice: Choice, custom: frozenset[str], *, legacy: bool) -> dict[str, Json]:
    parts = choice.parts
    message: dict[str, Json] = {
        "role": "assistant",
        "content": content_of(parts),
        "refusal": "".join(p.text for p in parts if isinstance(p, RefusalPart)) or None,
        "annotations": [a for index in range(len(parts)) for a in annotations_of(parts, index)],
    }
    reasoning = "".join(p.text for p in parts if isinstance(p, ReasoningPart))
    if reasoning:
        message |= {"reasoning": reasoning, "reasoning_content": reasoning}
    calls = [p for p in parts if isinstance(p, ToolCallPart)]
    if legacy:
        message["function_call"] = {"name": calls[0].name, "arguments": calls[0].arguments}
    elif calls:
        message["tool_calls"] = [_call(call, custom) for call in calls]
    return message


def _call(call: ToolCallPart, custom: frozenset[str]) -> Json:
    if call.name in custom:
        content: Json = {"name": call.name, "input": call.arguments}
        return {"id": call.id, "type": "custom", "custom": content}
    content = {"name": call.name, "arguments": call.arguments}
    return {"id": call.id, "type": "function", "function": content}


_OBJECT = "chat.completion.chunk"


class ChunkEncoder:
    """One stream. A part's start fixes the frame of its deltas: the bytes around the encoded text
    (between its two occurrences too, for reasoning), so that a delta only joins them.

    A custom tool's call streams as a function call: the official chunk type knows no other.
    """

    def __init__(self, request: CanonicalRequest, response: CanonicalResponse) -> None:
        self._own: ChatFields = request.own
        self._response = response
        self._with_usage = self._own.include_usage
        self._head = b"data: " + encode_json(envelope(response, _OBJECT))[:-1] + b',"choices":[{'
        self._tail = b"}]" + (b',"usage":null' if self._with_usage else b"") + b"}\n\n"
        self._begun: set[int] = set()
        self._calls: dict[int, int] = {}
        self._frames: dict[tuple[int, int], tuple[bytes, ...]] = {}

    def opening(self) -> bytes:
        return self._begin(0)

    def event(self, event: StreamEvent) -> bytes:
        match event:
            case PartDelta():
                return encode_text(event.text).join(self._frames[event.choice, event.index])
            case PartStart():
                return self._begin(event.choice) + self._start(event)
            case PartEnd():
                return self._end(event)
            case _:
                reason = finish_reason(event.reason, legacy=self._legacy(event.choice))
                return self._begin(event.choice) + self._chunk(event.choice, {}, reason)

    def closing(self) -> bytes:
        if not self._with_usage:
            return b"data: [DONE]\n\n"
        fields = {**envelope(self._response, _OBJECT), "choices": []}
        fields["usage"] = usage_fields(self._response.usage)
        return sse(encode_json(fields)) + b"data: [DONE]\n\n"

    def _begin(self, choice: int) -> bytes:
        """The chunk with the role, before anything else of its choice."""
        if choice in self._begun:
            return b""
        self._begun.add(choice)
        content = _first_content(self._response.choices[choice])
        return self._chunk(choice, {"role": "assistant", "content": content, "refusal": None})

    def _start(self, event: PartStart) -> bytes:
        choice, part = event.choice, event.part
        frame: tuple[bytes, ...]
        chunk = b""
        match part:
            case TextPart():
                frame = (b'{"content":', b"}")
            case ServerToolUsePart() | ServerToolResultPart():
                # This wire has no word for them; what is joined by one piece is that piece.
                self._frames[choice, event.index] = (b"",)
                return b""
            case RefusalPart():
                frame = (b'{"refusal":', b"}")
            case ReasoningPart():
                frame = (b'{"reasoning":', b',"reasoning_content":', b"}")
            case ToolCallPart() if self._legacy(choice):
                chunk = self._chunk(choice, {"function_call": {"name": part.name, "arguments": ""}})
                frame = (b'{"function_call":{"arguments":', b"}}")
            case _:
                number = self._calls.get(choice, 0)
                self._calls[choice] = number + 1
                chunk = self._chunk(choice, {"tool_calls": [_call_start(number, part)]})
                frame = (
                    b'{"tool_calls":[{"index":%d,"function":{"arguments":' % number,
                    b"}}]}",
                )
        before, *between, after = frame
        self._frames[choice, event.index] = (
            b'%b"index":%d,"delta":%b' % (self._head, choice, before),
            *between,
            after + b',"logprobs":null,"finish_reason":null' + self._tail,
        )
        return chunk

    def _end(self, event: PartEnd) -> bytes:
        sources = annotations_of(self._response.choices[event.choice].parts, event.index)
        return self._chunk(event.choice, {"annotations": sources}) if sources else b""

    def _chunk(self, choice: int, delta: dict[str, Json], reason: str | None = None) -> bytes:
        fields = {"index": choice, "delta": delta, "logprobs": None, "finish_reason": reason}
        return self._head + encode_line(fields)[1:-1] + self._tail

    def _legacy(self, choice: int) -> bool:
        return wants_legacy_call(self._own, self._response.choices[choice])


def _first_content(choice: Choice) -> str | None:
    """An empty text, unless a call or a refusal is what the choice begins with or consists of."""
    first = next((p for p in choice.parts if not isinstance(p, ReasoningPart)), None)
    if isinstance(first, ToolCallPart | RefusalPart):
        return None
    return None if content_of(choice.parts) is None else ""


def _call_start(number: int, call: ToolCallPart) -> Json:
    function: Json = {"name": call.name, "arguments": ""}
    return {"index": number, "id": call.id, "type": "function", "function": function}
