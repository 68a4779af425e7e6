"""The parts of a scripted answer, whole or as chunks of a stream."""

from collections.abc import Iterator, Sequence
from typing import Annotated, Any, ClassVar, TypeAlias

from msgspec.structs import replace
from pydantic import (
    BeforeValidator,
    Field,
    JsonValue,
    SerializerFunctionWrapHandler,
    WrapSerializer,
)

from scenarios_app.engine.canonical import compact_json, text_or_json
from scenarios_app.engine.document.citations import CitationDocument, check_citations
from scenarios_app.engine.document.hosted import HostedToolDocument
from scenarios_app.engine.parts import (
    AnswerPart,
    Chunk,
    ReasoningPart,
    RefusalPart,
    ScriptedPart,
    TextPart,
    ToolCallPart,
)
from scenarios_app.engine.shapes import (
    Document,
    KeyProblem,
    dump_as_string,
    expected,
    fields,
    parse_from_string,
    refuse,
)

Redacted: TypeAlias = Annotated[
    bool | Annotated[str, Field(min_length=1)],
    expected("true, false or a string of at least one character"),
]
JsonAnswer: TypeAlias = Annotated[JsonValue, Field(alias="json")]
_INPUT_AND_ARGUMENTS = (
    "cannot be combined with arguments: a custom tool takes input, a function arguments"
)


class ReasoningDocument(Document):
    """A block of thinking."""

    text: fields.Text | None = None
    """The text of the reasoning."""
    signature: fields.Text | None = None
    """The signature, sent unchanged, which the client sends back."""
    redacted: Redacted | None = None
    """The encrypted form of hidden reasoning; `true` if `text` is that form."""

    def find_key_problems(self) -> Iterator[KeyProblem]:
        return _check_redacted(self.redacted, self.text, "text")

    def compile(self) -> ReasoningPart:
        return _reasoning_part(self.text, self.signature, self.redacted)


class ToolResultDocument(Document):
    """The result of a tool call, or a failure. A plain string means `text`."""

    text: fields.Text = ""
    """The result's text."""
    is_error: fields.Flag = False
    """True if the result is an error."""
    fault: fields.ToolFault | None = None
    """Instead of a result: `timeout` (no response) or `disconnect` (the connection ends)."""
    ms: fields.Whole = 0
    """Duration of the call in milliseconds."""

    def find_key_problems(self) -> Iterator[KeyProblem]:
        if self.fault is not None:
            extra = [key for key in ("text", "is_error") if getattr(self, key)]
            yield from (((key,), "cannot be combined with fault") for key in extra)


ToolResult: TypeAlias = Annotated[
    ToolResultDocument, parse_from_string(ToolResultDocument, "text"), dump_as_string("text")
]


class ToolCallDocument(Document):
    """A call of a tool."""

    id: fields.SomeText | None = None
    """The call's id. By default generated, the same for the same requests."""
    name: fields.SomeText
    """The tool's name."""
    arguments: JsonValue = Field(default_factory=dict)
    """Any JSON. A string is sent unchanged, so that you can script broken arguments."""
    input: fields.Text | None = None
    """Instead of arguments: the text for a custom tool. Where the request offers the tool as a
    function, or the API has no custom tools, it is sent as the argument `input`."""
    namespace: fields.SomeText | None = None
    """The namespace of the tool. By default the one that the request declares for its name."""
    result: ToolResult | None = None
    """The result with which `mockllm mcp` answers the call. It is not part of the answer."""

    def find_key_problems(self) -> Iterator[KeyProblem]:
        if self.input is not None and "arguments" in self.model_fields_set:
            yield ("input",), _INPUT_AND_ARGUMENTS

    def compile(self) -> ToolCallPart:
        custom = self.input is not None
        text = text_or_json(self.arguments if self.input is None else self.input)
        return ToolCallPart(self.id or "", self.name, text, custom, self.namespace or "")


class ToolCallPieceDocument(Document):
    """A piece of a streamed tool call: the first names the tool, later ones have its index."""

    index: fields.Whole | None = None
    """The index of the call in the answer, from 0."""
    id: fields.SomeText | None = None
    """The call's id, in its first piece. By default generated."""
    name: fields.SomeText | None = None
    """The tool's name, in the call's first piece."""
    arguments: JsonValue = None
    """The next piece of the arguments' text."""
    input: fields.Text | None = None
    """Instead of arguments: the next piece of a custom tool's input."""
    namespace: fields.SomeText | None = None
    """The namespace of the tool, in the call's first piece."""

    @property
    def text(self) -> str:
        """The piece's text, empty if it has none."""
        more = self.arguments if self.input is None else self.input
        return "" if more is None else text_or_json(more)

    def find_key_problems(self) -> Iterator[KeyProblem]:
        if self.input is not None and self.arguments is not None:
            yield ("input",), _INPUT_AND_ARGUMENTS


