"""Converts a provider's events to those of a run: cleaned, split, assembled, in order. No I/O."""

from collections.abc import Collection
from itertools import groupby
from operator import itemgetter
from typing import assert_never

from chat_app.stream.markers import MarkParser, Stretch, StretchKind
from chat_app.stream.rounds import OpenCall, OpenRound, Round
from chat_app.values import events as run_events
from chat_app.values import model_call as llm
from chat_app.values.text import SurrogateJoiner, WhitespaceTrimmer, clean, remove_controls


class StreamPipeline:
    """Converts the provider's events of one answer, over all its rounds, to events of the run.

    Feed it every event of a model call, up to `Finished` or until `ended`; then `end_round` returns
    the call's parts. `complete` returns the text and thinking of the deltas so far, without white
    space and half a tag that are held back. Text after a tool call, or in the next round, starts
    after a blank line. Calls of `hidden_tools` are parts of their round, but no events.
    """

    def __init__(self, *, hidden_tools: Collection[str] = ()) -> None:
        self._hidden_tools = hidden_tools
        self._text: list[str] = []
        self._thinking: list[str] = []
        self._text_edges = WhitespaceTrimmer()
        self._thinking_edges = WhitespaceTrimmer()
        # The calls that had events.
        self._calls: list[OpenCall | run_events.ToolCall] = []
        # How often each id was used.
        self._ids: dict[str, int] = {}
        self._reset_round()

    def _reset_round(self) -> None:
        """Start with empty parsers and no parts."""
        self._round = OpenRound()
        self._parser = MarkParser()
        self._text_characters = SurrogateJoiner()
        self._thinking_characters = SurrogateJoiner()
        # The round's calls by the provider's ids.
        self._by_id: dict[str, OpenCall] = {}

    @property
    def ended(self) -> bool:
        """True if ␄ was in this round's text: it ends the call like the provider's terminal marker.
        Tool calls before it are still run."""
        return self._parser.ended

    def feed(self, event: llm.ProviderEvent) -> list[run_events.StreamEvent]:
        """Return the events for one event of the model call."""
        if self.ended:
            return []
        match event:
            case llm.TextPart(text):
                if text:
                    self._thinking_characters.drop()
                return self._add_stretches(
                    self._parser.feed(remove_controls(self._text_characters.feed(text)))
                )
            case llm.ThinkingPart():
                return self._add_native_thinking(event)
            case llm.CallStarted():
                return [*self._flush(), *self._start_call(event)]
            case llm.CallArguments():
                return [*self._flush(), *self._add_arguments(event)]
            case llm.Usage():
                return []
            case llm.Finished():
                return self._flush()
        assert_never(event)

    def end_round(self) -> Round:
        """Return the parts of the call and start the next round."""
        done = self._round.close()
        self._end_paragraphs()
        self._reset_round()
        return done

    def announce_call(self, call: run_events.ToolCall) -> list[run_events.StreamEvent]:
        """Add a complete call of a hidden tool to the answer's calls; return its events."""
        self._calls.append(call)
        return [
            run_events.ToolCallStart(call.id, call.name),
            run_events.ToolCallDelta(call.id, call.arguments),
        ]

    def complete(self) -> run_events.Complete:
        """Return the text, the thinking and the calls so far."""
        text, thinking = "".join(self._text), "".join(self._thinking)
        calls = (call.to_part() if isinstance(call, OpenCall) else call for call in self._calls)
        return run_events.Complete(text, thinking or None, tuple(calls))

    def _flush(self) -> list[run_events.StreamEvent]:
        """Return the events of text held back so far; half a surrogate pair is dropped."""
        self._text_characters.drop()
        self._thinking_characters.drop()
        return self._add_stretches(self._parser.flush())

    def _end_paragraphs(self) -> None:
        """Put a blank line before the next text, and before the next thinking."""
        self._text_edges.end_paragraph()
        self._thinking_edges.end_paragraph()

    def _add_stretches(self, stretches: list[Stretch]) -> list[run_events.StreamEvent]:
        """Add stretches to the round and to the answer; return their events."""
        events: list[run_events.StreamEvent] = []
        for kind, group in groupby(stretches, itemgetter(0)):
            text = "".join(text for _, text in group)
            if kind is StretchKind.THINKING:
                self._round.add_thinking(text)
                events += self._add_thinking(text)
            else:
                self._round.add_text(text)
                events += self._add_text(text)
        return events

    def _add_text(self, text: str) -> list[run_events.StreamEvent]:
        """Add text to the answer, not to the round; return its events."""
        if not (solid := self._text_edges.feed(text)):
            return []
        self._text.append(solid)
        return [run_events.TextDelta(solid)]

    def _add_thinking(self, text: str) -> list[run_events.StreamEvent]:
        """Add thinking to the answer, not to the round; return its events."""
        if not (solid := self._thinking_edges.feed(text)):
            return []
        self._thinking.append(solid)
        return [run_events.ThinkingDelta(solid)]

    def _add_native_thinking(self, piece: llm.ThinkingPart) -> list[run_events.StreamEvent]:
        """Add thinking that the provider sent apart from the text; return the events."""
        if piece == llm.ThinkingPart():
            return []
        self._text_characters.drop()
        events = self._add_stretches(self._parser.flush())
        text = self._thinking_characters.feed(piece.text)
        if piece.signature or piece.redacted:
            # The next piece belongs to another part, so it cannot complete this one's characters.
            self._thinking_characters.drop()
        self._round.add_thinking(
            text, native=True, signature=piece.signature, redacted=piece.redacted
        )
        return [*events, *self._add_thinking(clean(text))]

    def _start_call(self, started: llm.CallStarted) -> list[run_events.StreamEvent]:
        """Add a call to the round and the answer; return its event, none for a hidden tool."""
        call = OpenCall(self._unique_id(clean(started.id) or "call"), clean(started.name))
        self._by_id[started.id] = call
        self._round.begin_call(call)
        self._end_paragraphs()
        if call.name in self._hidden_tools:
            return []
        self._calls.append(call)
        return [run_events.ToolCallStart(call.id, call.name)]

    def _unique_id(self, call_id: str) -> str:
        """Return the id, with a number if it was used before: results refer to calls by id."""
        unique = call_id
        while unique in self._ids:
            self._ids[call_id] += 1
            unique = f"{call_id}-{self._ids[call_id]}"
        self._ids[unique] = 1
        return unique

    def _add_arguments(self, piece: llm.CallArguments) -> list[run_events.StreamEvent]:
        """Add arguments to their call and return their events; drop those of an unknown call."""
        call = self._by_id.get(piece.id)
        if call is None or not (text := call.extend(piece.text)):
            return []
        return [] if call.name in self._hidden_tools else [run_events.ToolCallDelta(call.id, text)]
