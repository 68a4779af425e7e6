"""How many tokens a prompt has: four characters each, or counted where the `tokens` extra is there.

An estimate is enough to tell when a conversation grows too long. Counting knows the vocabularies
of the models below; every other model is estimated.
"""

import importlib
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache
from typing import Any, Final, TypeAlias

from chat_app.values.cleaning import whole_characters
from chat_app.values.events import ToolCall
from chat_app.values.request import AssistantTurn, Text, Thinking, Tool, ToolResults, Turn, UserTurn

Count: TypeAlias = Callable[[Iterable[str]], int]

CHARACTERS_PER_TOKEN: Final = 4
# By the beginning of a model's name, the first that fits.
VOCABULARIES: Final = (
    ("gpt-4o", "o200k_base"),
    ("gpt-4.1", "o200k_base"),
    ("gpt-5", "o200k_base"),
    ("o1", "o200k_base"),
    ("o3", "o200k_base"),
    ("o4", "o200k_base"),
    ("gpt-4", "cl100k_base"),
    ("gpt-3.5", "cl100k_base"),
)


def estimate(texts: Iterable[str]) -> int:
    return -(-sum(map(len, texts)) // CHARACTERS_PER_TOKEN)


def counter(model_id: str) -> Count:
    """The best count that there is for a model, `openai/gpt-4o` and the like included."""
    name = model_id.rpartition("/")[2]
    for beginning, vocabulary in VOCABULARIES:
        if name.startswith(beginning):
            return _exact(vocabulary) or estimate
    return estimate


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


@lru_cache
def _exact(vocabulary: str) -> Count | None:
    try:
        splintr: Any = importlib.import_module("splintr")
    except ImportError:
        return None
    encode: Callable[[str], Sequence[int]] = splintr.Tokenizer.from_pretrained(vocabulary).encode

    def count(texts: Iterable[str]) -> int:
        return sum(len(encode(whole_characters(text))) for text in texts)

    return count
