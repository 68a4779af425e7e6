"""Encodes an answer as the chunks of an OpenAI chat stream, at the cost of one join per delta."""

from scenarios_app.engine.canonical import CanonicalRequest, CanonicalResponse, Choice, Json
from scenarios_app.engine.parts import (
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
from scenarios_app.wire.openai_answer import (
    annotations_of,
    content_of,
    envelope,
    finish_reason,
    usage_fields,
    wants_legacy_call,
)

_OBJECT = "chat.completion.chunk"


class ChunkEncoder:
    """One stream. A part's start fixes the frame of its deltas: the bytes around the encoded text
    (between its two occurrences too, for reasoning), so that a delta only joins them.

    A custom tool's call streams as a function call: the official chunk type knows no other.
    """

    def __init__(self, request: CanonicalRequest, response: CanonicalResponse) -> None:
        self._request = request
        self._response = response
        self._with_usage = wants_usage(request)
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
                # This wire has no word for them; whatever is joined by one piece is that piece.
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
        return wants_legacy_call(self._request, self._response.choices[choice])


def wants_usage(request: CanonicalRequest) -> bool:
    match request.extra.get("stream_options"):
        case {"include_usage": True}:
            return True
        case _:
            return False


def _first_content(choice: Choice) -> str | None:
    """An empty text, unless a call or a refusal is what the choice begins with or consists of."""
    first = next((p for p in choice.parts if not isinstance(p, ReasoningPart)), None)
    if isinstance(first, ToolCallPart | RefusalPart):
        return None
    return None if content_of(choice.parts) is None else ""


def _call_start(number: int, call: ToolCallPart) -> Json:
    function: Json = {"name": call.name, "arguments": ""}
    return {"index": number, "id": call.id, "type": "function", "function": function}
