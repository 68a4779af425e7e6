"""The parts of a scripted answer, whole or as chunks of a stream."""

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
    dump_as_string,
    expected,
    parse_from_string,
    refuse,
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
        return _check_redacted(self.redacted, self.text, "text")


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
    ToolResultDocument, parse_from_string(ToolResultDocument, "text"), dump_as_string("text")
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
        kinds = [kind for kind in _KINDS if getattr(self, kind) is not None]
        if self.redacted and "reasoning" not in kinds:
            kinds.append("reasoning")
        if len(kinds) != 1:
            yield (), f"expected exactly one of {', '.join(_KINDS)}"
        elif kinds != ["reasoning"]:
            extra = [key for key in ("signature", "redacted") if getattr(self, key) is not None]
            yield from (((key,), "belongs to reasoning") for key in extra)
        else:
            yield from _check_redacted(self.redacted, self.reasoning, "reasoning")


class ChunkDocument(PartDocument):
    """One delta of a stream, of exactly one kind. A plain string means `text`."""

    tool_call: ToolCallPieceDocument | None = None  # type: ignore[assignment]
    """The beginning of a tool call, or more of its arguments."""


def check_chunks(chunks: Sequence[ChunkDocument]) -> Iterator[Finding]:
    """Yield the problems that prevent joining chunks to one answer."""
    calls_begun = 0
    for number, chunk in enumerate(chunks):
        if chunk.tool_call is not None:
            first = chunk.tool_call.name is not None
            findings = (
                _check_first_piece(chunk.tool_call, calls_begun)
                if first
                else _check_later_piece(chunk.tool_call, calls_begun)
            )
            yield from (((number, "tool_call", key), text) for key, text in findings)
            calls_begun += first


def _check_first_piece(piece: ToolCallPieceDocument, calls_begun: int) -> Iterator[tuple[str, str]]:
    if piece.index not in (None, calls_begun):
        yield "index", f"expected {calls_begun}: a piece with a name begins a call"


def _check_later_piece(piece: ToolCallPieceDocument, calls_begun: int) -> Iterator[tuple[str, str]]:
    if piece.index is None:
        yield "index", "missing: a piece without a name goes on with a call"
    elif piece.index >= calls_begun:
        yield "name", f"missing: this is the first piece of call {piece.index}"
    if piece.id is not None:
        yield "id", "belongs to the first piece of a call"
    if not isinstance(piece.arguments, str):
        yield "arguments", "expected a string: a piece of the arguments' text"


def _check_redacted(redacted: bool | str | None, text: str | None, key: str) -> Iterator[Finding]:
    if redacted is True and not text:
        yield (key,), "expected the encrypted form, since redacted is true"
    elif text is None and not redacted:
        yield (key,), "missing"


def _to_reasoning_blocks(value: object) -> object:
    if isinstance(value, str):
        return [{"text": value}]
    if not isinstance(value, list):
        refuse([((), "expected a string or a list")])
    return value


def _dump_reasoning(blocks: Any, handler: SerializerFunctionWrapHandler) -> Any:
    match handler(blocks):
        case [{"text": text, **others}] if not others:
            return text
        case dumped:
            return dumped


Chunk: TypeAlias = Annotated[
    ChunkDocument, parse_from_string(ChunkDocument, "text"), dump_as_string("text")
]
Reasoning: TypeAlias = Annotated[
    list[ReasoningDocument],
    BeforeValidator(_to_reasoning_blocks, json_schema_input_type=str | list[ReasoningDocument]),
    WrapSerializer(_dump_reasoning),
]
