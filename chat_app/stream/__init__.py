"""From a provider's events to those of a run, pure: what a provider says becomes what a run says,
clean, split, assembled, in true order."""

from collections.abc import Collection
from dataclasses import replace
from itertools import groupby
from operator import itemgetter
from typing import assert_never

from chat_app.stream.markers import Kind, Marks, Stretch
from chat_app.stream.rounds import OpenCall, OpenRound, Round
from chat_app.values.events import (
    Complete,
    StreamEvent,
    TextDelta,
    ThinkingDelta,
    ToolCall,
    ToolCallDelta,
    ToolCallStart,
    ToolResult,
)
from chat_app.values.model_call import (
    CallArguments,
    CallBegun,
    Finished,
    ProviderEvent,
    TextPiece,
    ThinkingPiece,
    Usage,
)
from chat_app.values.text import Characters, Edges, clean, without_controls


class StreamPipeline:
    """One answer, over all its rounds.

    Feed it every event of a model call, up to `Finished` or until `ended`; then `end_round` gives
    what that call came to. `complete` may be asked at any time: its text is the TextDeltas given
    out so far, joined, and so for its thinking. What is held back then (white space, half a tag)
    was never shown and is no part of the answer. What is said after a call, or in the next round,
    begins after a blank line. Calls of `untold` tools are parts of their round and no events.
    """

    def __init__(self, *, untold: Collection[str] = ()) -> None:
        self._untold = untold
        self._text: list[str] = []
        self._thinking: list[str] = []
        self._text_edges = Edges()
        self._thinking_edges = Edges()
        # Those that were told of.
        self._calls: list[OpenCall | ToolCall] = []
        # Of every id how often it was asked for.
        self._ids: dict[str, int] = {}
        self._begin_round()

    def _begin_round(self) -> None:
        self._round = OpenRound()
        self._marks = Marks()
        self._text_characters = Characters()
        self._thinking_characters = Characters()
        # The round's calls by the ids that the provider gave them.
        self._by_id: dict[str, OpenCall] = {}

    @property
    def ended(self) -> bool:
        """␄ was seen in this round's text: it is as good as the provider's terminal marker, and
        all else that the call says is dropped. Calls that began before it are still to be run."""
        return self._marks.ended

    def feed(self, event: ProviderEvent) -> list[StreamEvent]:
        if self.ended:
            return []
        match event:
            case TextPiece(text):
                if text:
                    self._thinking_characters.drop()
                return self._tell(
                    self._marks.feed(without_controls(self._text_characters.feed(text)))
                )
            case ThinkingPiece():
                return self._native_thinking(event)
            case CallBegun():
                return [*self._flush(), *self._begin_call(event)]
            case CallArguments():
                return [*self._flush(), *self._arguments(event)]
            case Usage():
                return []
            case Finished():
                return self._flush()
        assert_never(event)

    def end_round(self) -> Round:
        """The call's parts; the next events are those of the next call."""
        done = self._round.close()
        self._end_paragraphs()
        self._begin_round()
        return done

    def tell_call(self, call: ToolCall) -> list[StreamEvent]:
        """A whole call of an untold tool, told after all."""
        self._calls.append(call)
        return [ToolCallStart(call.id, call.name), ToolCallDelta(call.id, call.arguments)]

    def tool_result(self, result: ToolResult) -> ToolResult:
        """The result as it may be shown and stored."""
        return replace(result, result=clean(result.result))

    def complete(self) -> Complete:
        return Complete(
            text="".join(self._text),
            thinking="".join(self._thinking) or None,
            tool_calls=tuple(
                call.part() if isinstance(call, OpenCall) else call for call in self._calls
            ),
        )

    def _flush(self) -> list[StreamEvent]:
        """What is held back for more of its kind, since something else comes."""
        self._text_characters.drop()
        self._thinking_characters.drop()
        return self._tell(self._marks.flush())

    def _end_paragraphs(self) -> None:
        self._text_edges.end_paragraph()
        self._thinking_edges.end_paragraph()

    def _tell(self, found: list[Stretch]) -> list[StreamEvent]:
        events: list[StreamEvent] = []
        for kind, stretches in groupby(found, itemgetter(0)):
            text = "".join(text for _, text in stretches)
            if kind is Kind.THINKING:
                self._round.think(text)
                events += self._thought(text)
            else:
                self._round.say(text)
                events += self._said(text)
        return events

    def _said(self, text: str) -> list[StreamEvent]:
        if not (solid := self._text_edges.feed(text)):
            return []
        self._text.append(solid)
        return [TextDelta(solid)]

    def _thought(self, text: str) -> list[StreamEvent]:
        if not (solid := self._thinking_edges.feed(text)):
            return []
        self._thinking.append(solid)
        return [ThinkingDelta(solid)]

    def _native_thinking(self, piece: ThinkingPiece) -> list[StreamEvent]:
        if piece == ThinkingPiece():
            return []
        self._text_characters.drop()
        events = self._tell(self._marks.flush())
        text = self._thinking_characters.feed(piece.text)
        self._round.think(text, native=True, signature=piece.signature, redacted=piece.redacted)
        return [*events, *self._thought(clean(text))]

    def _begin_call(self, begun: CallBegun) -> list[StreamEvent]:
        call = OpenCall(self._unique(clean(begun.id) or "call"), clean(begun.name))
        self._by_id[begun.id] = call
        self._round.begin_call(call)
        self._end_paragraphs()
        if call.name in self._untold:
            return []
        self._calls.append(call)
        return [ToolCallStart(call.id, call.name)]

    def _unique(self, call_id: str) -> str:
        """Results find their calls by id, so one that comes again gets a number behind it."""
        unique = call_id
        while unique in self._ids:
            self._ids[call_id] += 1
            unique = f"{call_id}-{self._ids[call_id]}"
        self._ids[unique] = 1
        return unique

    def _arguments(self, piece: CallArguments) -> list[StreamEvent]:
        """Arguments of a call that did not begin in this round belong to none."""
        call = self._by_id.get(piece.id)
        if call is None or not (text := call.extend(piece.text)):
            return []
        return [] if call.name in self._untold else [ToolCallDelta(call.id, text)]