class ProseDocument(Document):
    """Base of parts and chunks, of which exactly one kind is set."""

    kinds: ClassVar[tuple[str, ...]] = ("text", "reasoning", "tool_call", "refusal")
    """The attributes of which there is one."""

    text: fields.Text | None = None
    """Answer text."""
    reasoning: fields.Text | None = None
    """The text of the reasoning."""
    signature: fields.Text | None = None
    """The signature of the reasoning, sent unchanged, which the client sends back."""
    redacted: Redacted | None = None
    """The encrypted form of hidden reasoning; `true` if `reasoning` is that form."""
    tool_call: ToolCallDocument | ToolCallPieceDocument | None = None
    """A tool call."""
    refusal: fields.Text | None = None
    """The text of a refusal."""

    def find_key_problems(self) -> Iterator[KeyProblem]:
        kinds = [name for name in self.kinds if getattr(self, name) is not None]
        if self.redacted and "reasoning" not in kinds:
            kinds.append("reasoning")
        if len(kinds) != 1:
            keys = (type(self).model_fields[name].alias or name for name in self.kinds)
            yield (), f"expected exactly one of {', '.join(keys)}"
        elif kinds != ["reasoning"]:
            extra = [key for key in ("signature", "redacted") if getattr(self, key) is not None]
            yield from (((key,), "belongs to reasoning") for key in extra)
        else:
            yield from _check_redacted(self.redacted, self.reasoning, "reasoning")

    def compile_prose(self) -> TextPart | ReasoningPart | RefusalPart:
        """Return the part of a document without a tool call."""
        if self.text is not None:
            return TextPart(self.text)
        if self.refusal is not None:
            return RefusalPart(self.refusal)
        return _reasoning_part(self.reasoning, self.signature, self.redacted)


class PartDocument(ProseDocument):
    """One part of an answer, of exactly one kind."""

    kinds = (*ProseDocument.kinds, "json_value", "hosted_tool")

    tool_call: ToolCallDocument | None = None
    """A tool call."""
    json_value: JsonAnswer = None
    """Answer text: a JSON value other than null, sent as compact text."""
    citations: list[CitationDocument] = Field(default_factory=list)
    """The sources of the text."""
    hosted_tool: HostedToolDocument | None = None
    """The use of a tool that the provider runs itself, with its result."""

    def find_key_problems(self) -> Iterator[KeyProblem]:
        yield from super().find_key_problems()
        if self.text is not None:
            yield from check_citations(self.citations, self.text)
        elif self.citations:
            yield ("citations",), "belongs to text"

    def compile(self) -> Iterator[AnswerPart]:
        """Yield the part; a hosted tool is two, its use and its result."""
        if self.hosted_tool is not None:
            yield from self.hosted_tool.compile()
        elif self.tool_call is not None:
            yield self.tool_call.compile()
        elif self.json_value is not None:
            yield TextPart(compact_json(self.json_value), is_json=True)
        elif self.citations:
            yield TextPart(
                self.text or "", tuple(citation.compile() for citation in self.citations)
            )
        else:
            yield self.compile_prose()


class ChunkDocument(ProseDocument):
    """One delta of a stream, of exactly one kind. A plain string means `text`."""

    tool_call: ToolCallPieceDocument | None = None
    """The start of a tool call, or the next piece of its arguments or input."""


def check_chunks(chunks: Sequence[ChunkDocument]) -> Iterator[KeyProblem]:
    """Yield the problems that prevent joining chunks to one answer."""
    calls: list[ToolCallPieceDocument] = []
    for number, chunk in enumerate(chunks):
        if chunk.tool_call is not None:
            problems = _check_piece(chunk.tool_call, calls)
            yield from (((number, "tool_call", key), text) for key, text in problems)
            if chunk.tool_call.name is not None:
                calls.append(chunk.tool_call)


