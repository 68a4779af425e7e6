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
    of the cited words in the document, in `unit`; `document_index` is the document's number in the
    request, from 0. The ends of both ranges are exclusive.
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
        """Return the start and the exclusive end of the characters of a text that it supports: its
        `span`, else the first occurrence of the cited words, else the whole text."""
        if self.span is not None:
            return self.span
        start = text.find(self.cited_text) if self.cited_text else -1
        return (0, len(text)) if start < 0 else (start, start + len(self.cited_text))


class TextPart(msgspec.Struct, frozen=True, gc=False):
    """Prose, or the text of a JSON value if `is_json`. Wires without citations leave them out."""

    text: str
    citations: tuple[Citation, ...] = ()
    is_json: bool = False


class ReasoningPart(msgspec.Struct, frozen=True, gc=False):
    """Reasoning. `signature` is opaque to clients; `redacted` is the encrypted reasoning."""

    text: str
    signature: str | None = None
    redacted: str | None = None


class ToolCallPart(msgspec.Struct, frozen=True, gc=False):
    """A call of one of the client's tools. `arguments` is JSON text as sent, valid or broken, or
    the input of a `custom` tool. `namespace` is the tool's, empty if it has none."""

    id: str
    name: str
    arguments: str
    custom: bool = False
    namespace: str = ""

    @property
    def full_name(self) -> str:
        """The name for people: `namespace.name`, or the name alone without a namespace."""
        return f"{self.namespace}.{self.name}" if self.namespace else self.name


class ServerToolUsePart(msgspec.Struct, frozen=True, gc=False):
    """A call of a tool that the provider runs itself. `input` is the JSON text of an object.
    `server` is the label of the MCP server that has the tool, empty for other tools."""

    id: str
    name: str
    input: str
    server: str = ""


class ServerToolResultPart(msgspec.Struct, frozen=True, gc=False):
    """The result of a ServerToolUsePart as JSON text, or the `error_code` of its failure."""

    tool_use_id: str
    name: str
    content: str
    error_code: str | None = None
    server: str = ""


class RefusalPart(msgspec.Struct, frozen=True, gc=False):
    """The text of a model's refusal, which some APIs send apart from other text."""

    text: str


class ToolResultPart(msgspec.Struct, frozen=True, gc=False):
    """A client's result of a tool call. `name` is the tool's, taken from the call if not sent."""

    tool_call_id: str
    name: str
    content: str
    is_error: bool = False


class OpaquePart(msgspec.Struct, frozen=True, gc=False):
    """An image, audio, file or other content that is not read: only its `kind` is stored."""

    kind: str


MessagePart: TypeAlias = (
    TextPart | ReasoningPart | ToolCallPart | ToolResultPart | RefusalPart | OpaquePart
)
ScriptedPart: TypeAlias = TextPart | ReasoningPart | ToolCallPart | RefusalPart
"""Parts that chunks can script."""
AnswerPart: TypeAlias = ScriptedPart | ServerToolUsePart | ServerToolResultPart


def streamed_text(part: AnswerPart) -> str:
    """Return the text that a part streams in deltas: prose, or a call's arguments. It is empty for
    the result of a server tool, which is sent whole."""
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
    """Return the text of a part that counts as output: prose, a call's name and arguments joined,
    or the result of a server tool."""
    match part:
        case ToolCallPart() | ServerToolUsePart():
            return part.name + streamed_text(part)
        case ServerToolResultPart():
            return part.content
        case _:
            return part.text


class Chunk(msgspec.Struct, frozen=True, gc=False):
    """A scripted stream delta: `text` continues the part at index `part` of its choice."""

    part: int
    text: str


class PartStart(msgspec.Struct, frozen=True, gc=False):
    """A stream event: part `index` of a choice begins. `part` is the whole part."""

    choice: int
    index: int
    part: AnswerPart


class PartDelta(msgspec.Struct, frozen=True, gc=False):
    """A stream event: `text` is more of part `index` of a choice. `part` is the whole part."""

    choice: int
    index: int
    part: AnswerPart
    text: str


class PartEnd(msgspec.Struct, frozen=True, gc=False):
    """A stream event: part `index` of a choice is complete. `part` is the whole part."""

    choice: int
    index: int
    part: AnswerPart


class Finish(msgspec.Struct, frozen=True, gc=False):
    """A stream event: a choice is complete. It comes once per choice, after all of its parts."""

    choice: int
    reason: FinishReason
    stop_sequence: str | None = None


StreamEvent: TypeAlias = PartStart | PartDelta | PartEnd | Finish
