"""Provider-neutral requests, responses and errors: what every wire parses into and renders from."""

import json
from collections.abc import Callable, Mapping
from typing import Any, Generic, Literal, TypeAlias, TypeVar, overload

import msgspec
from msgspec.structs import force_setattr

from scenarios_app.engine.parts import (
    AnswerPart,
    Chunk,
    FinishReason,
    MessagePart,
    TextPart,
    ToolCallPart,
    ToolResultPart,
)

T = TypeVar("T")
Of = TypeVar("Of")


class lazy_property(Generic[Of, T]):
    """A property computed on first use and cached: `functools.cached_property` without a lock."""

    def __init__(self, compute: Callable[[Of], T]) -> None:
        self.work = compute
        self.__doc__ = compute.__doc__

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    @overload
    def __get__(self, instance: None, owner: type) -> "lazy_property[Of, T]": ...
    @overload
    def __get__(self, instance: Of, owner: type) -> T: ...
    def __get__(self, instance: Of | None, owner: type) -> "lazy_property[Of, T] | T":
        if instance is None:
            return self
        value = instance.__dict__[self.name] = self.work(instance)
        return value


Json: TypeAlias = "bool | int | float | str | list[Json] | dict[str, Json] | None"
_MAX_COUNTED_DEPTH = 201
_COMPACT = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"))


def compact_json(value: object) -> str:
    """Return a value as JSON text without spaces between tokens or escapes of non-ASCII letters."""
    return _COMPACT.encode(value)


def text_or_json(value: Json) -> str:
    """Return a string unchanged, any other value as by `compact_json`."""
    return value if isinstance(value, str) else compact_json(value)


def depth_of(value: Json) -> int:
    """Return the nesting depth of a value: 1 without inner values; 201 for any above 200."""
    depth, level = 0, [value]
    while level and depth < _MAX_COUNTED_DEPTH:
        depth += 1
        containers = [item for item in level if isinstance(item, dict | list)]
        level = [v for c in containers for v in (c.values() if isinstance(c, dict) else c)]
    return depth


Role: TypeAlias = Literal["system", "user", "assistant", "tool"]
ToolKind: TypeAlias = Literal["function", "custom", "hosted"]
CallMode: TypeAlias = Literal["auto", "none", "required"]


class Message(msgspec.Struct, frozen=True):
    """A request's message. Developer messages and instructions are `system`, results `tool`."""

    role: Role
    parts: tuple[MessagePart, ...]

    @property
    def text(self) -> str:
        """The text parts joined by newlines; for a tool message, the contents of its results."""
        parts = self.parts
        if self.role == "tool":
            return "\n".join([p.content for p in parts if isinstance(p, ToolResultPart)])
        if len(parts) == 1 and isinstance(only := parts[0], TextPart):
            # Nearly all messages are one text, and each request reads some of them several times.
            return only.text
        return "\n".join([p.text for p in parts if isinstance(p, TextPart)])


class Tool(msgspec.Struct, frozen=True):
    """A tool that the request offers.

    `schema` is the JSON schema of a `function` and the text format of a `custom` tool. A `hosted`
    tool is run by the provider. `namespace` is empty if the tool has none; for the tool of a hosted
    MCP server it is the server's label.
    """

    name: str
    description: str = ""
    schema: Json = None
    kind: ToolKind = "function"
    namespace: str = ""


class ToolChoice(msgspec.Struct, frozen=True):
    """The tool calls that the request wants: the mode, and the tools allowed (empty: all)."""

    mode: CallMode = "auto"
    names: tuple[str, ...] = ()


class JsonFormat(msgspec.Struct, frozen=True):
    """The request's demand for an answer in JSON of `schema`, which the request has at `place`,
    under `name` if it names it. A `bare` answer that is a string is sent without JSON quotes."""

    schema: Json
    place: str
    bare: bool = False
    name: str = ""

    @property
    def has_schema(self) -> bool:
        """False if the request wants JSON without a schema."""
        return self.schema is not ANY_OBJECT

    @property
    def schema_name(self) -> str:
        """The name in the request, else the schema's title, else empty."""
        title = self.schema.get("title") if isinstance(self.schema, dict) else None
        return self.name or (title if isinstance(title, str) else "")


# The schema of an answer if the request wants JSON without a schema.
ANY_OBJECT: Json = {
    "type": "object",
    "properties": {"answer": {"type": "string"}},
    "required": ["answer"],
}


class SentRequest(msgspec.Struct, eq=False):
    """The raw request. `unread` is true if its wire could not parse it, so that only a recorded
    answer fits. `compared_by_rules` caches its forms for comparison with recorded requests."""

    method: str
    query: Mapping[str, str]
    body: bytes
    unread: bool = False
    compared_by_rules: dict[Any, Any] = {}


