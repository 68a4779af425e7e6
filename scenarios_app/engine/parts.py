"""The parts that messages and answers are made of, and the events an answer streams as.

These are pure values. A wire turns a provider's JSON into parts and parts into a provider's JSON;
nothing between the two knows which provider it is.
"""

from dataclasses import dataclass
from typing import Literal, TypeAlias

FinishReason: TypeAlias = Literal["stop", "length", "tool_calls", "content_filter", "stop_sequence"]


@dataclass(frozen=True, slots=True)
class Citation:
    """A source that a text names, and the words of it that are cited."""

    url: str
    title: str | None = None
    cited_text: str = ""


@dataclass(frozen=True, slots=True)
class TextPart:
    """Prose. A wire without citations says the text alone."""

    text: str
    citations: tuple[Citation, ...] = ()


@dataclass(frozen=True, slots=True)
class ReasoningPart:
    """Thinking. `signature` goes back to the provider unread; `redacted` is its encrypted form."""

    text: str
    signature: str | None = None
    redacted: str | None = None


@dataclass(frozen=True, slots=True)
class ToolCallPart:
    """A call of a tool. `arguments` is JSON text exactly as it is sent, whole or broken."""

    id: str
    name: str
    arguments: str


@dataclass(frozen=True, slots=True)
class ServerToolUsePart:
    """A call of a tool that the provider runs itself. `input` is the JSON text of an object."""

    id: str
    name: str
    input: str


@dataclass(frozen=True, slots=True)
class ServerToolResultPart:
    """What the provider's own tool gave back, as JSON text; or `error_code`, why it did not."""

    tool_use_id: str
    name: str
    content: str
    error_code: str | None = None


@dataclass(frozen=True, slots=True)
class RefusalPart:
    text: str


@dataclass(frozen=True, slots=True)
class ToolResultPart:
    """What a tool gave back. `name` is its call's where the wire does not repeat it."""

    tool_call_id: str
    name: str
    content: str
    is_error: bool = False


@dataclass(frozen=True, slots=True)
class OpaquePart:
    """An image, audio, file or anything else that is carried but never read."""

    kind: str


MessagePart: TypeAlias = (
    TextPart | ReasoningPart | ToolCallPart | ToolResultPart | RefusalPart | OpaquePart
)
ScriptedPart: TypeAlias = TextPart | ReasoningPart | ToolCallPart | RefusalPart
"""What a scenario document can say."""
AnswerPart: TypeAlias = ScriptedPart | ServerToolUsePart | ServerToolResultPart


def streamed_text(part: AnswerPart) -> str:
    """What a part streams in deltas: its prose or its arguments. A result comes in one piece."""
    match part:
        case ToolCallPart():
            return part.arguments
        case ServerToolUsePart():
            return part.input
        case ServerToolResultPart():
            return ""
        case _:
            return part.text


def held_text(part: AnswerPart) -> str:
    """Everything that a part says, which counts as produced text."""
    match part:
        case ToolCallPart():
            return part.name + part.arguments
        case ServerToolUsePart():
            return part.name + part.input
        case ServerToolResultPart():
            return part.content
        case _:
            return part.text


@dataclass(frozen=True, slots=True)
class Chunk:
    """One explicit stream delta: `text` continues part number `part` of its choice."""

    part: int
    text: str


@dataclass(frozen=True, slots=True)
class PartStart:
    """Part `index` of choice `choice` begins; `part` is all of it, for its id, name and kind."""

    choice: int
    index: int
    part: AnswerPart


@dataclass(frozen=True, slots=True)
class PartDelta:
    """More text of part `index`: prose, thinking, refusal or arguments, by the kind of `part`."""

    choice: int
    index: int
    part: AnswerPart
    text: str


@dataclass(frozen=True, slots=True)
class PartEnd:
    choice: int
    index: int
    part: AnswerPart


@dataclass(frozen=True, slots=True)
class Finish:
    """A choice is complete. Sent once per choice, after all of its parts."""

    choice: int
    reason: FinishReason
    stop_sequence: str | None = None


StreamEvent: TypeAlias = PartStart | PartDelta | PartEnd | Finish
