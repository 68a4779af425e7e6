"""Estimates the length of a prompt, at four characters a token, and cuts long results of tools.
Results lose their middles, no more than necessary; stored results stay whole."""

import json
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from msgspec.structs import replace

from chat_app.values import model_call as llm
from chat_app.values.events import ToolCall

CUT_MARK: Final = "[… {:,} characters left out …]"
CHARACTERS_PER_TOKEN: Final = 4


def estimate_tokens(texts: Iterable[str]) -> int:
    """Return the tokens of texts, at CHARACTERS_PER_TOKEN characters each, rounded up."""
    return -(-sum(map(len, texts)) // CHARACTERS_PER_TOKEN)


def prompt_texts(
    system_prompt: str, tools: Iterable[llm.Tool], turns: Iterable[llm.Turn]
) -> Iterator[str]:
    """Yield all texts of a prompt, the tools' schemas too, whose characters count as tokens."""
    yield system_prompt
    for tool in tools:
        yield tool.name
        yield tool.description
        yield json.dumps(tool.input_schema, ensure_ascii=False, separators=(",", ":"))
    for turn in turns:
        yield from _texts_of_turn(turn)


def _texts_of_turn(turn: llm.Turn) -> Iterator[str]:
    match turn:
        case llm.UserTurn(text):
            yield text
        case llm.ToolResults(results):
            yield from (result.content for result in results)
        case llm.AssistantTurn(parts):
            for part in parts:
                match part:
                    case llm.TextPart(text) | llm.ThinkingPart(text):
                        yield text
                    case ToolCall(name=name, arguments=arguments):
                        yield name
                        yield arguments


def cut_results(
    turns: Sequence[llm.Turn], length: int, *, among: slice = slice(None)
) -> tuple[llm.Turn, ...]:
    """Return the turns with results in the slice `among` cut to `length` characters."""
    shortened = list(turns)
    shortened[among] = [_cut_results_of_turn(turn, length) for turn in shortened[among]]
    return tuple(shortened)


def even_length(lengths: Sequence[int], room: int) -> int:
    """Return the largest length such that all lengths, cut to it, add up to at most `room`."""
    for index, length in enumerate(sorted(lengths)):
        share = room // (len(lengths) - index)
        if length > share:
            return share
        room -= length
    return max(lengths, default=0)


def cut_middle(text: str, length: int, mark: str) -> str:
    """Return the text cut to `length` characters, at least those of `mark`, which replaces its
    middle; a third of the rest is its end."""
    if len(text) <= length:
        return text
    return _replace_middle(mark, text, room=length - len(mark))


def _cut_results_of_turn(turn: llm.Turn, length: int) -> llm.Turn:
    if not isinstance(turn, llm.ToolResults):
        return turn
    if all(len(result.content) <= length for result in turn.results):
        return turn
    return llm.ToolResults(
        tuple(
            replace(result, content=_cut_result(result.content, length)) for result in turn.results
        )
    )


def _cut_result(text: str, length: int) -> str:
    """Return the result cut to `length` characters, with a mark in it; at least the mark stays."""
    longest = CUT_MARK.format(len(text))
    if len(text) <= max(length, len(longest)):
        return text
    room = max(length - len(longest), 0)
    return _replace_middle(CUT_MARK.format(len(text) - room), text, room=room)


def _replace_middle(mark: str, text: str, *, room: int) -> str:
    """Return the text with a mark in place of its middle; `room` characters of it stay."""
    return text[: room - room // 3] + mark + text[len(text) - room // 3 :]
