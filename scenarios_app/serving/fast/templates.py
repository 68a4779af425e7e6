"""Keeps encoded responses as templates: the responses of a step to similar requests differ only in
ids, input tokens and time."""

from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterator
from typing import Any, Final, Literal, NamedTuple, TypeAlias

import msgspec
from msgspec.structs import replace

from scenarios_app.engine.canonical import CanonicalRequest
from scenarios_app.engine.matching.index import NO_EXPECTATIONS, Entry
from scenarios_app.engine.parts import ToolCallPart
from scenarios_app.engine.producing.placeholders import has_placeholders
from scenarios_app.engine.producing.produce import Seed, scripted_answer
from scenarios_app.engine.producing.usage import COUNT_KEY, count_input
from scenarios_app.engine.redaction import names_secret
from scenarios_app.engine.scenario import GeneratedAnswer, ScriptedAnswer, Step
from scenarios_app.serving.fast.endpoints import FastEndpoint
from scenarios_app.serving.fast.slots import (
    SAMPLE_SEED,
    SAMPLE_TOKENS,
    Filler,
    SlotFinder,
    Slotted,
    Values,
    join_slotted,
)
from scenarios_app.serving.reply import Frame, Reply
from scenarios_app.wire.base import ArchiveWrite, Headers

# Returns the reply that a response with these sample values has, with all its headers.
EncodeSample: TypeAlias = Callable[[CanonicalRequest], Reply]

# The oldest entries are evicted beyond either limit.
MAX_RESPONSES: Final = 4_096
MAX_RESPONSES_BYTES: Final = 32_000_000
NEVER: Final = "never"


class TemplateFrames(msgspec.Struct, frozen=True, gc=False):
    """The frames of a paced response with the values of one answer, rendered at each iteration
    instead of held in memory."""

    frames: tuple[tuple[float, Slotted], ...]
    values: tuple[bytes, ...]

    def __iter__(self) -> Iterator[Frame]:
        for at, data in self.frames:
            yield Frame(at, data.fill(self.values))


class ResponseTemplate(msgspec.Struct, frozen=True):
    """The response of a step, with slots in its `head`, its `frames` and what it has `stored`.

    `head` has the header lines, without status line, in two pieces around the content length, or
    in one if there is none. `frames` are due at times in seconds after the head, and `body` joins
    them. `stored` pairs the names and the data of the archive. `reply` has the rest. `counts_input`
    is true if a slot needs the count of input tokens. `frame_templates` are those of WebSockets,
    made at their first use.
    """

    reply: Reply
    fillers: tuple[Filler, ...]
    head: tuple[Slotted, ...]
    frames: tuple[tuple[float, Slotted], ...]
    body: Slotted
    stored: tuple[tuple[Slotted, Slotted], ...]
    counts_input: bool
    is_immediate: bool
    frame_templates: dict[Hashable, Any] = msgspec.field(default_factory=dict)

    @property
    def size(self) -> int:
        """Return the bytes that the template takes in the cache."""
        frames = 0 if self.is_immediate else self.body.size
        return self.body.size + frames + sum(data.size for _, data in self.stored)

    def values_of(self, source: Values) -> tuple[bytes, ...]:
        """Return the bytes of all slots of an answer, by the number of their filler."""
        return tuple([filler(source) for filler in self.fillers])

    def encode(self, values: tuple[bytes, ...]) -> tuple[bytes, bytes]:
        """Return the header lines and the body of an answer."""
        body = self.body.fill(values)
        return (b"%d" % len(body)).join([piece.fill(values) for piece in self.head]), body

    def render(self, values: tuple[bytes, ...]) -> Reply:
        """Return the reply with the bytes of its slots, without what it stores; the frames of a
        paced one are rendered when they are sent."""
        lines, body = self.encode(values)
        text = lines.decode("latin-1").removesuffix("\r\n")
        headers = tuple([(*line.split(": ", 1),) for line in text.split("\r\n")])
        if self.is_immediate:
            return replace(self.reply, headers=headers, frames=(Frame(0.0, body),))
        return replace(self.reply, headers=headers, frames=TemplateFrames(self.frames, values))

    def writes(self, values: tuple[bytes, ...]) -> Iterator[tuple[str, bytes]]:
        """Yield the names and the data of what the archive stores of an answer."""
        for name, data in self.stored:
            yield name.fill_text(values), data.fill(values)


