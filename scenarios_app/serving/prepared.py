"""Answers that are encoded once: a step's answers to requests that are alike differ in their ids
alone, so one that is asked for again is kept, with holes where its ids stand."""

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
from scenarios_app.serving.reply import FilledFrames, HoledFrame, Reply
from scenarios_app.wire.base import ArchiveWrite

Find: TypeAlias = Callable[[Seed], str]
Make: TypeAlias = Callable[[Exchange, Decision, CanonicalRequest], Reply]

# The seed of no request: its ids are the holes.
SPECIMEN: Final = Seed("specimen")
# So many ids of tool calls are looked for in an answer.
CALLS: Final = 32
# So many answers are known, with so many bytes; the one that was met first makes room.
MOST: Final = 2_048
MOST_BYTES: Final = 32_000_000


def _finds() -> Iterator[Find]:
    """Every id that a request's seed gives to an answer."""
    yield lambda seed: seed.response_id
    yield lambda seed: seed.request_id
    yield from map(_call_id, range(1, CALLS + 1))


def _call_id(number: int) -> Find:
    return lambda seed: seed.tool_call_id(number)


_FINDS: Final = tuple(_finds())


class Prepared(msgspec.Struct, frozen=True):
    """A reply with the specimen's ids in its headers, and which of these are in which; its frames,
    with holes for the id that they have most often, where they have one; which others they have;
    which of all of them are in what is stored; how large it is; and whether it names no secret, so
    that nobody has to look again."""

    reply: Reply
    headers: tuple[tuple[int, str, Find], ...]
    frames: tuple[HoledFrame, ...]
    id: Find | None
    others: tuple[tuple[bytes, Find], ...]
    stored: tuple[tuple[bytes, Find], ...]
    size: int
    plain: bool

    def filled(self, seed: Seed) -> Reply:
        """The reply to the request of a seed, filled when it is sent."""
        reply = self.reply
        headers = list(reply.headers)
        for place, hole, find in self.headers:
            name, value = headers[place]
            headers[place] = name, value.replace(hole, find(seed))
        own = self.id(seed).encode() if self.id else b""
        others = tuple([(hole, find(seed).encode()) for hole, find in self.others])
        frames = FilledFrames(self.frames, own, others, self.plain)
        if not reply.stored:
            return replace(reply, headers=tuple(headers), frames=frames)
        assert isinstance(reply.stored, tuple)
        ids = [(hole, find(seed).encode()) for hole, find in self.stored]
        stored = tuple([_filled(one, ids) for one in reply.stored])
        return replace(reply, headers=tuple(headers), frames=frames, stored=stored)


def _filled(stored: ArchiveWrite, ids: Iterable[tuple[bytes, bytes]]) -> ArchiveWrite:
    name, data = stored.name, stored.data
    for hole, value in ids:
        name = name.replace(hole.decode(), value.decode())
        data = None if data is None else data.replace(hole, value)
    return ArchiveWrite(name, data)


class _Known(NamedTuple):
    """What was `made` of a step's answer, which says that it was `created` in that second; nothing
    as long as it was asked for once."""

    step: Step
    created: int
    made: Prepared | Literal["never"] | None = None

    @property
    def size(self) -> int:
        return self.made.size if isinstance(self.made, Prepared) else 0


class PreparedAnswers:
    """The answers of one pipeline that were asked for more than once; no more than `most`, and
    about so many bytes of them."""

    def __init__(self, most: int = MOST, most_bytes: int = MOST_BYTES) -> None:
        self._most = most
        self._most_bytes = most_bytes
        self._bytes = 0
        self._lock = Lock()
        # With each its step: as long as that is held no other one has its `id`. What was made in
        # another second is of no more use, and makes room for what is made in this one.
        self._known: OrderedDict[Hashable, _Known] = OrderedDict()

    def find(
        self, exchange: Exchange, decision: Decision, request: CanonicalRequest
    ) -> Reply | None:
        """The reply of a decision's step, if it was prepared."""
        known = self._known.get(_key(exchange, decision, request))
        if known is None or known.created != exchange.created:
            return None
        made = known.made
        return made.filled(exchange.seed) if isinstance(made, Prepared) else None

    def reply(
        self, exchange: Exchange, decision: Decision, request: CanonicalRequest, make: Make
    ) -> Reply:
        """The reply of a decision's step as `make` makes it; the second time it is prepared."""
        step, created = decision.step, exchange.created
        key = _key(exchange, decision, request)
        if step is None or key is None:
            return make(exchange, decision, request)
        known = self._known.get(key)
        if known is None:
            can = can_be_prepared(step)
            self._put(key, _Known(step, created, None if can else "never"))
        elif known.made == "never":
            pass
        elif known.created != created:
            self._put(key, _Known(step, created))
        else:
            reply = make(exchange, decision, request)
            specimen = make(replace(exchange, _seed=SPECIMEN), decision, request)
            made = prepared(specimen, reply, exchange.seed)
            self._put(key, _Known(step, created, made or "never"))
            return reply
        return make(exchange, decision, request)

    def _put(self, key: Hashable, known: _Known) -> None:
        # Long answers are made in another thread.
        with self._lock:
            before = self._known.get(key)
            self._bytes += known.size - (before.size if before else 0)
            self._known[key] = known
            while len(self._known) > self._most or self._bytes > self._most_bytes:
                _, oldest = self._known.popitem(last=False)
                self._bytes -= oldest.size


def _key(exchange: Exchange, decision: Decision, request: CanonicalRequest) -> Hashable:
    """What answers have in common that differ in their ids alone; None for one of its own kind."""
    step, endpoint = decision.step, exchange.head.target.endpoint
    if step is None or endpoint is None or request.n > 1:
        return None
    form: Hashable = exchange.known if endpoint.cacheable_by_body else None
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


def can_be_prepared(step: Step) -> bool:
    """Whether nothing in a step's answers is made from what a request says."""
    answers = [scripted_answer(step.produce, stream=stream) for stream in (False, True)]
    return not step.side_effects.echo_headers and not any(
        isinstance(answer, GeneratedAnswer)
        or (isinstance(answer, ScriptedAnswer) and has_templates(answer))
        for answer in answers
    )


def prepared(specimen: Reply, reply: Reply, seed: Seed) -> Prepared | None:
    """The specimen of a reply with its holes; None unless filling them gives that reply."""
    if not isinstance(specimen.frames, tuple) or not isinstance(specimen.stored, tuple):
        return None
    body, holes = specimen.body, [(find(SPECIMEN).encode(), find) for find in _FINDS]
    headers = tuple(
        (place, hole.decode(), find)
        for place, (_, value) in enumerate(specimen.headers)
        for hole, find in holes
        if hole.decode() in value
    )
    # The first of those that are there as often.
    there = sorted((one for one in holes if one[0] in body), key=lambda one: -body.count(one[0]))
    most = there[0] if there else None
    frames = tuple(
        HoledFrame(frame.at, tuple(frame.data.split(most[0])) if most else (frame.data,))
        for frame in specimen.frames
    )
    bare = replace(specimen, frames=())
    kept = b"".join(b"%b %b " % (one.name.encode(), one.data or b"") for one in specimen.stored)
    stored = tuple(one for one in holes if one[0] in kept)
    find, others, size = most[1] if most else None, tuple(there[1:]), len(body) + len(kept)
    plain = not names_secret(body.decode("utf-8", "backslashreplace"))
    made = Prepared(bare, headers, frames, find, others, stored, size, plain)
    filled = made.filled(seed)
    same = replace(filled, frames=tuple(filled.frames)) == reply
    return made if same else None
