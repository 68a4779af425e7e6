"""How many tokens a prompt has: four characters each, which is enough to tell when a conversation
grows too long."""

import json
from collections.abc import Iterable, Iterator
from typing import Final

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
