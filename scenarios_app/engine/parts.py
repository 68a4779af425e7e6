"""The parts of messages and answers, and the events as which an answer streams. These are pure
values. A wire converts between a provider's JSON and parts; nothing else knows the provider."""

from typing import Literal, TypeAlias

import msgspec

FinishReason: TypeAlias = Literal["stop", "length", "tool_calls", "content_filter", "stop_sequence"]

# The argument in which a function gets what is scripted as the input of a custom tool.
INPUT = "input"
# The name of the use that lists the tools of an MCP server.
LIST_MCP_TOOLS = "mcp_list_tools"

SourceUnit: TypeAlias = Literal["chars", "pages", "blocks"]


class Citation(msgspec.Struct, frozen=True, gc=False):
    """A source of a text and the words cited from it: a web page, or else a `document` by its name.

    `span` is the range of characters of the text that it supports, if known. `place` is the range
    of the cited words in the document, in `unit`; `document_index` is its number in the request.
    """

    url: str = ""
    title: str | None = None
    cited_text: str = ""
    document: str = ""
    document_index: int = 0
    file_id: str = ""
    span: tuple[int, int] | None = None
    unit: SourceUnit = "chars"
    place: tuple[int, int] = (0, 0)

    def span_in(self, text: str) -> tuple[int, int]:
        """Return the range of a text that it supports: its own, else that of the cited words, or
        the whole text if they are not in it."""
        if self.span is not None:
            return self.span
        start = text.find(self.cited_text) if self.cited_text else -1
        return (0, len(text)) if start < 0 else (start, start + len(self.cited_text))


class TextPart(msgspec.Struct, frozen=True, gc=False):
    """Prose, or the text of a JSON value. A wire without citations sends only the text."""

    text: str
    citations: tuple[Citation, ...] = ()
    is_json: bool = False


class ReasoningPart(msgspec.Struct, frozen=True, gc=False):
    """Reasoning. `signature` is opaque to clients; `redacted` is the encrypted form."""

    text: str
    signature: str | None = None
    redacted: str | None = None


class ToolCallPart(msgspec.Struct, frozen=True, gc=False):
    """A call of a tool. `arguments` is JSON text as sent, valid or broken, or a `custom` tool's
    input. `namespace` is the tool's, empty if it has none."""

    id: str
    name: str
    arguments: str
    custom: bool = False
    namespace: str = ""

    @property
    def full_name(self) -> str:
        """The name after the namespace, for people."""
        return f"{self.namespace}.{self.name}" if self.namespace else self.name


class ServerToolUsePart(msgspec.Struct, frozen=True, gc=False):
    """A call of a tool that the provider runs itself. `input` is the JSON text of an object.
    `server` is the label of the MCP server whose tool it is, empty if it is none's."""

    id: str
    name: str
    input: str
    server: str = ""


class ServerToolResultPart(msgspec.Struct, frozen=True, gc=False):
    """The result of a provider's tool as JSON text, or the `error_code` of its failure."""

    tool_use_id: str
    name: str
    content: str
    error_code: str | None = None
    server: str = ""


class RefusalPart(msgspec.Struct, frozen=True, gc=False):
    text: str


class ToolResultPart(msgspec.Struct, frozen=True, gc=False):
    """The result of a tool. `name` is the tool's, taken from its call if the wire omits it."""

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
"""Parts that chunks can script."""
AnswerPart: TypeAlias = ScriptedPart | ServerToolUsePart | ServerToolResultPart


def streamed_text(part: AnswerPart) -> str:
    """Return the text that a part streams in deltas: prose or arguments. It is empty for the result
    of a server tool, which is sent whole."""
    match part:
        case ToolCallPart():
            return part.arguments
        case ServerToolUsePart():
            return part.input
        case ServerToolResultPart():
            return ""
        case _:
            return part.text


def produced_text(part: AnswerPart) -> str:
    """Return all text of a part that counts as output: prose, or a call's name and arguments."""
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
