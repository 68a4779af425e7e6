"""How long a prompt is, in tokens of four characters each, which is enough to tell when a
conversation grows too long; and long results of tools in it, cut in their middles with a mark: no
more than is needed. What is stored stays whole."""

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Final, Protocol

from chat_app.values.events import ToolCall
from chat_app.values.model_call import (
    AssistantTurn,
    Text,
    Thinking,
    Tool,
    ToolResults,
    Turn,
    UserTurn,
)

MARK: Final = "[… {:,} characters left out …]"
CHARACTERS_PER_TOKEN: Final = 4


def estimate(texts: Iterable[str]) -> int:
    return -(-sum(map(len, texts)) // CHARACTERS_PER_TOKEN)


def texts_of(system_prompt: str, tools: Iterable[Tool], turns: Iterable[Turn]) -> Iterator[str]:
    """Every text of a prompt that becomes tokens."""
    yield system_prompt
    for tool in tools:
        yield tool.name
        yield tool.description
        yield json.dumps(tool.input_schema, ensure_ascii=False, separators=(",", ":"))
    for turn in turns:
        yield from _texts_of_turn(turn)


def _texts_of_turn(turn: Turn) -> Iterator[str]:
    match turn:
        case UserTurn(text):
            yield text
        case ToolResults(results):
            yield from (result.content for result in results)
        case AssistantTurn(parts):
            for part in parts:
                match part:
                    case Text(text) | Thinking(text):
                        yield text
                    case ToolCall(name=name, arguments=arguments):
                        yield name
                        yield arguments


class Measure(Protocol):
    """How long a prompt is that holds these turns."""

    def tokens(self, turns: Sequence[Turn]) -> int: ...

    def characters(self, turns: Sequence[Turn]) -> int: ...


def shorten_results(
    turns: Sequence[Turn],
    measure: Measure,
    *,
    most: int,
    least: int,
    among: slice = slice(None),
) -> tuple[Turn, ...]:
    """The turns with the longest results cut, so that there are `most` tokens; none of them is cut
    below `least` characters, and only those `among` the turns."""
    turns = tuple(turns)
    lengths = [
        len(result.content)
        for turn in turns[among]
        if isinstance(turn, ToolResults)
        for result in turn.results
    ]
    room, length = sum(lengths), max(lengths, default=0)
    found, tokens = turns, measure.tokens(turns)
    while tokens > most and length > least:
        # Marks have characters too, so that once may not be enough.
        room -= max(-(-(tokens - most) * measure.characters(found) // tokens), 1)
        length = max(even_length(lengths, room), least)
        found = with_results_cut(turns, length, among=among)
        tokens = measure.tokens(found)
    return found


def with_results_cut(
    turns: Sequence[Turn], length: int, *, among: slice = slice(None)
) -> tuple[Turn, ...]:
    """The turns with no result among them longer than that."""
    found = list(turns)
    found[among] = [_cut(turn, length) for turn in found[among]]
    return tuple(found)


def even_length(lengths: Sequence[int], room: int) -> int:
    """The greatest length to which all must be cut to fit into the room together."""
    for index, length in enumerate(sorted(lengths)):
        share = room // (len(lengths) - index)
        if length > share:
            return share
        room -= length
    return max(lengths, default=0)


def without_middle(text: str, length: int, mark: str) -> str:
    """The text with a mark in place of its middle, of that length together; a third of what is
    kept is its end."""
    if len(text) <= length:
        return text
    return _around(mark, text, kept=length - len(mark))


def _cut(turn: Turn, length: int) -> Turn:
    if not isinstance(turn, ToolResults):
        return turn
    if all(len(result.content) <= length for result in turn.results):
        return turn
    return ToolResults(
        tuple(replace(result, content=_marked(result.content, length)) for result in turn.results)
    )


def _marked(text: str, length: int) -> str:
    longest = MARK.format(len(text))
    if len(text) <= max(length, len(longest)):
        return text
    kept = max(length - len(longest), 0)
    return _around(MARK.format(len(text) - kept), text, kept=kept)


def _around(mark: str, text: str, *, kept: int) -> str:
    return text[: kept - kept // 3] + mark + text[len(text) - kept // 3 :]
