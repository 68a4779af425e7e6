"""A request to a model before any provider's words: what is sent, as values."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from chat_app.values.events import ToolCall


@dataclass(frozen=True, slots=True)
class Thinking:
    """What a model thought. `signature` is its provider's seal, sent back as it came; `redacted`
    holds what the provider encrypted in place of a text."""

    text: str = ""
    signature: str = ""
    redacted: str = ""


@dataclass(frozen=True, slots=True)
class Text:
    text: str


AssistantPart: TypeAlias = Thinking | Text | ToolCall


@dataclass(frozen=True, slots=True)
class UserTurn:
    text: str


@dataclass(frozen=True, slots=True)
class AssistantTurn:
    """One answer of a model call. One with tool calls is always followed by its ToolResults."""

    parts: tuple[AssistantPart, ...]


@dataclass(frozen=True, slots=True)
class Result:
    tool_call_id: str
    name: str
    content: str
    is_error: bool = False


@dataclass(frozen=True, slots=True)
class ToolResults:
    """The results of all calls of the turn before, in the order of the calls."""

    results: tuple[Result, ...]


Turn: TypeAlias = UserTurn | AssistantTurn | ToolResults


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool that is offered; `input_schema` is the JSON Schema of its arguments."""

    name: str
    description: str
    input_schema: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class ModelRequest:
    """`thinking_budget` is in tokens; None asks for no thinking. `max_tokens` None leaves the limit
    to the provider (Anthropic demands one: 4,096 and the budget)."""

    model: str
    turns: tuple[Turn, ...]
    system_prompt: str = ""
    temperature: float | None = None
    max_tokens: int | None = None
    thinking_budget: int | None = None
    tools: tuple[Tool, ...] = ()
