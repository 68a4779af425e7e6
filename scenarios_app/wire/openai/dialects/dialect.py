"""The differences between the servers that speak OpenAI's chat API, as values."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from scenarios_app.engine.canonical import CanonicalResponse, ErrorAnswer, Json, Usage
from scenarios_app.wire.base import Headers
from scenarios_app.wire.upstream import Upstream

Fields: TypeAlias = Mapping[str, Json]
ResponseFieldsBuilder: TypeAlias = Callable[[CanonicalResponse], Fields]
# The field of reasoning: one of that name, OpenRouter's two, or Mistral's content.
ReasoningPlace: TypeAlias = Literal["reasoning", "reasoning_content", "details", "content"]
# When a stream has a usage chunk: on request, always or never.
UsageChunk: TypeAlias = Literal["asked", "always", "never"]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Dialect:
    """One dialect of OpenAI's chat API.

    `provider` names its requests in steps and the journal. `path_prefixes` replace `/v1/` at the
    start of a path. Fields named `make_…` are functions of the response or the model.
    """

    name: str
    title: str
    provider: str
    path_prefixes: tuple[str, ...]
    upstream: Upstream | None = None
    """None if another wire has it."""
    models: tuple[str, ...] = ()

    id: str
    """The format of ids, with `{hex}`, `{uuid}`, `{short}`, `{created}` and `{number}`."""
    call_prefix: str = "call_"
    fingerprint: str | None = None
    """The system fingerprint; `family`: if the model's family has one, `made`: always derived from
    the model's name, None: the field is left out."""
    reasoning: ReasoningPlace

    make_reasoning_fields: Callable[[str], Fields] | None = None
    """Extra fields of a reasoning delta, by the model."""

    top_fields: Fields = field(default_factory=dict)
    """At the top of a whole response and of every chunk."""
    make_top_fields: ResponseFieldsBuilder | None = None
    """As `top_fields`, but derived from the response."""
    make_response_fields: ResponseFieldsBuilder | None = None
    """At the top of a whole response only, before the others."""
    make_first_chunk_fields: ResponseFieldsBuilder | None = None
    """At the top of a stream's first chunk."""
    make_last_chunk_fields: ResponseFieldsBuilder | None = None
    """At the top of the chunk in which the last choice ends."""

    message_fields: Fields = field(default_factory=dict)
    """In every message, unless the response sets them."""
    tool_call_content: Fields = field(default_factory=lambda: {"content": None})
    """The content field of a message with tool calls and no text."""
    choice_fields: Fields = field(default_factory=dict)
    """In every choice of a whole response."""
    logprobs_by_family: bool = False
    """True if some models have no logprobs field."""
    make_ending_fields: Callable[[str, str], Fields] | None = None
    """In a choice that ended, by the model and the finish reason."""

    stream_prefix: bytes = b""
    """The bytes before a stream's first chunk."""
    first_delta_fields: Fields = field(default_factory=dict)
    """In the first delta of a choice, with role and content."""
    delta_fields: Fields = field(default_factory=dict)
    """In every delta with content."""
    chunk_choice_fields: Fields = field(default_factory=dict)
    """In every choice of a chunk."""
    last_delta: Fields = field(default_factory=dict)
    """The last delta of a choice."""
    obfuscated: bool = False
    """True if deltas are padded to hide their length."""

    call_index: bool = False
    """True if calls of a whole response have an index, as those of a stream do."""
    call_type: bool = True
    """True if calls have the type `function`."""
    whole_calls: bool = False
    """True if a stream sends each call in one piece."""
    compact_call: bool = False
    """True if a single call begins in the same chunk as its message."""

    usage: Callable[[Usage], dict[str, Json]]
    usage_chunk: UsageChunk = "asked"
    usage_null: bool = False
    """True if the other chunks of a stream with a usage chunk have a null usage."""

    provider_tools: bool = True
    """True if hosted tools are accepted, and function tools may lack their type."""

    error: Callable[[ErrorAnswer], Json]
    own_errors: Mapping[str, ErrorAnswer] = field(default_factory=dict)
    """The provider's own errors by kind of fault; without one, the kind's status and message."""
    headers: Callable[[str, ErrorAnswer | None], Headers]

    @property
    def owned_prefix(self) -> str:
        """The first segment of the paths: all paths below it belong to the dialect."""
        return f"/{self.path_prefixes[0].split('/')[1]}/"
