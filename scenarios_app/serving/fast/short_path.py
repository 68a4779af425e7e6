"""Answers a plain request in one synchronous function, from its bytes to its bytes.

It answers what needs neither waiting nor doubt: a usual head and body, and a step whose answer
depends on nothing else. The first answer of a kind is encoded as the pipeline does it; later ones
are filled into a template. For everything else it returns None before any state has changed, and
the pipeline, which is built of the same functions, answers.
"""

import time
from collections.abc import Callable, Hashable
from functools import partial
from typing import NamedTuple

import msgspec

from scenarios_app.engine.canonical import CanonicalRequest
from scenarios_app.engine.instructions import may_hold_block
from scenarios_app.engine.journal_entry import RawEntry
from scenarios_app.engine.matching.index import Entry
from scenarios_app.engine.matching.select import SCENARIO_HEADER, Decision, decide_by_id
from scenarios_app.engine.memory import MemoryState
from scenarios_app.engine.producing.produce import make_seed
from scenarios_app.engine.state import StepRef
from scenarios_app.serving.exchange import (
    Exchange,
    RequestHead,
    arrival_clock,
    preview_of,
    random_uid,
)
from scenarios_app.serving.fast.endpoints import FastEndpoint, find_fast_endpoint
from scenarios_app.serving.fast.slots import SAMPLE_CREATED, SAMPLE_SEED, SAMPLE_UID
from scenarios_app.serving.fast.templates import (
    NEVER,
    FirstAnswer,
    ResponseTemplate,
    TemplateCache,
    first_answer,
    is_plain,
    make_template,
    template_key,
    values_for,
    writes_of,
)
from scenarios_app.serving.metrics import AnswerLabels
from scenarios_app.serving.options import Options
from scenarios_app.serving.pipeline import Pipeline
from scenarios_app.serving.playback import Answer
from scenarios_app.serving.read import admit_head, complete_request, read
from scenarios_app.serving.reply import Reply, SentReply
from scenarios_app.serving.respond import respond
from scenarios_app.wire.base import Call, Endpoint
from scenarios_app.wire.registry import Target

# Longer requests would delay others noticeably.
MAX_BODY_BYTES = 16_384


class PlainAnswer(msgspec.Struct, frozen=True, gc=False):
    """An answer from a template that is due now, with everything that its journal entry is made of
    later. `entry` is the step in the index, `values` fill the template's slots, and times are those
    of an exchange."""

    options: Options
    head: RequestHead
    call: Call
    step_entry: Entry
    template: ResponseTemplate
    values: tuple[bytes, ...]
    model: str
    preview: str
    uid: str
    at: float
    began: float
    ended_at: float

    @property
    def session(self) -> str:
        return self.head.session

    @property
    def held_bytes(self) -> int:
        """Return the bytes that its entry holds: the request's body."""
        return len(self.call.body)

    @property
    def is_stream(self) -> bool:
        """Return whether the response is a stream of events."""
        return self.template.reply.streaming

    @property
    def labels(self) -> AnswerLabels:
        """Return the labels by which the answer is counted."""
        reply = self.template.reply
        provider = self.head.target.wire.provider
        return provider, "complete", reply.status // 100, "matched", reply.streaming, ""

    @property
    def duration_ms(self) -> float:
        return (self.ended_at - self.began) * 1000

    @property
    def step(self) -> tuple[str, str]:
        """Return the names of scenario and step."""
        return self.step_entry.ref

    def entry(self) -> RawEntry:
        """Return the journal entry."""
        exchange = Exchange(
            self.call,
            self.head,
            self.options,
            created=0,
            model=self.model,
            uid=self.uid,
            at=self.at,
            began=self.began,
            _request_preview=self.preview,
        )
        exchange.decide(Decision("step", "match", self.step_entry.scenario, self.step_entry.step))
        end = exchange.decided_at = self.ended_at
        reply = self.template.render(self.values)
        body = reply.body
        beginning = (body[: self.options.journal_body_bytes],)
        return exchange.entry(SentReply(reply, beginning, len(body), False, False, end, end))


