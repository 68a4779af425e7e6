"""The parts of an answer as a document scripts them, whole or as pieces of a stream."""

from collections.abc import Iterator, Sequence
from typing import Annotated, Any, TypeAlias

from pydantic import (
    BeforeValidator,
    Field,
    JsonValue,
    SerializerFunctionWrapHandler,
    WrapSerializer,
)

from scenarios_app.engine.shapes import (
    Document,
    Finding,
    expected,
    reads_string,
    refuse,
    writes_string,
)
from scenarios_app.engine.shapes.fields import Flag, SomeText, Text, ToolFault, Whole

Redacted: TypeAlias = Annotated[
    bool | Annotated[str, Field(min_length=1)],
    expected("true, false or a string of at least one character"),
]
_KINDS = ("text", "reasoning", "tool_call", "refusal")


class ReasoningDocument(Document):
    """A block of thinking."""

    text: Text | None = None
    """What is thought."""
    signature: Text | None = None
    """Given to the client as it is, for it to send back."""
    redacted: Redacted | None = None
    """The encrypted form of thinking that is not shown; `true` says that `text` is that form."""

    def findings(self) -> Iterator[Finding]:
        return _hidden_or_shown(self.redacted, self.text, "text")


class ToolResultDocument(Document):
    """What a tool gave back, or what came in place of that. A plain string means `text`."""

    text: Text = ""
    """The result, as a model reads it."""
    is_error: Flag = False
    """Whether it tells of a failure."""
    fault: ToolFault | None = None
    """In place of a result: `timeout`, no answer at all, or `disconnect`, the connection's end."""
    ms: Whole = 0
    """Milliseconds that the call took."""

    def findings(self) -> Iterator[Finding]:
        if self.fault is not None:
            extra = [key for key in ("text", "is_error") if getattr(self, key)]
            yield from (((key,), "cannot stand beside fault") for key in extra)


ToolResult: TypeAlias = Annotated[
    ToolResultDocument, reads_string(ToolResultDocument, "text"), writes_string("text")
]


class ToolCallDocument(Document):
    """A call of a tool."""

    id: SomeText | None = None
    """Without it the call gets one, the same for the same requests."""
    name: SomeText
    """The tool's name."""
    arguments: JsonValue = Field(default_factory=dict)
    """Any JSON. A string is sent as it stands, so that broken arguments can be scripted."""
    result: ToolResult | None = None
    """What the tool gave back. `mockllm mcp` answers the call with it; no model says it."""


class ToolCallPieceDocument(Document):
    """A piece of a streamed tool call: the first names the tool, later ones have its index."""

    index: Whole | None = None
    """Which of the answer's calls, from 0."""
    id: SomeText | None = None
    """The call's id, in its first piece; without it the call gets one."""
    name: SomeText | None = None
    """The tool's name, in the call's first piece."""
    arguments: JsonValue = None
    """More of the arguments' text."""


class PartDocument(Document):
    """One part of an answer, of exactly one kind."""

    text: Text | None = None
    """What is said."""
    reasoning: Text | None = None
    """What is thought."""
    signature: Text | None = None
    """Of the reasoning: given to the client as it is, for it to send back."""
    redacted: Redacted | None = None
    """The encrypted form of reasoning that is not shown; `true` if `reasoning` is that form."""
    tool_call: ToolCallDocument | None = None
    """A tool that is called."""
    refusal: Text | None = None
    """What is said in declining."""

    def findings(self) -> Iterator[Finding]:
        given = [kind for kind in _KINDS if getattr(self, kind) is not None]
        if self.redacted and "reasoning" not in given:
            given.append("reasoning")
        if len(given) != 1:
            yield (), f"expected exactly one of {', '.join(_KINDS)}"
        elif given != ["reasoning"]:
            extra = [key for key in ("signature", "redacted") if getattr(self, key) is not None]
            yield from (((key,), "belongs to reasoning") for key in extra)
        else:
            yield from _hidden_or_shown(self.redacted, self.reasoning, "reasoning")


class ChunkDocument(PartDocument):
    """One delta of a stream, of exactly one kind. A plain string means `text`."""

    tool_call: ToolCallPieceDocument | None = None  # type: ignore[assignment]
    """The beginning of a tool call, or more of its arguments."""


def findings_of_chunks(chunks: Sequence[ChunkDocument]) -> Iterator[Finding]:
    """What keeps chunks from being joined to one answer."""
    begun = 0
    for number, chunk in enumerate(chunks):
        if chunk.tool_call is not None:
            first = chunk.tool_call.name is not None
            found = _begins(chunk.tool_call, begun) if first else _goes_on(chunk.tool_call, begun)
            yield from (((number, "tool_call", key), text) for key, text in found)
            begun += first


def _begins(piece: ToolCallPieceDocument, begun: int) -> Iterator[tuple[str, str]]:
    if piece.index not in (None, begun):
        yield "index", f"expected {begun}: a piece with a name begins a call"


def _goes_on(piece: ToolCallPieceDocument, begun: int) -> Iterator[tuple[str, str]]:
    if piece.index is None:
        yield "index", "missing: a piece without a name goes on with a call"
    elif piece.index >= begun:
        yield "name", f"missing: this is the first piece of call {piece.index}"
    if piece.id is not None:
        yield "id", "belongs to the first piece of a call"
    if not isinstance(piece.arguments, str):
        yield "arguments", "expected a string: a piece of the arguments' text"


def _hidden_or_shown(redacted: bool | str | None, text: str | None, key: str) -> Iterator[Finding]:
    if redacted is True and not text:
        yield (key,), "expected the encrypted form, since redacted is true"
    elif text is None and not redacted:
        yield (key,), "missing"


def _as_reasoning(value: object) -> object:
    if isinstance(value, str):
        return [{"text": value}]
    if not isinstance(value, list):
        refuse([((), "expected a string or a list")])
    return value


def _shortest_reasoning(blocks: Any, handler: SerializerFunctionWrapHandler) -> Any:
    match handler(blocks):
        case [{"text": text, **others}] if not others:
            return text
        case written:
            return written


Chunk: TypeAlias = Annotated[
    ChunkDocument, reads_string(ChunkDocument, "text"), writes_string("text")
]
Reasoning: TypeAlias = Annotated[
    list[ReasoningDocument],
    BeforeValidator(_as_reasoning, json_schema_input_type=str | list[ReasoningDocument]),
    WrapSerializer(_shortest_reasoning),
]
