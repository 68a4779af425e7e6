"""What a provider says, before it is cleaned: five kinds of event, the same for all of them."""

from dataclasses import dataclass
from typing import TypeAlias


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


ProviderEvent: TypeAlias = TextPiece | ThinkingPiece | CallBegun | CallArguments | Finished
