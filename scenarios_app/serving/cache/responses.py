"""Caches encoded responses: a step's responses to similar requests differ only in their ids, so a
response that is asked for again is kept as a template with placeholders for its ids."""

from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterable, Iterator
from threading import Lock
from typing import Final, Literal, NamedTuple, TypeAlias

import msgspec
from msgspec.structs import replace

from scenarios_app.engine.canonical import CanonicalRequest
from scenarios_app.engine.matching.select import Decision
from scenarios_app.engine.producing.produce import Seed, scripted_answer
from scenarios_app.engine.producing.templates import has_templates
from scenarios_app.engine.producing.usage import count_input
from scenarios_app.engine.redaction import names_secret
from scenarios_app.engine.scenario import GeneratedAnswer, ScriptedAnswer, Step
from scenarios_app.serving.exchange import Exchange
from scenarios_app.serving.reply import RenderedFrames, Reply, TemplateFrame
from scenarios_app.wire.base import ArchiveWrite

# Returns one of the ids that a seed gives.
IdOf: TypeAlias = Callable[[Seed], str]
Encode: TypeAlias = Callable[[Exchange, Decision, CanonicalRequest], Reply]

# The ids of this seed, which no request has, are the placeholders of a template.
SAMPLE_SEED: Final = Seed("sample")
# Ids of this many tool calls get placeholders.
MAX_TOOL_CALLS: Final = 32
# The oldest responses are evicted beyond either limit.
MAX_RESPONSES: Final = 2_048
MAX_RESPONSES_BYTES: Final = 32_000_000


def _id_functions() -> Iterator[IdOf]:
    """Yield a function for each id that a response may hold."""
    yield lambda seed: seed.response_id
    yield lambda seed: seed.request_id
    yield from map(_tool_call_id, range(1, MAX_TOOL_CALLS + 1))


def _tool_call_id(number: int) -> IdOf:
    return lambda seed: seed.tool_call_id(number)


_ID_FUNCTIONS: Final = tuple(_id_functions())


class ResponseTemplate(msgspec.Struct, frozen=True):
    """A reply to SAMPLE_SEED, with the places of its ids.

    `headers` lists the position of a header, a placeholder in it and the id that replaces it.
    `frames` are split at the most frequent id, which `main_id` returns; `other_ids` and
    `stored_ids` pair the remaining placeholders of the frames and all placeholders of what the
    archive stores with their ids. `has_no_secret` spares the journal another search.
    """

    reply: Reply
    headers: tuple[tuple[int, str, IdOf], ...]
    frames: tuple[TemplateFrame, ...]
    main_id: IdOf | None
    other_ids: tuple[tuple[bytes, IdOf], ...]
    stored_ids: tuple[tuple[bytes, IdOf], ...]
    size: int
    has_no_secret: bool

    def render(self, seed: Seed) -> Reply:
        """Return the reply with the ids of a seed; its frames are rendered when they are sent."""
        reply = self.reply
        headers = list(reply.headers)
        for position, placeholder, id_of in self.headers:
            name, value = headers[position]
            headers[position] = name, value.replace(placeholder, id_of(seed))
        main_id = self.main_id(seed).encode() if self.main_id else b""
        others = tuple(
            [(placeholder, id_of(seed).encode()) for placeholder, id_of in self.other_ids]
        )
        frames = RenderedFrames(self.frames, main_id, others, self.has_no_secret)
        if not reply.stored:
            return replace(reply, headers=tuple(headers), frames=frames)
        assert isinstance(reply.stored, tuple)
        ids = [(old, id_of(seed).encode()) for old, id_of in self.stored_ids]
        stored = tuple([_render_stored(record, ids) for record in reply.stored])
        return replace(reply, headers=tuple(headers), frames=frames, stored=stored)


def _render_stored(stored: ArchiveWrite, ids: Iterable[tuple[bytes, bytes]]) -> ArchiveWrite:
    name, data = stored.name, stored.data
    for placeholder, value in ids:
        name = name.replace(placeholder.decode(), value.decode())
        data = None if data is None else data.replace(placeholder, value)
    return ArchiveWrite(name, data)


class _CacheEntry(NamedTuple):
    """A step's response of one second, `created`; without a template until its second request."""

    step: Step
    created: int
    template: ResponseTemplate | Literal["never"] | None = None

    @property
    def size(self) -> int:
        return self.template.size if isinstance(self.template, ResponseTemplate) else 0


