"""What a dialect of OpenAI's API is: every place in which those who speak it differ, as a value."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from scenarios_app.engine.canonical import CanonicalResponse, ErrorAnswer, Json, Usage
from scenarios_app.wire.base import Headers
from scenarios_app.wire.upstream import Upstream

Fields: TypeAlias = Mapping[str, Json]
ResponseFieldsBuilder: TypeAlias = Callable[[CanonicalResponse], Fields]
# Where reasoning stands: in a field of that name, in OpenRouter's two, or in Mistral's content.
ReasoningPlace: TypeAlias = Literal["reasoning", "reasoning_content", "details", "content"]
# Who is told what a stream cost in a chunk of its own: who asks, everyone, nobody.
UsageChunk: TypeAlias = Literal["asked", "always", "never"]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Dialect:
    """One dialect.

    `provider` is whose requests they are for steps and the journal. `starts` stand in place of
    `/v1/` at the beginning of a path, and `owns` is what of a path is this dialect's at all. Each
    is one value: no two are alike.
    """

    name: str
    title: str
    provider: str
    path_prefixes: tuple[str, ...] = ()
    owned_prefixes: tuple[str, ...] = ()
    upstream: Upstream | None = None
    """None if another wire has it."""
    models: tuple[str, ...] = ()

    id: str
    """With `{hex}`, `{uuid}`, `{short}` and `{created}` in it."""
    call_prefix: str = "call_"
    fingerprint: str | None = None
    """The system's name; `family`: as the model's family has one, `made`: of the model's name,
    `null`: none, but the field is there."""
    reasoning: ReasoningPlace

    make_reasoning_fields: Callable[[str], Fields] | None = None
    """In a delta that thinks, by the model."""

    top_fields: Fields = field(default_factory=dict)
    """At the top of a whole answer and of every chunk."""
    response_fields: Fields = field(default_factory=dict)
    """At the top of a whole answer alone."""
    make_top_fields: ResponseFieldsBuilder | None = None
    """As `top`, but made of the answer; the next three are so too."""
    make_response_fields: ResponseFieldsBuilder | None = None
    """At the top of a whole answer alone."""
    make_first_chunk_fields: ResponseFieldsBuilder | None = None
    """At the top of a stream's first chunk."""
    make_last_chunk_fields: ResponseFieldsBuilder | None = None
    """At the top of the chunk in which the last choice ends."""

    message_fields: Fields = field(default_factory=dict)
    """In every message, unless the answer has something to say there."""
    tool_call_content: Fields = field(default_factory=lambda: {"content": None})
    """The content of a message that only calls tools."""
    choice_fields: Fields = field(default_factory=dict)
    """In every choice of a whole answer."""
    logprobs_by_family: bool = False
    """Whether some models have no place for logprobs."""
    make_ending_fields: Callable[[str, str], Fields] | None = None
    """In a choice that ended, by the model and why it did."""

    stream_prefix: bytes = b""
    """What a stream begins with, before its first chunk."""
    first_delta_fields: Fields = field(default_factory=dict)
    """In the first delta of a choice, beside role and content."""
    delta_fields: Fields = field(default_factory=dict)
    """In every delta that says something."""
    chunk_choice_fields: Fields = field(default_factory=dict)
    """In every choice of a chunk."""
    last_delta: Fields = field(default_factory=dict)
    """The delta with which a choice ends."""
    obfuscated: bool = False
    """Whether deltas hide how long they are."""

    call_index: bool = False
    """Whether calls of a whole answer have a number, as those of a stream do."""
    call_type: bool = True
    """Whether calls say that they are of a function."""
    whole_calls: bool = False
    """Whether a call comes in one piece in a stream too."""
    compact_call: bool = False
    """Whether a single call begins in the same chunk as its message."""

    usage: Callable[[Usage], dict[str, Json]]
    usage_chunk: UsageChunk = "asked"
    usage_null: bool = False
    """Whether the other chunks of a stream that tells it say that they don't."""

    provider_tools: bool = True
    """Whether tools may be the provider's own, and leave out that they are functions."""

    error: Callable[[ErrorAnswer], Json]
    headers: Callable[[str, ErrorAnswer | None], Headers]
