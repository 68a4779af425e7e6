"""Answers a plain request in one synchronous function, from its bytes to its bytes.

It answers what needs neither waiting nor doubt: a usual head and body, and a step whose response is
a template. For everything else it returns None before any state has changed, and the pipeline,
which is built of the same functions, answers.
"""

import time
from collections.abc import Mapping
from typing import Protocol

import msgspec

from mockllm_site.kit.testcase import running_scope
from scenarios_app.engine.canonical import Json
from scenarios_app.engine.instructions import may_hold_block
from scenarios_app.engine.matching.index import Entry, Index
from scenarios_app.engine.matching.select import SCENARIO_HEADER, Decision, decide_by_id
from scenarios_app.engine.memory import MemoryState
from scenarios_app.engine.producing.produce import make_seed
from scenarios_app.engine.producing.slots import Values
from scenarios_app.engine.state import StepRef
from scenarios_app.journal.entry import JournalEntry
from scenarios_app.serving.exchange import Exchange, RequestHead, preview_of, random_uid
from scenarios_app.serving.options import Options
from scenarios_app.serving.playback import Streams
from scenarios_app.serving.read import read
from scenarios_app.serving.recorder.recordings import Recordings
from scenarios_app.serving.reply import Reply, SentPrefix, SentReply
from scenarios_app.serving.templates import HttpTemplate, ResponseTemplate, TemplateCache
from scenarios_app.wire.base import Call
from scenarios_app.wire.errors import WireError

# Longer requests take long enough to have others wait for them.
MAX_BODY_BYTES = 16_384


class Catalog(Protocol):
    """The compiled scenarios."""

    def index_for(self, documents: Mapping[str, Json], version: int) -> Index:
        """Return the common scenarios, overridden by a session's own documents."""


class ShortPathParts(Protocol):
    """What the short path uses of the pipeline. `local_state` is None if it is not in this
    process."""

    options: Options
    catalog: Catalog
    local_state: MemoryState | None
    streams: Streams
    templates: TemplateCache
    recordings: Recordings

    def record(self, answer: "PlainAnswer") -> None: ...
    def with_mockllm_headers(self, exchange: Exchange, reply: Reply) -> Reply: ...


class PlainAnswer(msgspec.Struct, frozen=True, gc=False):
    """An answer of the short path, and all that its journal entry is made of later. `filled` are
    the values of the template's slots; times are those of an exchange."""

    pipeline: ShortPathParts
    head: RequestHead
    call: Call
    chosen: Entry
    template: ResponseTemplate
    http: HttpTemplate
    filled: tuple[bytes, ...]
    model: str
    stream: bool
    preview: str
    uid: str
    at: float
    began: float
    decided_at: float
    ended_at: float

    @property
    def session(self) -> str:
        return self.head.session

    @property
    def held_bytes(self) -> int:
        return len(self.call.body)

    def entry(self) -> JournalEntry:
        """Return the journal entry."""
        exchange = Exchange(
            self.call,
            self.head,
            self.pipeline.options,
            created=0,
            model=self.model,
            stream=self.stream,
            uid=self.uid,
            at=self.at,
            began=self.began,
            _request_preview=self.preview,
        )
        exchange.decide(Decision("step", "match", self.chosen.scenario, self.chosen.step))
        exchange.decided_at = self.decided_at
        reply = self.pipeline.with_mockllm_headers(exchange, self.template.render(self.filled))
        size = self.http.body.length(self.filled)
        body = SentPrefix(reply.frames, size, exchange.options.journal_body_bytes)
        end = self.ended_at
        return exchange.entry(SentReply(reply, body, size, False, False, end, end))


def is_plain_head(head: RequestHead, call: Call) -> bool:
    """Return whether requests with this head may be plain."""
    endpoint = head.target.endpoint
    return (
        endpoint is not None
        and endpoint.generates
        and not endpoint.always_computed
        and (endpoint.archival is None or not endpoint.archival.prefix)
        and "origin" not in call.headers
        and SCENARIO_HEADER not in call.headers
    )


def answer_now(pipeline: ShortPathParts, head: RequestHead, call: Call) -> PlainAnswer | None:
    """Return the answer to a call with a plain head, or None if the pipeline has to answer."""
    began, now = time.monotonic(), time.time()
    state, options, session = pipeline.local_state, pipeline.options, head.session
    if state is None or pipeline.recordings or not head.is_admitted:
        return None
    if len(call.body) > min(options.journal_body_bytes, MAX_BODY_BYTES) or running_scope():
        return None
    endpoint = head.target.endpoint
    assert endpoint is not None
    try:
        request = read(call, head.target, options)
        if (archival := endpoint.archival) is not None:
            if archival.references(request, {}):
                return None
            request = archival.resolve(request, {})
    except WireError:
        return None
    if request.computed or (request.stream and pipeline.streams.open >= pipeline.streams.most):
        return None
    found = state.peek(session)
    index = pipeline.catalog.index_for(found.documents, found.revision)
    if decide_by_id(index, request) or (options.inband and may_hold_block(request)):
        return None
    chosen = index.first(request, found.consumed)
    if chosen is None or not chosen.plain:
        return None
    step = chosen.step
    template = pipeline.templates.get(step, endpoint, call, request)
    if template is None or template.http is None:
        return None
    decided_at = time.monotonic()
    ref = StepRef(chosen.scenario.name, step.key, step.label) if step.consume else None
    ordinal = state.arrive_and_consume(session, ref)
    if ordinal is None:
        return None
    seed = make_seed(session, call.method, call.path, call.body, ordinal)
    uid = random_uid()
    created = int(now) if options.clock is None else options.clock
    filled = template.values(Values(request, seed, created, uid))
    for name, data in template.stored:
        state.store_response(session, name.fill_text(filled), data.fill(filled))
    answer = PlainAnswer(
        pipeline,
        head,
        call,
        chosen,
        template,
        template.http,
        filled,
        request.model,
        request.stream,
        preview_of(request),
        uid,
        now,
        began,
        decided_at,
        time.monotonic(),
    )
    pipeline.record(answer)
    return answer