class FirstAnswer(NamedTuple):
    """The first answer of a kind: a hash of its reply, and what fills the slots of its template,
    which has to render the same reply."""

    reply_hash: int
    values: Values


CacheValue: TypeAlias = ResponseTemplate | FirstAnswer | Literal["never"]


class _CacheEntry(NamedTuple):
    """The value of one key. `key_size` are the characters of the key, since names of models and
    tools may be of any length."""

    step: Step
    key_size: int
    value: CacheValue

    @property
    def size(self) -> int:
        match self.value:
            case ResponseTemplate() as template:
                return self.key_size + template.size
            case FirstAnswer(_, values):
                return self.key_size + len(values.part)
            case _:
                return self.key_size


class TemplateCache:
    """The response templates of one pipeline; beyond a number or size the oldest are removed. Of a
    first answer only a FirstAnswer is kept, since many steps answer one request only."""

    def __init__(
        self, max_responses: int = MAX_RESPONSES, max_bytes: int = MAX_RESPONSES_BYTES
    ) -> None:
        self._max_responses = max_responses
        self._max_bytes = max_bytes
        self._bytes = 0
        # Each entry holds its step, so that no other step gets its `id`.
        self._entries: OrderedDict[Hashable, _CacheEntry] = OrderedDict()

    def get(self, key: Hashable) -> CacheValue | None:
        """Return the value of a key, or None."""
        entry = self._entries.get(key)
        return entry.value if entry is not None else None

    def put(self, key: Hashable, step: Step, value: CacheValue) -> None:
        """Store the value of a step's key, and evict the oldest beyond either limit."""
        before = self._entries.get(key)
        key_size = len(repr(key)) if before is None else before.key_size
        entry = self._entries[key] = _CacheEntry(step, key_size, value)
        self._bytes += entry.size - (before.size if before is not None else 0)
        while len(self._entries) > self._max_responses or self._bytes > self._max_bytes:
            _, oldest = self._entries.popitem(last=False)
            self._bytes -= oldest.size


def template_key(step: Step, row: FastEndpoint, request: CanonicalRequest) -> Hashable:
    """Return the key of a response, or None if it cannot be shared between requests."""
    if request.n > 1:
        return None
    return (
        id(step),
        id(row),
        request.stream,
        request.model,
        request.thought_tokens,
        request.cached_tokens,
        # They affect only the form of scripted calls.
        tuple([(tool.name, tool.kind, tool.namespace) for tool in request.tools])
        if request.tools and _calls_tools(step)
        else (),
        row.key(request),
    )


def _calls_tools(step: Step) -> bool:
    """Return whether a scripted answer of the step, streamed or whole, calls tools."""
    answers = (step.produce.streaming, step.produce.non_streaming)
    choices = (
        choice
        for answer in answers
        if isinstance(answer, ScriptedAnswer)
        for choice in answer.choices
    )
    return any(isinstance(part, ToolCallPart) for choice in choices for part in choice.parts)


def is_plain(entry: Entry) -> bool:
    """Return whether nothing but its match and use decides a step's answer: no checks, failures,
    faults, latency, counters or asserts, no text of the request, nothing recorded or generated;
    and the scenario is no catch-all."""
    scenario, step = entry.scenario, entry.step
    produced, effects = step.produce, step.side_effects
    if (
        entry.recorded
        or scenario.catch_all
        or scenario.system_prompt_must_include
        or step.expect != NO_EXPECTATIONS
        or step.failures is not None
        or produced.recorded is not None
        or produced.fault is not None
        or produced.latency_ms
        or effects.counter is not None
        or effects.asserts
        or effects.echo_headers
    ):
        return False
    answers = [scripted_answer(produced, stream=stream) for stream in (False, True)]
    return not any(
        isinstance(answer, GeneratedAnswer)
        or (isinstance(answer, ScriptedAnswer) and has_placeholders(answer))
        for answer in answers
    )