class ResponseCache:
    """The response templates of one pipeline; a response is cached at its second request."""

    def __init__(
        self, max_responses: int = MAX_RESPONSES, max_bytes: int = MAX_RESPONSES_BYTES
    ) -> None:
        self._max_responses = max_responses
        self._max_bytes = max_bytes
        self._bytes = 0
        self._lock = Lock()
        # Each entry holds its step, so that no other step gets its `id`. An entry of another
        # second is of no more use and is replaced.
        self._entries: OrderedDict[Hashable, _CacheEntry] = OrderedDict()

    def get(
        self, exchange: Exchange, decision: Decision, request: CanonicalRequest
    ) -> Reply | None:
        """Return the reply of a decision's step from its template, or None."""
        entry = self._entries.get(_key(exchange, decision, request))
        if entry is None or entry.created != exchange.created:
            return None
        template = entry.template
        return template.render(exchange.seed) if isinstance(template, ResponseTemplate) else None

    def encode(
        self, exchange: Exchange, decision: Decision, request: CanonicalRequest, encode: Encode
    ) -> Reply:
        """Return the reply that `encode` makes, and cache its template at the second request."""
        step, created = decision.step, exchange.created
        key = _key(exchange, decision, request)
        if step is None or key is None:
            return encode(exchange, decision, request)
        entry = self._entries.get(key)
        if entry is None:
            self._put(key, _CacheEntry(step, created, None if is_cacheable(step) else "never"))
        elif entry.template == "never":
            pass
        elif entry.created != created:
            self._put(key, _CacheEntry(step, created))
        else:
            reply = encode(exchange, decision, request)
            sample = encode(replace(exchange, _seed=SAMPLE_SEED), decision, request)
            template = make_template(sample, reply, exchange.seed)
            self._put(key, _CacheEntry(step, created, template or "never"))
            return reply
        return encode(exchange, decision, request)

    def _put(self, key: Hashable, entry: _CacheEntry) -> None:
        # Long responses are encoded in another thread.
        with self._lock:
            before = self._entries.get(key)
            self._bytes += entry.size - (before.size if before else 0)
            self._entries[key] = entry
            while len(self._entries) > self._max_responses or self._bytes > self._max_bytes:
                _, oldest = self._entries.popitem(last=False)
                self._bytes -= oldest.size


def _key(exchange: Exchange, decision: Decision, request: CanonicalRequest) -> Hashable:
    """Return the cache key of a response, or None if it cannot be shared between requests."""
    step, endpoint = decision.step, exchange.head.target.endpoint
    if step is None or endpoint is None or request.n > 1:
        return None
    form: Hashable = exchange.cached_request if endpoint.cacheable_by_body else None
    if endpoint.cache_key is not None:
        form = endpoint.cache_key(request)
    elif form is None:
        return None
    return (
        id(step),
        id(endpoint),
        request.stream,
        request.model,
        count_input(request),
        request.thought_tokens,
        request.cached_tokens,
        form,
    )


def is_cacheable(step: Step) -> bool:
    """Return whether a step's responses hold nothing of the text of a request."""
    answers = [scripted_answer(step.produce, stream=stream) for stream in (False, True)]
    return not step.side_effects.echo_headers and not any(
        isinstance(answer, GeneratedAnswer)
        or (isinstance(answer, ScriptedAnswer) and has_templates(answer))
        for answer in answers
    )


def make_template(sample: Reply, reply: Reply, seed: Seed) -> ResponseTemplate | None:
    """Return a template of a sample reply; None unless it renders `reply` for its seed."""
    if not isinstance(sample.frames, tuple) or not isinstance(sample.stored, tuple):
        return None
    body = sample.body
    placeholders = [(id_of(SAMPLE_SEED).encode(), id_of) for id_of in _ID_FUNCTIONS]
    headers = tuple(
        (position, placeholder.decode(), id_of)
        for position, (_, value) in enumerate(sample.headers)
        for placeholder, id_of in placeholders
        if placeholder.decode() in value
    )
    # The sort is stable: of equally frequent ids the first is the main one.
    in_body = sorted(
        ((placeholder, id_of) for placeholder, id_of in placeholders if placeholder in body),
        key=lambda pair: -body.count(pair[0]),
    )
    separator, main_id = in_body[0] if in_body else (b"", None)
    frames = tuple(
        TemplateFrame(frame.at, tuple(frame.data.split(separator)) if separator else (frame.data,))
        for frame in sample.frames
    )
    stored = b"".join(b"%b %b " % (one.name.encode(), one.data or b"") for one in sample.stored)
    template = ResponseTemplate(
        replace(sample, frames=()),
        headers,
        frames,
        main_id,
        tuple(in_body[1:]),
        tuple(pair for pair in placeholders if pair[0] in stored),
        size=len(body) + len(stored),
        has_no_secret=not names_secret(body.decode("utf-8", "backslashreplace")),
    )
    rendered = template.render(seed)
    is_same = replace(rendered, frames=tuple(rendered.frames)) == reply
    return template if is_same else None
