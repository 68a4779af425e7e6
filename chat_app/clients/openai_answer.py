"""Chunks of OpenAI's chat completions, read into events."""

from collections.abc import Iterator
from dataclasses import dataclass, field
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
from chat_app.clients.folding import Folding
from chat_app.clients.reading import count, number, text

if TYPE_CHECKING:
    from openai.types.chat.chat_completion_chunk import (
        ChatCompletionChunk,
        Choice,
        ChoiceDelta,
        ChoiceDeltaToolCall,
        ChoiceDeltaToolCallFunction,
    )

# Thinking has no name in OpenAI's own API: these are others', and who sends both means one.
_THINKING = ("reasoning_content", "reasoning")


@dataclass(slots=True)
class _Call:
    """`given` is the id as the provider gave it; arguments are held until the name is known."""

    given: str
    id: str
    begun: bool = False
    held: list[str] = field(default_factory=list)


class Chunks:
    """One answer. It is whole when every choice that began has a finish reason: `[DONE]` says no
    more than that, and the SDK keeps it to itself."""

    def __init__(self, *, call_prefix: str) -> None:
        self._prefix = call_prefix
        self._folding = Folding()
        self._calls: list[_Call] = []
        # By their choice, and the index that its deltas name.
        self._at: dict[tuple[int, int], _Call] = {}
        self._tokens = (0, 0)

    def read(self, chunk: "ChatCompletionChunk") -> Iterator[ProviderEvent]:
        if chunk.usage:
            self._tokens = (
                count(chunk.usage.prompt_tokens),
                count(chunk.usage.completion_tokens),
            )
        for choice in chunk.choices or ():
            yield from self._choice(choice)

    def end(self) -> Iterator[ProviderEvent]:
        rest, reason = self._folding.end()
        if not all(call.begun for call in self._calls):
            raise unreadable()
        yield from rest
        yield Finished(reason, *self._tokens)

    def _choice(self, choice: "Choice") -> Iterator[ProviderEvent]:
        index = number(choice.index)
        if choice.delta:
            yield from self._folding.tell(index, [*self._delta(index, choice.delta)])
        if reason := text(choice.finish_reason):
            yield from self._folding.finish(index, reason)

    def _delta(self, choice: int, delta: "ChoiceDelta") -> Iterator[ProviderEvent]:
        extra = delta.model_extra or {}
        if thinking := next((found for key in _THINKING if (found := text(extra.get(key)))), ""):
            yield ThinkingPiece(thinking)
        for said in (text(delta.content), text(delta.refusal)):
            if said:
                yield TextPiece(said)
        for piece in delta.tool_calls or ():
            if piece.function:
                yield from self._piece(self._call(choice, piece), piece.function)

    def _piece(
        self, call: _Call, function: "ChoiceDeltaToolCallFunction"
    ) -> Iterator[ProviderEvent]:
        if arguments := text(function.arguments):
            call.held.append(arguments)
        if not call.begun and (name := text(function.name)):
            call.begun = True
            yield CallBegun(call.id, name)
        if call.begun:
            yield from (CallArguments(call.id, held) for held in call.held)
            call.held.clear()

    def _call(self, choice: int, piece: "ChoiceDeltaToolCall") -> _Call:
        """The call that a delta belongs to. Some servers number no calls, or all alike: another
        id is another call."""
        given, place = text(piece.id), (choice, number(piece.index))
        call = self._at.get(place)
        if call is None or (given and call.given and given != call.given):
            call = _Call(given, given or f"{self._prefix}_{len(self._calls)}")
            self._calls.append(call)
            self._at[place] = call
        elif given and not call.given:
            call.given = given
            call.id = call.id if call.begun else given
        return call