def _check_piece(
    piece: ToolCallPieceDocument, calls: Sequence[ToolCallPieceDocument]
) -> Iterator[tuple[str, str]]:
    """Yield key and text of each problem of a piece; `calls` are the first pieces so far."""
    if piece.name is not None:
        if piece.index not in (None, len(calls)):
            yield "index", f"expected {len(calls)}: a piece with a name begins a call"
        return
    key, other = "arguments", "input"
    if piece.index is None:
        yield "index", "missing: a piece without a name continues a call"
    elif piece.index >= len(calls):
        yield "name", f"missing: this is the first piece of call {piece.index}"
    elif calls[piece.index].input is not None:
        key, other = other, key
    for first_key in ("id", "namespace"):
        if getattr(piece, first_key) is not None:
            yield first_key, "belongs to the first piece of a call"
    if getattr(piece, other) is not None:
        yield other, f"the call's first piece has no {other}"
    elif not isinstance(getattr(piece, key), str):
        what = "input" if key == "input" else "arguments' text"
        yield key, f"expected a string: a piece of the {what}"


def join_chunks(
    documents: Sequence[ChunkDocument],
) -> tuple[tuple[ScriptedPart, ...], tuple[Chunk, ...]]:
    """Return the parts that stream deltas form, and the deltas as chunks of those parts.

    Prose continues the previous part of its kind; pieces of a call belong to the call of their
    index. A call without arguments in any piece needs no delta.
    """
    parts: list[ScriptedPart] = []
    calls: list[int] = []
    calls_without_arguments: set[int] = set()
    chunks: list[Chunk] = []
    for document in documents:
        match document.tool_call:
            case None:
                part = document.compile_prose()
                if parts and _can_join(parts[-1], part):
                    parts.pop()
                parts.append(part)
                chunks.append(Chunk(len(parts) - 1, part.text))
            case ToolCallPieceDocument(index=int(index), name=None):
                calls_without_arguments.discard(calls[index])
                chunks.append(Chunk(calls[index], document.tool_call.text))
            case first:
                calls.append(len(parts))
                custom = first.input is not None
                names = first.id or "", first.name or ""
                parts.append(ToolCallPart(*names, "", custom, first.namespace or ""))
                if first.arguments is None and not custom:
                    calls_without_arguments.add(calls[-1])
                chunks.append(Chunk(calls[-1], first.text))
    pieces: list[list[str]] = [[] for _ in parts]
    for chunk in chunks:
        pieces[chunk.part].append(chunk.text)
    for call in calls_without_arguments:
        pieces[call] = ["{}"]
    whole = (_with_text(part, "".join(texts)) for part, texts in zip(parts, pieces, strict=True))
    return tuple(whole), tuple(c for c in chunks if c.part not in calls_without_arguments)


def _can_join(part: ScriptedPart, more: ScriptedPart) -> bool:
    """Return True if `more` continues a part. A signature ends a block of reasoning; redacted
    reasoning is always a separate block."""
    match part, more:
        case ReasoningPart(signature=None, redacted=None), ReasoningPart(redacted=None):
            return True
        case ReasoningPart(), _:
            return False
        case _:
            return type(part) is type(more)


def _with_text(part: ScriptedPart, text: str) -> ScriptedPart:
    """Return the part with another text, or a call with other arguments."""
    key = "arguments" if isinstance(part, ToolCallPart) else "text"
    return replace(part, **{key: text})


def _reasoning_part(
    text: str | None, signature: str | None, redacted: bool | str | None
) -> ReasoningPart:
    """Return the part; if `redacted` is True, the text is the encrypted form."""
    if redacted is True:
        return ReasoningPart("", signature, text)
    return ReasoningPart(text or "", signature, redacted or None)


def _check_redacted(
    redacted: bool | str | None, text: str | None, key: str
) -> Iterator[KeyProblem]:
    """Yield a problem at `key` if `redacted` is True without a text, or if neither is given."""
    if redacted is True and not text:
        yield (key,), "expected the encrypted form, since redacted is true"
    elif text is None and not redacted:
        yield (key,), "missing"


def _to_reasoning_blocks(value: object) -> object:
    """Return a list of blocks: a string stands for one block with this text."""
    if isinstance(value, str):
        return [{"text": value}]
    if not isinstance(value, list):
        refuse([((), "expected a string or a list")])
    return value


def _dump_reasoning(blocks: Any, handler: SerializerFunctionWrapHandler) -> Any:
    """Dump a single block that has only text as a plain string."""
    match handler(blocks):
        case [{"text": text, **others}] if not others:
            return text
        case dumped:
            return dumped


ChunkShape: TypeAlias = Annotated[
    ChunkDocument, parse_from_string(ChunkDocument, "text"), dump_as_string("text")
]
Reasoning: TypeAlias = Annotated[
    list[ReasoningDocument],
    BeforeValidator(_to_reasoning_blocks, json_schema_input_type=str | list[ReasoningDocument]),
    WrapSerializer(_dump_reasoning),
]
