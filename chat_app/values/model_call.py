"""A model call, independent of providers: the request and its events."""

from collections.abc import Iterator, Mapping
from typing import Any, TypeAlias

from msgspec import Struct

from chat_app.values.events import ToolCall


class ThinkingPart(Struct, frozen=True):
    """A model's thinking, or a streamed piece of it. `signature` closes it, and is sent back to
    its provider unchanged; `redacted` is encrypted thinking in place of a text."""

    text: str = ""
    signature: str = ""
    redacted: str = ""


class TextPart(Struct, frozen=True):
    """Text in an answer, or a streamed piece of it."""

    text: str


AssistantPart: TypeAlias = ThinkingPart | TextPart | ToolCall


class UserTurn(Struct, frozen=True):
    """A message of the user."""

    text: str


class AssistantTurn(Struct, frozen=True):
    """The answer of one model call. If it has tool calls, its ToolResults follow."""

    parts: tuple[AssistantPart, ...]


class ToolOutput(Struct, frozen=True):
    """The result of one tool call, for the next prompt."""

    tool_call_id: str
    name: str
    content: str
    is_error: bool = False


class ToolResults(Struct, frozen=True):
    """The results of all calls in the turn before, in their order."""

    results: tuple[ToolOutput, ...]


Turn: TypeAlias = UserTurn | AssistantTurn | ToolResults


class Tool(Struct, frozen=True):
    """A tool offered to a model; `input_schema` is the JSON Schema of its arguments."""

    name: str
    description: str
    input_schema: Mapping[str, Any]


class ModelRequest(Struct, frozen=True):
    """One request to a model. `thinking_budget` is in tokens, None for no thinking; `max_tokens`
    None is the provider's limit (for Anthropic, 4,096 plus the budget)."""

    model: str
    turns: tuple[Turn, ...]
    system_prompt: str = ""
    temperature: float | None = None
    max_tokens: int | None = None
    thinking_budget: int | None = None
    tools: tuple[Tool, ...] = ()


class CallStarted(Struct, frozen=True):
    """A tool call has started; its `id` is the provider's, or one that the client made."""

    id: str
    name: str


class CallArguments(Struct, frozen=True):
    """A piece of the JSON text of a call's arguments."""

    id: str
    text: str


class Finished(Struct, frozen=True):
    """The provider has ended the answer. `reason`: stop, length, tool_calls, content_filter or
    another one of the provider. Tokens are 0 if it reported none."""

    reason: str
    input_tokens: int = 0
    output_tokens: int = 0


class Usage(Struct, frozen=True):
    """Tokens counted so far, before the end; 0 if the provider reported none."""

    input_tokens: int = 0
    output_tokens: int = 0


ProviderEvent: TypeAlias = TextPart | ThinkingPart | CallStarted | CallArguments | Usage | Finished
ProviderEvents: TypeAlias = Iterator[ProviderEvent]