class CanonicalRequest(msgspec.Struct, frozen=True, dict=True):
    """A parsed request for an answer, in the same form for every provider.

    `path` is the raw path without query and `route` its canonical form (`/v1/chat/completions` for
    Azure's deployments path too). `also` are other provider names that steps may match: its
    dialect's, or of all dialects possible if it names none. `headers` have lower-case names.
    `reasoning` is true if the request enables thinking. `own` is data for its endpoint, in the
    endpoint's own type. `computed` is true if the endpoint computes the answer, even if a step
    matches. `tool_choice` and `response_format` are as sent, `choice` and `json` their parsed
    forms. `thought_tokens` and `cached_tokens` are the counts of an answer without scripted usage.
    `sent` is the raw request, if known.
    """

    provider: str
    path: str
    route: str
    model: str
    messages: tuple[Message, ...] = ()
    tools: tuple[Tool, ...] = ()
    tool_choice: Json = None
    choice: ToolChoice = ToolChoice()
    stream: bool = False
    temperature: float | None = None
    top_p: float | None = None
    max_tokens: int | None = None
    stop: tuple[str, ...] = ()
    reasoning: bool = False
    response_format: Json = None
    json: JsonFormat | None = None
    n: int = 1
    headers: Mapping[str, str] = {}
    metadata: Mapping[str, str] = {}
    own: Any = None
    computed: bool = False
    also: tuple[str, ...] = ()
    thought_tokens: int = 0
    cached_tokens: int = 0
    sent: SentRequest | None = None

    @lazy_property
    def turn(self) -> int:
        """Number of the requested answer: assistant messages so far, plus one."""
        return 1 + sum(1 for m in self.messages if m.role == "assistant")

    @lazy_property
    def last_user_text(self) -> str:
        """Text of the last user message, empty when there is none."""
        for message in reversed(self.messages):
            if message.role == "user":
                return message.text
        return ""

    @lazy_property
    def first_user_text(self) -> str:
        """Text of the first user message, empty when there is none."""
        return next((m.text for m in self.messages if m.role == "user"), "")

    @lazy_property
    def first_system_text(self) -> str:
        """Text of the first system message, empty when there is none."""
        return next((m.text for m in self.messages if m.role == "system"), "")

    @lazy_property
    def system_text(self) -> str:
        """The texts of all system messages, joined by newlines; empty when there are none."""
        return "\n".join(m.text for m in self.messages if m.role == "system")

    @lazy_property
    def tool_calls(self) -> tuple[ToolCallPart, ...]:
        """Every tool call in earlier assistant messages, in order."""
        return tuple(p for m in self.messages for p in m.parts if isinstance(p, ToolCallPart))

    @lazy_property
    def tool_results(self) -> tuple[ToolResultPart, ...]:
        """Every tool result in the conversation, in order."""
        return tuple(p for m in self.messages for p in m.parts if isinstance(p, ToolResultPart))


class Usage(msgspec.Struct, frozen=True):
    """Token counts of one answer. `reasoning_tokens` are part of the output and `cached_tokens` of
    the input. The scripted `cache_…` counts are in neither: reads are reported with
    `cached_tokens`, writes apart. `total` is a scripted total, None for the sum."""

    input_tokens: int
    output_tokens: int
    reasoning_tokens: int = 0
    cached_tokens: int = 0
    cache_read_tokens: int = 0
    cache_write_tokens: int = 0
    total: int | None = None

    @property
    def total_tokens(self) -> int:
        """The scripted total, else the sum of input and output tokens."""
        return self.input_tokens + self.output_tokens if self.total is None else self.total


class ScriptedUsage(msgspec.Struct, frozen=True):
    """Token counts as scripted; what is `None` is counted from the text."""

    input_tokens: int | None = None
    output_tokens: int | None = None
    reasoning_tokens: int | None = None
    cached_tokens: int | None = None
    cache_read_tokens: int | None = None
    cache_write_tokens: int | None = None
    total_tokens: int | None = None


class Choice(msgspec.Struct, frozen=True):
    """A complete choice of an answer. `chunks` are its stream deltas if scripted, else None."""

    parts: tuple[AnswerPart, ...]
    finish_reason: FinishReason
    stop_sequence: str | None = None
    chunks: tuple[Chunk, ...] | None = None


class CanonicalResponse(msgspec.Struct, frozen=True):
    """A whole answer before a wire encodes it. `id` is hex digits; the wire adds its prefix.

    `created` is in Unix seconds. `metadata` holds extra top-level fields for the provider that
    answers, from the step's `provider_metadata`. `consecutive` choices are messages one
    after another; others are alternatives. `spoken` is the dialect to answer in: the name of
    `request.also` that the step's provider condition has, else empty.
    """

    id: str
    created: int
    model: str
    choices: tuple[Choice, ...]
    usage: Usage
    metadata: Mapping[str, Json] = {}
    consecutive: bool = False
    spoken: str = ""


class ErrorAnswer(msgspec.Struct, frozen=True):
    """An error answer before a wire encodes it in its provider's error envelope.

    `type`, `code` and `param` are `None` where the wire's default for `status` applies. `body`
    replaces the envelope. `retry_after_ms` becomes the provider's own retry headers and
    `limited` its exhausted rate-limit headers; `retryable` becomes `x-should-retry`.
    """

    status: int
    message: str
    type: str | None = None
    code: str | None = None
    param: str | None = None
    body: Json = None
    headers: tuple[tuple[str, str], ...] = ()
    retry_after_ms: int | None = None
    retryable: bool | None = None
    limited: bool = False


def attach_sent(request: CanonicalRequest, sent: SentRequest) -> CanonicalRequest:
    """Set the `sent` of a request that was just parsed from it; return the same request. It is
    changed in place although it is frozen, since a copy would cost every request more."""
    force_setattr(request, "sent", sent)
    return request
