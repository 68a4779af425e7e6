"""A model call, independent of providers: the request, its events, and the interface of clients."""

from collections.abc import AsyncGenerator, Mapping
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias

from chat_app.values.events import ToolCall


@dataclass(frozen=True, slots=True)
class ThinkingPart:
    """A model's thinking, or a streamed piece of it. `signature` closes it, and goes back to its
    provider unchanged; `redacted` is encrypted thinking in place of a text."""

    text: str = ""
    signature: str = ""
    redacted: str = ""


@dataclass(frozen=True, slots=True)
class TextPart:
    """Text in an answer, or a streamed piece of it."""

    text: str


AssistantPart: TypeAlias = ThinkingPart | TextPart | ToolCall


@dataclass(frozen=True, slots=True)
class UserTurn:
    """A message of the user."""

    text: str


@dataclass(frozen=True, slots=True)
class AssistantTurn:
    """The answer of one model call. If it has tool calls, its ToolResults follow."""

    parts: tuple[AssistantPart, ...]


@dataclass(frozen=True, slots=True)
class ToolOutput:
    """The result of one tool call, for the next prompt."""

    tool_call_id: str
    name: str
    content: str
    is_error: bool = False


@dataclass(frozen=True, slots=True)
class ToolResults:
    """The results of all calls in the turn before, in their order."""

    results: tuple[ToolOutput, ...]


Turn: TypeAlias = UserTurn | AssistantTurn | ToolResults


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool offered to a model; `input_schema` is the JSON Schema of its arguments."""

    name: str
    description: str
    input_schema: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class ModelRequest:
    """One request to a model. `thinking_budget` is in tokens, None for no thinking; `max_tokens`
    None is the provider's limit (for Anthropic, 4,096 plus the budget)."""

    model: str
    turns: tuple[Turn, ...]
    system_prompt: str = ""
    temperature: float | None = None
    max_tokens: int | None = None
    thinking_budget: int | None = None
    tools: tuple[Tool, ...] = ()


@dataclass(frozen=True, slots=True)
class CallStarted:
    """A tool call has started. `id` is unique in the answer; the client makes one if the provider
    sends none."""

    id: str
    name: str


@dataclass(frozen=True, slots=True)
class CallArguments:
    """A piece of the JSON text of a call's arguments."""

    id: str
    text: str


@dataclass(frozen=True, slots=True)
class Finished:
    """The provider has ended the answer. `reason`: stop, length, tool_calls, content_filter or
    another one of the provider. Tokens are 0 if it reported none."""

    reason: str
    input_tokens: int = 0
    output_tokens: int = 0


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens counted so far, before the end; 0 if the provider reported none."""

    input_tokens: int = 0
    output_tokens: int = 0


ProviderEvent: TypeAlias = TextPart | ThinkingPart | CallStarted | CallArguments | Usage | Finished


class LlmClient(Protocol):
    """A client for one provider, with the address and key of one profile."""

    def stream(self, request: ModelRequest) -> AsyncGenerator[ProviderEvent, None]:
        """Yield the events of one model call in order; `Finished` comes once, last.

        Raises ChatError for errors of the provider or the network, and for a stream that ends
        without the provider's terminal marker. Closing the iterator, or cancelling the task that
        reads it, closes the provider's socket.
        """
        ...

    async def aclose(self) -> None:
        """Close connections."""
        ...
