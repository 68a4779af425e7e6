"""Provider-neutral requests, responses and errors: what every wire parses into and renders from."""

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


class once(Generic[Of, T]):
    """A property that is worked out when it is first asked for, as `functools.cached_property`
    does, which takes a lock each time that it works one out."""

    def __init__(self, work: Callable[[Of], T]) -> None:
        self.work = work
        self.__doc__ = work.__doc__

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    @overload
    def __get__(self, of: None, owner: type) -> "once[Of, T]": ...
    @overload
    def __get__(self, of: Of, owner: type) -> T: ...
    def __get__(self, of: Of | None, owner: type) -> "once[Of, T] | T":
        if of is None:
            return self
        found = of.__dict__[self.name] = self.work(of)
        return found


Json: TypeAlias = "bool | int | float | str | list[Json] | dict[str, Json] | None"
Role: TypeAlias = Literal["system", "user", "assistant", "tool"]
ToolKind: TypeAlias = Literal["function", "custom", "hosted"]
CallMode: TypeAlias = Literal["auto", "none", "required"]


class Message(msgspec.Struct, frozen=True):
    """One message. Developer messages and instructions are `system`; tool results are `tool`."""

    role: Role
    parts: tuple[MessagePart, ...]

    @property
    def text(self) -> str:
        """The text parts joined by newlines; for a tool message, its results' content."""
        parts = self.parts
        if self.role == "tool":
            return "\n".join([p.content for p in parts if isinstance(p, ToolResultPart)])
        if len(parts) == 1 and isinstance(only := parts[0], TextPart):
            # Nearly all are one text, and each request asks for some of them several times.
            return only.text
        return "\n".join([p.text for p in parts if isinstance(p, TextPart)])


class Tool(msgspec.Struct, frozen=True):
    """A tool that the request offers, under the name the client gave it.

    A `function` takes JSON of its `schema`, a `custom` one text of the format that stands there; a
    `hosted` one is run by the provider.
    """

    name: str
    description: str = ""
    schema: Json = None
    kind: ToolKind = "function"


class ToolChoice(msgspec.Struct, frozen=True):
    """Whether an answer calls a tool: if it wants to, never, or for sure; and which `names` it
    chooses among, where these are not all that are offered."""

    mode: CallMode = "auto"
    names: tuple[str, ...] = ()


class JsonFormat(msgspec.Struct, frozen=True):
    """That the text of an answer is JSON of a schema, which stands in the request under `place`.
    A `bare` answer is the string that the JSON would be."""

    schema: Json
    place: str
    bare: bool = False


# What an answer is where the request wants JSON and does not say more of it.
ANY_OBJECT: Json = {
    "type": "object",
    "properties": {"answer": {"type": "string"}},
    "required": ["answer"],
}


class SentRequest:
    """A request as it was sent, for what is not read off its parts; `known` keeps what has been
    made of it. One that is `unread` its wire could not read: it can only be answered as it was when
    it was recorded."""

    __slots__ = ("body", "known", "method", "query", "unread")

    def __init__(
        self, method: str, query: Mapping[str, str], body: bytes, *, unread: bool = False
    ) -> None:
        self.method = method
        self.query = query
        self.body = body
        self.unread = unread
        self.known: dict[Any, Any] = {}


class CanonicalRequest(msgspec.Struct, frozen=True, dict=True):
    """One request for an answer, over any wire.

    `path` is the raw path without query and `route` its canonical form
    (`/v1/chat/completions` for Azure's deployments path too). `also` are other names by which steps
    may call the provider: of a dialect that is spoken, or of those that are as good where the
    request says nothing of it. `headers` have lower-case names.
    `reasoning` says whether the request switched thinking on. `own` holds what else the endpoint
    that read the request needs to answer it, in a type of its own. `computed` says that the request
    asks for no answer of a model, so that its endpoint computes one, also where a step matches.
    `tool_choice` and `response_format` are as they were sent, `choice` and `json` what they mean.
    `thought_tokens` are what the model thinks where no thinking is scripted, `cached_tokens` what
    of the input stands in a cache that the request names; both count where no usage is scripted.
    `sent` is what came in, where that is known.
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

    @once
    def turn(self) -> int:
        """Number of the answer asked for: assistant messages so far, plus one."""
        return 1 + sum(1 for m in self.messages if m.role == "assistant")

    @once
    def last_user_text(self) -> str:
        """Text of the last user message, empty when there is none."""
        for message in reversed(self.messages):
            if message.role == "user":
                return message.text
        return ""

    @once
    def first_user_text(self) -> str:
        """Text of the first user message, empty when there is none."""
        for message in self.messages:
            if message.role == "user":
                return message.text
        return ""

    @once
    def system_text(self) -> str:
        """All system messages, joined by newlines."""
        return "\n".join(m.text for m in self.messages if m.role == "system")

    @once
    def tool_calls(self) -> tuple[ToolCallPart, ...]:
        """Every tool call in earlier assistant messages, in order."""
        return tuple(p for m in self.messages for p in m.parts if isinstance(p, ToolCallPart))

    @once
    def tool_results(self) -> tuple[ToolResultPart, ...]:
        """Every tool result in the conversation, in order."""
        return tuple(p for m in self.messages for p in m.parts if isinstance(p, ToolResultPart))


class Usage(msgspec.Struct, frozen=True):
    """Token counts of one answer. `reasoning_tokens` and `cached_tokens` are parts of the totals,
    what was read from or written to a `cache_…` stands beside them. `total` is a scripted one."""

    input_tokens: int
    output_tokens: int
    reasoning_tokens: int = 0
    cached_tokens: int = 0
    cache_read_tokens: int = 0
    cache_write_tokens: int = 0
    total: int | None = None

    @property
    def total_tokens(self) -> int:
        return self.input_tokens + self.output_tokens if self.total is None else self.total


class Choice(msgspec.Struct, frozen=True):
    """One of an answer's choices. `chunks`, when scripted, are its stream deltas in order."""

    parts: tuple[AnswerPart, ...]
    finish_reason: FinishReason
    stop_sequence: str | None = None
    chunks: tuple[Chunk, ...] | None = None


class CanonicalResponse(msgspec.Struct, frozen=True):
    """A whole answer. `id` is the bare hex that a wire puts its prefix before.

    `created` is in Unix seconds. `metadata` holds extra top-level fields for the provider that
    answers (`provider_metadata[provider]` of the step). `consecutive` choices are messages one
    after another; others are alternatives. `spoken` is the dialect in which the step names the
    provider, empty where it names none that is the request's to leave open.
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
    """An error to be rendered in a provider's envelope.

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


def as_sent(request: CanonicalRequest, sent: SentRequest) -> CanonicalRequest:
    """The request that was just read off what was sent, which is told to it. A copy of it would
    cost each request more than this is worth."""
    force_setattr(request, "sent", sent)
    return request
