"""The parts that messages and answers are made of, and the events an answer streams as.

These are pure values. A wire turns a provider's JSON into parts and parts into a provider's JSON;
nothing between the two knows which provider it is.
"""

from typing import Literal, TypeAlias

import msgspec

FinishReason: TypeAlias = Literal["stop", "length", "tool_calls", "content_filter", "stop_sequence"]


class Citation(msgspec.Struct, frozen=True, gc=False):
    """A source that a text names, and the words of it that are cited."""

    url: str
    title: str | None = None
    cited_text: str = ""


class TextPart(msgspec.Struct, frozen=True, gc=False):
    """Prose. A wire without citations says the text alone."""

    text: str
    citations: tuple[Citation, ...] = ()


class ReasoningPart(msgspec.Struct, frozen=True, gc=False):
    """Thinking. `signature` goes back to the provider unread; `redacted` is its encrypted form."""

    text: str
    signature: str | None = None
    redacted: str | None = None


class ToolCallPart(msgspec.Struct, frozen=True, gc=False):
    """A call of a tool. `arguments` is JSON text exactly as it is sent, whole or broken."""

    id: str
    name: str
    arguments: str


class ServerToolUsePart(msgspec.Struct, frozen=True, gc=False):
    """A call of a tool that the provider runs itself. `input` is the JSON text of an object."""

    id: str
    name: str
    input: str


class ServerToolResultPart(msgspec.Struct, frozen=True, gc=False):
    """What the provider's own tool gave back, as JSON text; or `error_code`, why it did not."""

    tool_use_id: str
    name: str
    content: str
    error_code: str | None = None


class RefusalPart(msgspec.Struct, frozen=True, gc=False):
    text: str


class ToolResultPart(msgspec.Struct, frozen=True, gc=False):
    """What a tool gave back. `name` is its call's where the wire does not repeat it."""

    tool_call_id: str
    name: str
    content: str
    is_error: bool = False


class OpaquePart(msgspec.Struct, frozen=True, gc=False):
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


class Chunk(msgspec.Struct, frozen=True, gc=False):
    """One explicit stream delta: `text` continues part number `part` of its choice."""

    part: int
    text: str


class PartStart(msgspec.Struct, frozen=True, gc=False):
    """Part `index` of choice `choice` begins; `part` is all of it, for its id, name and kind."""

    choice: int
    index: int
    part: AnswerPart


class PartDelta(msgspec.Struct, frozen=True, gc=False):
    """More text of part `index`: prose, thinking, refusal or arguments, by the kind of `part`."""

    choice: int
    index: int
    part: AnswerPart
    text: str


class PartEnd(msgspec.Struct, frozen=True, gc=False):
    choice: int
    index: int
    part: AnswerPart


class Finish(msgspec.Struct, frozen=True, gc=False):
    """A choice is complete. Sent once per choice, after all of its parts."""

    choice: int
    reason: FinishReason
    stop_sequence: str | None = None


StreamEvent: TypeAlias = PartStart | PartDelta | PartEnd | Finish
