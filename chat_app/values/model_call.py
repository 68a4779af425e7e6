"""A model call before any provider's words, as values: what is sent, the six kinds of event that
come back, and the interface of a client."""

from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias

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


@dataclass(frozen=True, slots=True)
class TextPiece:
    text: str


@dataclass(frozen=True, slots=True)
class ThinkingPiece:
    """A piece of native thinking. `signature` and `redacted` close the block that they come in."""

    text: str = ""
    signature: str = ""
    redacted: str = ""


@dataclass(frozen=True, slots=True)
class CallBegun:
    """A tool call began. `id` is never empty and unique in the answer: a provider that gives none
    gets one from the client."""

    id: str
    name: str


@dataclass(frozen=True, slots=True)
class CallArguments:
    """A piece of the JSON text of a call's arguments."""

    id: str
    text: str


@dataclass(frozen=True, slots=True)
class Finished:
    """The provider's terminal marker was seen. `reason`: stop, length, tool_calls,
    content_filter or what else the provider said. Tokens are 0 where it told none."""

    reason: str
    input_tokens: int = 0
    output_tokens: int = 0


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens that the provider has counted so far, sent before its end. 0 where it told none."""

    input_tokens: int = 0
    output_tokens: int = 0


ProviderEvent: TypeAlias = TextPiece | ThinkingPiece | CallBegun | CallArguments | Usage | Finished


__all__ = [
    "CallArguments",
    "CallBegun",
    "Finished",
    "LlmClient",
    "ProviderEvent",
    "TextPiece",
    "ThinkingPiece",
    "Usage",
]


class LlmClient(Protocol):
    """One provider, one profile's address and key."""

    def stream(self, request: ModelRequest) -> AsyncIterator[ProviderEvent]:
        """The events of one model call, in true order; `Finished` comes once, last.

        Raises ChatError: for what the provider or the network says, and for a stream that ends
        without its provider's terminal marker. Closing the iterator, or cancelling the task that
        reads it, closes the provider's socket.
        """
        ...

    async def aclose(self) -> None:
        """Give back connections."""
        ...