def values_for(
    row: FastEndpoint,
    request: CanonicalRequest,
    seed: Seed,
    created: int,
    uid: str,
    *,
    counts_input: bool = True,
) -> Values:
    """Return the values of an answer to a request; without `counts_input` its count is 0."""
    part = row.part(request, seed.response_id) if row.part is not None else b""
    tokens = count_input(request) if counts_input else 0
    return Values(seed, created, uid, tokens, part)


def writes_of(reply: Reply) -> Iterator[tuple[str, bytes]]:
    """Yield the names and the data of what the archive stores of an encoded reply."""
    for each in reply.stored if isinstance(reply.stored, tuple) else reply.stored():
        if each.data is not None:
            yield each.name, each.data


def first_answer(reply: Reply, values: Values) -> FirstAnswer | None:
    """Return the FirstAnswer of a reply; None if it becomes no template."""
    if not isinstance(reply.frames, tuple) or not isinstance(reply.stored, tuple):
        return None
    return FirstAnswer(hash(reply), values)


def make_template(
    row: FastEndpoint, request: CanonicalRequest, first: FirstAnswer, encode: EncodeSample
) -> ResponseTemplate | None:
    """Return the template of the responses of a kind, of which `encode` makes a sample; None unless
    it renders the reply of the first answer."""
    if row.with_sample_part is not None:
        request = row.with_sample_part(request)
    part = row.part(request, SAMPLE_SEED.response_id) if row.part is not None else b""
    sample = encode(_with_input_tokens(request, SAMPLE_TOKENS))
    if not isinstance(sample.frames, tuple) or not isinstance(sample.stored, tuple):
        return None
    finder = SlotFinder(part)
    head = _head_of(sample.headers, finder)
    if head is None:
        return None
    frames = tuple([(frame.at, finder.find(frame.data)) for frame in sample.frames])
    stored = tuple(
        [(finder.find_text(each.name), finder.find(each.data or b"")) for each in sample.stored]
    )
    template = ResponseTemplate(
        replace(sample, headers=(), frames=(), stored=()),
        tuple(finder.fillers),
        head,
        frames,
        join_slotted([data for _, data in frames]),
        stored,
        finder.counts_input,
        sample.is_immediate,
    )
    values = template.values_of(first.values)
    writes = tuple([ArchiveWrite(*write) for write in template.writes(values)])
    rendered = template.render(values)
    rendered = replace(rendered, frames=tuple(rendered.frames), stored=writes)
    if hash(rendered) != first.reply_hash:
        return None
    has_no_secret = not names_secret(sample.body.decode("utf-8", "backslashreplace"))
    return replace(template, reply=replace(template.reply, plain=has_no_secret))


def _head_of(headers: Headers, finder: SlotFinder) -> tuple[Slotted, ...] | None:
    """Return the header lines with slots, in pieces around the content length; None if a header
    cannot be sent as it is."""
    if len(dict(headers)) != len(headers):
        return None
    lines = [f"{name}: {value}\r\n" for name, value in headers]
    text = "".join(lines)
    if not text.isascii() or text.count("\n") != len(lines) or text.count("\r") != len(lines):
        return None
    length = next((i for i, (name, _) in enumerate(headers) if name == "content-length"), None)
    if length is None:
        return (finder.find_text(text),)
    before, after = "".join(lines[:length]), "".join(lines[length + 1 :])
    return (
        finder.find_text(f"{before}content-length: "),
        finder.find_text(f"\r\n{after}"),
    )


def _with_input_tokens(request: CanonicalRequest, tokens: int) -> CanonicalRequest:
    """Return a copy of a request for which `count_input` returns this number."""
    copy = replace(request)
    copy.__dict__[COUNT_KEY] = tokens
    return copy
