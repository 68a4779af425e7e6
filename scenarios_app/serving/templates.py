"""Keeps encoded responses as templates: the responses of a step to similar requests differ only in
ids, input tokens and time."""

from collections import OrderedDict
from collections.abc import Callable, Hashable, Sequence
from threading import Lock
from typing import Any, Final, Literal, NamedTuple, TypeAlias

import msgspec
from msgspec.structs import replace

from scenarios_app.engine.canonical import CanonicalRequest
from scenarios_app.engine.matching.select import Decision
from scenarios_app.engine.parts import ToolCallPart
from scenarios_app.engine.producing.placeholders import has_placeholders
from scenarios_app.engine.producing.produce import scripted_answer
from scenarios_app.engine.producing.slots import (
    SAMPLE_CREATED,
    SAMPLE_SEED,
    SAMPLE_TOKENS,
    SAMPLE_UID,
    Filler,
    SamplesDiffer,
    SlotFinder,
    Slotted,
    Values,
    join_slotted,
)
from scenarios_app.engine.producing.usage import with_input_tokens
from scenarios_app.engine.redaction import names_secret
from scenarios_app.engine.scenario import GeneratedAnswer, ScriptedAnswer, Step
from scenarios_app.serving.exchange import Exchange
from scenarios_app.serving.reply import RenderedFrames, Reply, TemplateFrame
from scenarios_app.wire.base import ArchiveWrite, Endpoint, Headers

Encode: TypeAlias = Callable[[Exchange, Decision, CanonicalRequest], Reply]

# The oldest responses are evicted beyond either limit.
MAX_RESPONSES: Final = 4_096
MAX_RESPONSES_BYTES: Final = 32_000_000


class HttpTemplate(msgspec.Struct, frozen=True):
    """The bytes of a response that has no waits. `head` has the header lines, without status line,
    in two pieces around the content length, or in one if there is none (`chunked`)."""

    status: int
    chunked: bool
    head: tuple[Slotted, ...]
    body: Slotted


class ResponseTemplate(msgspec.Struct, frozen=True):
    """The reply of a step, with slots in its `headers`, its `frames` and what it has `stored`.

    A header is a text if it has no slots, and None if it is the content length. `stored` pairs the
    names and the data of the archive. `has_no_secret` is true if the journal need not search the
    body. `http` is set if no part of the reply waits. `frame_templates` are those of WebSockets,
    made from `http` at their first use.
    """

    reply: Reply
    fillers: tuple[Filler, ...]
    headers: tuple[tuple[str, str | Slotted | None], ...]
    frames: tuple[TemplateFrame, ...]
    stored: tuple[tuple[Slotted, Slotted], ...]
    has_no_secret: bool
    http: HttpTemplate | None = None
    frame_templates: dict[Hashable, Any] = msgspec.field(default_factory=dict)

    @property
    def size(self) -> int:
        """Return the bytes that the template takes in the cache."""
        slotted = (*(frame.data for frame in self.frames), *(data for _, data in self.stored))
        return sum(one.size for one in slotted)

    def values(self, source: Values) -> tuple[bytes, ...]:
        """Return the bytes of all slots of an answer, by the number of their filler."""
        return tuple([filler(source) for filler in self.fillers])

    def render_for(self, exchange: Exchange, request: CanonicalRequest) -> Reply:
        """Return the reply to an exchange."""
        source = Values(request, exchange.seed, exchange.created, exchange.uid)
        return self.render(self.values(source))

    def render(self, values: tuple[bytes, ...]) -> Reply:
        """Return the reply with the bytes of its slots; frames are rendered when they are sent."""
        length = sum([frame.data.length(values) for frame in self.frames])
        headers = []
        for name, value in self.headers:
            if value is None:
                value = str(length)
            elif isinstance(value, Slotted):
                value = value.fill_text(values)
            headers.append((name, value))
        frames = RenderedFrames(self.frames, values, self.has_no_secret)
        stored = [
            ArchiveWrite(name.fill_text(values), data.fill(values)) for name, data in self.stored
        ]
        return replace(self.reply, headers=tuple(headers), frames=frames, stored=tuple(stored))


