"""Encodes an answer as Ollama's stream: lines of JSON, of which the last says that it is done."""

from scenarios_app.engine.canonical import CanonicalRequest, CanonicalResponse, Json
from scenarios_app.engine.parts import (
    PartDelta,
    PartEnd,
    PartStart,
    ReasoningPart,
    RefusalPart,
    StreamEvent,
    TextPart,
    ToolCallPart,
)
from scenarios_app.wire.base import encode_line, encode_text
from scenarios_app.wire.ollama_answer import GENERATE, call_of, content, ending, head

_FRAMES = {
    "chat text": (b'"message":{"role":"assistant","content":', b'},"done":false}\n'),
    "chat thinking": (
        b'"message":{"role":"assistant","content":"","thinking":',
        b'},"done":false}\n',
    ),
    "generate text": (b'"response":', b',"done":false}\n'),
    "generate thinking": (b'"response":"","thinking":', b',"done":false}\n'),
}


class LineEncoder:
    """One stream. A line of text joins what stands before and behind it; a call has one line, which
    comes when all of it is there and after those of the calls that began before it."""

    def __init__(self, request: CanonicalRequest, response: CanonicalResponse) -> None:
        self._request = request
        self._response = response
        self._head = encode_line(head(response))[:-1] + b","
        route = "generate" if request.route == GENERATE else "chat"
        before, self._after_text = _FRAMES[f"{route} text"]
        self._before_text = self._head + before
        before, self._after_thinking = _FRAMES[f"{route} thinking"]
        self._before_thinking = self._head + before
        # Calls that have begun and not been sent; those that have ended are no longer open.
        self._waiting: list[tuple[int, ToolCallPart]] = []
        self._open: set[int] = set()

    def opening(self) -> bytes:
        return b""

    def event(self, event: StreamEvent) -> bytes:
        match event:
            case PartDelta(part=TextPart() | RefusalPart()):
                return self._before_text + encode_text(event.text) + self._after_text
            case PartDelta(part=ReasoningPart()):
                return self._before_thinking + encode_text(event.text) + self._after_thinking
            case PartStart(part=ToolCallPart() as call):
                self._waiting.append((event.index, call))
                self._open.add(event.index)
                return b""
            case PartEnd(part=ToolCallPart()):
                self._open.remove(event.index)
                return self._called()
            case _:
                return b""

    def closing(self) -> bytes:
        said = content(self._request, "")
        return self._line({**said, **ending(self._request, self._response)})

    def _called(self) -> bytes:
        sent = b""
        while self._waiting and self._waiting[0][0] not in self._open:
            _, call = self._waiting.pop(0)
            sent += self._line({**content(self._request, "", calls=[call_of(call)]), "done": False})
        return sent

    def _line(self, fields: dict[str, Json]) -> bytes:
        return self._head + encode_line(fields)[1:] + b"\n"