def is_plain_head(head: RequestHead, call: Call) -> bool:
    """Return whether requests with this head may take the short path."""
    endpoint = head.target.endpoint
    return (
        endpoint is not None
        and endpoint.generates
        and not endpoint.always_computed
        and (endpoint.archival is None or not endpoint.archival.prefix)
        and "origin" not in call.headers
        and SCENARIO_HEADER not in call.headers
    )


class _Selection(NamedTuple):
    """The step that answers a request, with the template of its answer, None for a first one."""

    request: CanonicalRequest
    entry: Entry
    row: FastEndpoint
    key: Hashable
    template: ResponseTemplate | None


class ShortPath:
    """The short path of one pipeline, whose state is in this process. `record` gets each
    PlainAnswer; without it the pipeline records them."""

    def __init__(
        self, pipeline: Pipeline, record: Callable[[PlainAnswer], None] | None = None
    ) -> None:
        self.pipeline = pipeline
        self.templates = TemplateCache()
        assert isinstance(pipeline.state, MemoryState)
        self._state = pipeline.state
        self._record = record
        options = self._options = pipeline.options
        self._max_body_bytes = min(
            options.journal_body_bytes, options.max_body_bytes, MAX_BODY_BYTES
        )
        # By the endpoint's `id`; the endpoint is kept, so that no other gets it.
        self._rows: dict[int, tuple[Endpoint, FastEndpoint | None]] = {}

    def answer(self, head: RequestHead, call: Call) -> PlainAnswer | Answer | None:
        """Return the answer to a call with a plain head, or None if the pipeline has to answer. A
        PlainAnswer is due now; an Answer is sent and recorded as the pipeline's are."""
        at, began, now = arrival_clock.read()
        pipeline, options = self.pipeline, self._options
        if pipeline.recordings or pipeline.changes.by_session:
            return None
        if len(call.body) > self._max_body_bytes:
            return None
        try:
            selection = self._select(head, call)
        except Exception:
            # No state has changed. The pipeline meets the same error, and answers and logs it.
            return None
        if selection is None:
            return None
        request, entry, row, _, template = selection
        ordinal = self._arrive(head.session, entry)
        if ordinal is None:
            return None
        seed = make_seed(head.session, call.method, call.path, call.body, ordinal)
        uid = random_uid()
        created = int(now) if options.clock is None else options.clock
        if template is None or not template.is_immediate:
            exchange = Exchange(
                *(call, head, options, created, ordinal, request),
                uid=uid,
                at=at,
                began=began,
                _seed=seed,
            )
            return self._answer_exchange(exchange, selection)
        values = template.values_of(
            values_for(row, request, seed, created, uid, counts_input=template.counts_input)
        )
        for name, data in template.writes(values):
            self._state.store_response(head.session, name, data)
        answer = PlainAnswer(
            *(options, head, call, entry, template, values, request.model, preview_of(request)),
            *(uid, at, began, time.monotonic()),
        )
        if self._record is not None:
            self._record(answer)
        elif pipeline.record is not None:
            pipeline.record(answer.entry())
        return answer

    def _select(self, head: RequestHead, call: Call) -> _Selection | None:
        """Return the parsed request with the step that answers it and its template, or None.
        Changes nothing but templates; may raise any error of the pipeline."""
        target, options = head.target, self._options
        endpoint = target.endpoint
        assert endpoint is not None
        row = self._row_of(endpoint)
        if row is None:
            return None
        if not head.is_admitted:
            admit_head(call, target, options, has_api_key=head.has_api_key)
            head.is_admitted = True
        request = read_fast(call, target, row, options)
        if (archival := endpoint.archival) is not None:
            if archival.references(request, {}):
                return None
            request = archival.resolve(request, {})
        streams = self.pipeline.streams
        if request.computed or (request.stream and streams.taken >= streams.maximum):
            return None
        arrival = self._state.peek(head.session)
        index = self.pipeline.catalog.index_for(arrival.documents, arrival.revision)
        if decide_by_id(index, request) or (options.inband and may_hold_block(request)):
            return None
        entry = index.first(request, arrival.consumed)
        key = template_key(entry.step, row, request) if entry is not None else None
        if entry is None or key is None:
            return None
        value = self.templates.get(key)
        if value is None and not is_plain(entry):
            value = NEVER
            self.templates.put(key, entry.step, value)
        elif isinstance(value, FirstAnswer):
            encode = partial(self._encode_sample, head, call, entry)
            value = make_template(row, request, value, encode) or NEVER
            self.templates.put(key, entry.step, value)
        return None if value == NEVER else _Selection(request, entry, row, key, value)

    def _row_of(self, endpoint: Endpoint) -> FastEndpoint | None:
        """Return the cached row of an endpoint."""
        pair = self._rows.get(id(endpoint))
        if pair is None:
            pair = self._rows[id(endpoint)] = endpoint, find_fast_endpoint(endpoint)
        return pair[1]

    def _arrive(self, session: str, entry: Entry) -> int | None:
        """Count a request in its session, consume its step, and return the request's number; None
        if the step is consumed already."""
        step = entry.step
        ref = StepRef(entry.scenario.name, step.key, step.label) if step.consume else None
        return self._state.arrive_and_consume(session, ref)

    def _encode_sample(
        self, head: RequestHead, call: Call, entry: Entry, request: CanonicalRequest
    ) -> Reply:
        """Return the reply of a step to a request, with sample values."""
        exchange = Exchange(
            *(call, head, self._options, SAMPLE_CREATED),
            uid=SAMPLE_UID,
            at=SAMPLE_CREATED,
            began=0.0,
            _seed=SAMPLE_SEED,
        )
        return self._encode(exchange, entry, request)

    def _encode(self, exchange: Exchange, entry: Entry, request: CanonicalRequest) -> Reply:
        """Return the reply of a step to a request, with all its headers."""
        decision = Decision("step", "match", entry.scenario, entry.step)
        exchange.decide(decision)
        reply = respond(exchange, decision, request)
        return self.pipeline.with_mockllm_headers(exchange, reply)

    def _answer_exchange(self, exchange: Exchange, selection: _Selection) -> Answer:
        """Return the answer of a first request, which is encoded, or the paced one of a later
        request, from its template."""
        request, entry, row, key, template = selection
        pipeline, session = self.pipeline, exchange.session
        exchange.streaming = request.stream and pipeline.streams.take()
        values = values_for(row, request, exchange.seed, exchange.created, exchange.uid)
        if template is not None:
            exchange.decide(Decision("step", "match", entry.scenario, entry.step))
            filled = template.values_of(values)
            reply, writes = template.render(filled), template.writes(filled)
        else:
            try:
                reply = self._encode(exchange, entry, request)
            except Exception:
                reply = pipeline.failure_reply(exchange)
            self.templates.put(key, entry.step, first_answer(reply, values) or NEVER)
            writes = writes_of(reply)
        for name, data in writes:
            self._state.store_response(session, name, data)
        pipeline.release(exchange)
        return Answer(reply, exchange, pipeline)


def read_fast(call: Call, target: Target, row: FastEndpoint, options: Options) -> CanonicalRequest:
    """Return the parsed request of an admitted call, by the row's reader if that reads it; raises
    WireError."""
    endpoint, limits = target.endpoint, options.limits
    assert endpoint is not None
    request = None
    if row.read is not None and "content-encoding" not in call.headers:
        request = row.read(call, endpoint, target.params, limits)
    if request is None:
        return read(call, target, options)
    return complete_request(request, call, target, limits)