class _CacheEntry(NamedTuple):
    """A step's response; `template` is None until its second request. `key_size` are the characters
    of its key, since names of models and tools may be of any length."""

    step: Step
    key_size: int
    template: ResponseTemplate | Literal["never"] | None = None

    @property
    def size(self) -> int:
        size = self.template.size if isinstance(self.template, ResponseTemplate) else 0
        return size + self.key_size


class TemplateCache:
    """The response templates of one pipeline; beyond a number or size the oldest are removed. A
    template is made at the second request, since many steps answer one request only."""

    def __init__(
        self, max_responses: int = MAX_RESPONSES, max_bytes: int = MAX_RESPONSES_BYTES
    ) -> None:
        self._max_responses = max_responses
        self._max_bytes = max_bytes
        self._bytes = 0
        self._lock = Lock()
        # Each entry holds its step, so that no other step gets its `id`.
        self._entries: OrderedDict[Hashable, _CacheEntry] = OrderedDict()

    def get(
        self, step: Step, endpoint: Endpoint, request: CanonicalRequest
    ) -> ResponseTemplate | None:
        """Return the template of a step's response to a request that refers to no earlier response,
        or None."""
        entry = self._entries.get(_key(step, endpoint, request))
        template = entry.template if entry else None
        return template if isinstance(template, ResponseTemplate) else None

    def encode(
        self, exchange: Exchange, decision: Decision, request: CanonicalRequest, encode: Encode
    ) -> Reply:
        """Return a decision's reply: from the template of its step, or as `encode` makes it."""
        step, endpoint = decision.step, exchange.target.endpoint
        assert step is not None
        key = None
        if endpoint is not None and exchange.is_context_free and not decision.fallback:
            key = _key(step, endpoint, request)
        if key is None:
            return encode(exchange, decision, request)
        entry = self._entries.get(key)
        template = entry.template if entry else None
        if isinstance(template, ResponseTemplate):
            return template.render_for(exchange, request)
        reply = encode(exchange, decision, request)
        if entry is None:
            never: Literal["never"] | None = None if is_cacheable(step) else "never"
            self._store_entry(key, _CacheEntry(step, len(repr(key)), never))
        elif template is None:
            template = make_template(exchange, decision, request, reply, encode)
            self._store_entry(key, entry._replace(template=template or "never"))
        return reply

    def _store_entry(self, key: Hashable, entry: _CacheEntry) -> None:
        """Store an entry, and evict the oldest ones beyond either limit."""
        # Long responses are encoded in another thread.
        with self._lock:
            before = self._entries.get(key)
            self._bytes += entry.size - (before.size if before else 0)
            self._entries[key] = entry
            while len(self._entries) > self._max_responses or self._bytes > self._max_bytes:
                _, oldest = self._entries.popitem(last=False)
                self._bytes -= oldest.size


