"""A scenario as the engine runs it: the validated document as immutable values."""

from collections.abc import Mapping
from typing import Literal, TypeAlias

import msgspec

from scenarios_app.engine.canonical import Json, ScriptedUsage
from scenarios_app.engine.conditions.match import NO_CONDITIONS, Match
from scenarios_app.engine.parts import AnswerPart, Chunk, FinishReason
from scenarios_app.engine.recorded import RecordedAnswer

Select: TypeAlias = Literal["match", "first_user_message"]
Reasoning: TypeAlias = Literal["enabled", "disabled"]
GeneratedKind: TypeAlias = Literal["lorem", "auto"]
Unoffered: TypeAlias = Literal["allow"]

# The scenario that answers requests without a scripted answer.
CATCH_ALL = "test-mode"
# The name in `provider_metadata` that stands for every provider.
ANY_PROVIDER = "any"


class Expect(msgspec.Struct, frozen=True):
    """A step's expectations of the request that it matches. They do not affect matching: a request
    that fails one is rejected, and the session gets a violation."""

    tools: tuple[str, ...] = ()
    allow_missing_tools: bool = False
    temperature: float | None = None
    top_p: float | None = None
    reasoning: Reasoning | None = None


class Fault(msgspec.Struct, frozen=True):
    """A scripted failure of a kind in `producing/faults`. Times are in milliseconds; `None` means
    the kind's default.

    `body` replaces the provider's envelope (text unchanged, other JSON encoded). `retryable`
    becomes the `x-should-retry` header if given. `close_code`, `after_frames` (None: after the
    last) and `half_frame` say how a WebSocket ends.
    """

    kind: str
    after_chunks: int = 1
    hold_ms: int = 30_000
    status: int | None = None
    message: str | None = None
    type: str | None = None
    code: str | None = None
    param: str | None = None
    body: Json = None
    headers: tuple[tuple[str, str], ...] = ()
    retry_after_ms: int | None = None
    retryable: bool | None = None
    close_code: int = 1011
    after_frames: int | None = None
    half_frame: bool = False


class Failures(msgspec.Struct, frozen=True):
    """The first `times` attempts of a step get `fault`, counted by session and provider."""

    times: int
    fault: Fault = Fault(kind="model_error")


class Pacing(msgspec.Struct, frozen=True):
    """The times of a stream's chunks: the first after `first_ms`, then by words per second or every
    `chunk_ms`; without either all after `first_ms`. `jitter` (0 to 1) is the share of a gap by
    which a chunk may be late."""

    first_ms: int = 0
    words_per_second: float = 0
    chunk_ms: int = 0
    words_per_chunk: int = 5
    jitter: float = 0


class ScriptedChoice(msgspec.Struct, frozen=True):
    """One choice of a scripted answer. A call with an empty id gets one from the request's seed."""

    parts: tuple[AnswerPart, ...] = ()
    chunks: tuple[Chunk, ...] | None = None
    finish_reason: FinishReason | None = None
    stop_sequence: str | None = None


class ScriptedAnswer(msgspec.Struct, frozen=True):
    """A scripted answer in parts. With `per_choice` each entry is one choice; without it the only
    entry is repeated `n` times, as the request asks. `consecutive` entries are successive messages
    instead of alternatives, on wires that support this."""

    choices: tuple[ScriptedChoice, ...]
    per_choice: bool = False
    consecutive: bool = False
    usage: ScriptedUsage = ScriptedUsage()
    provider_metadata: Mapping[str, Mapping[str, Json]] = {}


class RawAnswer(msgspec.Struct, frozen=True):
    """A scripted response that is sent unchanged: no wire encodes it. The status is 200 to 599."""

    status: int = 200
    headers: tuple[tuple[str, str], ...] = ()
    body: bytes = b""


class GeneratedAnswer(msgspec.Struct, frozen=True):
    """An answer to be generated from the request. `lorem`: words by the user message's hash, then
    that message. `auto`: a tool call, JSON or lorem, depending on the request."""

    kind: GeneratedKind = "lorem"
    usage: ScriptedUsage = ScriptedUsage()
    provider_metadata: Mapping[str, Mapping[str, Json]] = {}


Answer: TypeAlias = ScriptedAnswer | RawAnswer | GeneratedAnswer


class Produce(msgspec.Struct, frozen=True):
    """A step's answer: one for streams and one for other requests, a fault, or both. `unoffered` is
    `allow` if it may call tools that the request does not offer. `recorded` is the recorded answer
    if it was not edited."""

    streaming: Answer | None = None
    non_streaming: Answer | None = None
    fault: Fault | None = None
    latency_ms: int = 0
    pacing: Pacing = Pacing()
    unoffered: Unoffered | None = None
    recorded: RecordedAnswer | None = None


class SideEffects(msgspec.Struct, frozen=True):
    """Additions to a step's answer: a counter to increment, the status, headers, and the names of
    request headers to echo. A request that fails one of `asserts` adds a violation and gets the
    answer nevertheless."""

    counter: str | None = None
    status: int | None = None
    headers: tuple[tuple[str, str], ...] = ()
    echo_headers: tuple[str, ...] = ()
    asserts: tuple[Match, ...] = ()


class Step(msgspec.Struct, frozen=True):
    """One step. `key` identifies it for consumption and attempts and survives edits of its
    neighbours; `label` is its name, or its number from 1 if it has none. `equivalent_changes` are
    the names of alterations that change nothing that matters, with the reasons."""

    key: str
    label: str
    match: Match = NO_CONDITIONS
    produce: Produce = Produce()
    turn: int | None = None
    consume: bool = True
    expect: Expect = Expect()
    failures: Failures | None = None
    side_effects: SideEffects = SideEffects()
    equivalent_changes: Mapping[str, str] = {}


class Scenario(msgspec.Struct, frozen=True):
    """A named list of steps. `select` says which one answers a request: the first that matches, or
    that of the turn if the request names the scenario in a header or its first user message."""

    name: str
    steps: tuple[Step, ...] = ()
    priority: int = 0
    select: Select = "match"
    variables: Mapping[str, Json] = {}
    system_prompt_must_include: tuple[str, ...] = ()
    catch_all: bool = False
