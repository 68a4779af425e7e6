"""Encodes an Anthropic response as server-sent events: one block after another."""

from scenarios_app.engine.canonical import CanonicalResponse
from scenarios_app.engine.parts import (
    AnswerPart,
    Finish,
    PartDelta,
    PartEnd,
    PartStart,
    ReasoningPart,
    ServerToolResultPart,
    ServerToolUsePart,
    StreamEvent,
    TextPart,
    ToolCallPart,
)
from scenarios_app.wire.anthropic.answer import (
    citation_block,
    container_fields,
    context_edits,
    has_block,
    opening_block,
    opening_message,
    stop_fields,
)
from scenarios_app.wire.anthropic.options import AnthropicOptions
from scenarios_app.wire.anthropic.usage import closing_usage
from scenarios_app.wire.base import encode_json, encode_line, encode_text, named_sse

_PING = named_sse("ping", b'{"type":"ping"}')
_STOP = named_sse("message_stop", b'{"type":"message_stop"}')
_AFTER_TEXT = b"}}\n\n"


class AnthropicEncoder:
    """Encodes one stream, whose parts arrive strictly one after another."""

    __slots__ = ("_before_text", "_index", "_options", "_response")

    def __init__(self, response: CanonicalResponse, options: AnthropicOptions) -> None:
        self._response = response
        self._options = options
        self._index = -1
        # The bytes before the text of each delta of the open block; empty during a part without
        # a block.
        self._before_text = b""

    def opening(self) -> bytes:
        start = {"type": "message_start", "message": opening_message(self._response, self._options)}
        return named_sse("message_start", encode_line(start))

    def event(self, event: StreamEvent) -> bytes:
        if type(event) is PartDelta:
            before = self._before_text
            return before + encode_text(event.text) + _AFTER_TEXT if before else b""
        match event:
            case PartStart(part=part):
                return self._start_block(part) if has_block(part) else b""
            case PartEnd(part=part):
                return self._end_block(part) if has_block(part) else b""
            case Finish(choice=choice) if choice == len(self._response.choices) - 1:
                return self._finish()
            case _:
                return b""

    def closing(self) -> bytes:
        return _STOP

    def _start_block(self, part: AnswerPart) -> bytes:
        """Return the events that open the block of a part; set the bytes before its deltas."""
        self._index += 1
        start = {
            "type": "content_block_start",
            "index": self._index,
            "content_block": opening_block(part),
        }
        sent = named_sse("content_block_start", encode_line(start))
        if self._index == 0:
            sent += _PING
        match part:
            case ReasoningPart(redacted=None):
                self._before_text = self._delta_start("thinking_delta", "thinking")
            case ReasoningPart() | ServerToolResultPart():
                self._before_text = b""
            case ToolCallPart() | ServerToolUsePart():
                self._before_text = self._delta_start("input_json_delta", "partial_json")
                sent += self._before_text + b'""' + _AFTER_TEXT
            case _:
                self._before_text = self._delta_start("text_delta", "text")
        return sent

    def _end_block(self, part: AnswerPart) -> bytes:
        """Return a part's signature or citations, and the end of its block."""
        last = b""
        match part:
            case ReasoningPart(redacted=None):
                # Every thinking block ends with a signature, even an empty one.
                before = self._delta_start("signature_delta", "signature")
                last = before + encode_text(part.signature or "") + _AFTER_TEXT
            case TextPart(citations=citations):
                before = self._delta_start("citations_delta", "citation")
                cited = (encode_line(citation_block(citation)) for citation in citations)
                last = b"".join(before + citation + _AFTER_TEXT for citation in cited)
        self._before_text = b""
        stop = {"type": "content_block_stop", "index": self._index}
        return last + named_sse("content_block_stop", encode_json(stop))

    def _finish(self) -> bytes:
        """Return the event with the stop reason and the usage."""
        response, options = self._response, self._options
        delta = {
            "type": "message_delta",
            "delta": {**stop_fields(response), **container_fields(response, options)},
            "usage": closing_usage(response, options),
            **context_edits(response, options),
        }
        return named_sse("message_delta", encode_line(delta))

    def _delta_start(self, kind: str, key: str) -> bytes:
        """Return the bytes of the open block's delta event before the encoded value."""
        return (
            "event: content_block_delta\n"
            f'data: {{"type":"content_block_delta","index":{self._index},'
            f'"delta":{{"type":"{kind}","{key}":'
        ).encode()