def _key(step: Step, endpoint: Endpoint, request: CanonicalRequest) -> Hashable:
    """Return the cache key of a response, or None if it cannot be shared between requests."""
    if request.n > 1 or endpoint.cache_key is None:
        return None
    return (
        id(step),
        id(endpoint),
        request.stream,
        request.model,
        request.thought_tokens,
        request.cached_tokens,
        # They affect only the form of scripted calls.
        tuple([(tool.name, tool.kind, tool.namespace) for tool in request.tools])
        if request.tools and _calls_tools(step)
        else (),
        endpoint.cache_key(request),
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


def is_cacheable(step: Step) -> bool:
    """Return whether a step's responses repeat no text of a request, and are neither recorded nor
    faulty."""
    produced = step.produce
    answers = [scripted_answer(produced, stream=stream) for stream in (False, True)]
    return not (
        step.side_effects.echo_headers or produced.recorded is not None or produced.fault
    ) and not any(
        isinstance(answer, GeneratedAnswer)
        or (isinstance(answer, ScriptedAnswer) and has_placeholders(answer))
        for answer in answers
    )


def make_template(
    exchange: Exchange,
    decision: Decision,
    request: CanonicalRequest,
    reply: Reply,
    encode: Encode,
) -> ResponseTemplate | None:
    """Return a template of an exchange's reply; None unless it renders the same reply."""
    sample_exchange = replace(exchange, uid=SAMPLE_UID, created=SAMPLE_CREATED, _seed=SAMPLE_SEED)
    endpoint = exchange.target.endpoint
    archival = endpoint.archival if endpoint else None
    partless = request
    if archival is not None and archival.with_sample_part is not None:
        partless = archival.with_sample_part(request)
    sample, other = (
        encode(sample_exchange, decision, with_input_tokens(partless, SAMPLE_TOKENS + more))
        for more in (0, 1)
    )
    finder = SlotFinder(archival.request_part if archival else None)
    try:
        every = exchange.response_headers(sample.headers, SAMPLE_UID)
        template = _template_of(sample, other, finder, every)
    except (SamplesDiffer, ValueError):
        return None
    if template is None:
        return None
    rendered = template.render_for(exchange, request)
    is_same = replace(rendered, frames=tuple(rendered.frames)) == reply
    return template if is_same else None


def _template_of(
    sample: Reply, other: Reply, finder: SlotFinder, every: Headers
) -> ResponseTemplate | None:
    """Return the template of two samples whose counts of input tokens differ by one, or None if it
    would not render both. `every` are the headers of the sample's response."""
    if not isinstance(sample.frames, tuple) or not isinstance(other.frames, tuple):
        return None
    if not isinstance(sample.stored, tuple) or not isinstance(other.stored, tuple):
        return None
    if sample.headers != other.headers:
        return None
    headers: list[tuple[str, str | Slotted | None]] = []
    for name, value in sample.headers:
        slotted = finder.find_text(value)
        variable = None if name == "content-length" else slotted
        headers.append((name, variable if variable is None or variable.numbers else value))
    frames = [
        TemplateFrame(one.at, finder.find(one.data, two.data))
        for one, two in zip(sample.frames, other.frames, strict=True)
    ]
    stored = [
        (finder.find_text(one.name), finder.find(one.data or b"", two.data or b""))
        for one, two in zip(sample.stored, other.stored, strict=True)
    ]
    has_no_secret = not names_secret(sample.body.decode("utf-8", "backslashreplace"))
    http = None
    if sample.is_immediate:
        http = _http_template(sample, every, finder, frames)
    return ResponseTemplate(
        replace(sample, frames=(), stored=()),
        tuple(finder.fillers),
        tuple(headers),
        tuple(frames),
        tuple(stored),
        has_no_secret,
        http,
    )


def _http_template(
    sample: Reply, every: Headers, finder: SlotFinder, frames: Sequence[TemplateFrame]
) -> HttpTemplate | None:
    """Return the template of the bytes; None if a header cannot be sent as it is."""
    if len(dict(every)) != len(every):
        return None
    lines = [f"{name}: {value}\r\n" for name, value in every]
    text = "".join(lines)
    if not text.isascii() or text.count("\n") != len(every) or text.count("\r") != len(every):
        return None
    length = next((i for i, (name, _) in enumerate(every) if name == "content-length"), None)
    head = [text]
    if length is not None:
        before, after = "".join(lines[:length]), "".join(lines[length + 1 :])
        head = [f"{before}content-length: ", f"\r\n{after}"]
    return HttpTemplate(
        sample.status,
        sample.streaming,
        tuple([finder.find_text(piece) for piece in head]),
        join_slotted([frame.data for frame in frames]),
    )
