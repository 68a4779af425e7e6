"""Events of Anthropic's messages, read into the chat's."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from chat_app.clients.base import (
    CallArguments,
    CallBegun,
    Finished,
    ProviderEvent,
    TextPiece,
    ThinkingPiece,
)
from chat_app.clients.failures import unreadable
from chat_app.clients.reading import count, needed, text

if TYPE_CHECKING:
    from anthropic.types import (
        MessageDeltaUsage,
        RawContentBlockDelta,
        RawContentBlockStartEvent,
        RawMessageStreamEvent,
        Usage,
    )

REASONS: Mapping[str, str] = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "tool_use": "tool_calls",
    "refusal": "content_filter",
}


@dataclass(slots=True)
class _Block:
    """A block that was begun: a call has an id, thinking is closed by its signature."""

    call_id: str = ""
    signature: str = ""


class Events:
    """One answer. It is whole at `message_stop`. Blocks of kinds that are not asked for, such as
    those of tools that run at the provider, are passed over."""

    def __init__(self, *, call_prefix: str) -> None:
        self.ended = False
        self._prefix = call_prefix
        self._blocks: dict[int, _Block] = {}
        self._reason = ""
        self._input = 0
        self._output = 0

    def read(self, event: "RawMessageStreamEvent") -> Iterator[ProviderEvent]:
        match event.type:
            case "message_start":
                if event.message.usage:
                    self._count(event.message.usage)
            case "content_block_start":
                yield from self._start(event)
            case "content_block_delta":
                yield from self._delta(self._blocks[event.index], event.delta)
            case "content_block_stop":
                if signature := self._blocks[event.index].signature:
                    yield ThinkingPiece(signature=signature)
            case "message_delta":
                self._reason = text(event.delta.stop_reason) or self._reason
                if event.usage:
                    self._count(event.usage)
            case "message_stop":
                self.ended = True

    def finished(self) -> Finished:
        if not self.ended:
            raise unreadable()
        return Finished(REASONS.get(self._reason, self._reason), self._input, self._output)

    def _start(self, event: "RawContentBlockStartEvent") -> Iterator[ProviderEvent]:
        block = self._blocks[event.index] = _Block()
        match event.content_block.type:
            case "text":
                yield from _said(event.content_block.text)
            case "thinking":
                block.signature = text(event.content_block.signature)
                yield from _thought(event.content_block.thinking)
            case "redacted_thinking":
                yield ThinkingPiece(redacted=text(event.content_block.data))
            case "tool_use":
                given = text(event.content_block.id)
                block.call_id = given or f"{self._prefix}_{event.index}"
                yield CallBegun(block.call_id, needed(event.content_block.name))

    def _delta(self, block: _Block, delta: "RawContentBlockDelta") -> Iterator[ProviderEvent]:
        match delta.type:
            case "text_delta":
                yield from _said(delta.text)
            case "thinking_delta":
                yield from _thought(delta.thinking)
            case "signature_delta":
                block.signature = text(delta.signature)
            case "input_json_delta":
                # A tool of the provider's own has arguments too, and no id here.
                if block.call_id and (piece := text(delta.partial_json)):
                    yield CallArguments(block.call_id, piece)

    def _count(self, usage: "Usage | MessageDeltaUsage") -> None:
        """Counts are of the whole answer so far; what was cached was read as well."""
        read = (
            usage.input_tokens,
            usage.cache_creation_input_tokens,
            usage.cache_read_input_tokens,
        )
        self._input = sum(map(count, read)) or self._input
        self._output = count(usage.output_tokens) or self._output


def _said(piece: object) -> Iterator[ProviderEvent]:
    if found := text(piece):
        yield TextPiece(found)


def _thought(piece: object) -> Iterator[ProviderEvent]:
    if found := text(piece):
        yield ThinkingPiece(found)
