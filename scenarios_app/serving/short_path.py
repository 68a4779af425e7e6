"""Answers a plain request in one synchronous function, from its bytes to its bytes.

It answers what needs neither waiting nor doubt: a usual head and body, and a step whose response is
a template. For everything else it returns None before any state has changed, and the pipeline,
which is built of the same functions, answers.
"""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Protocol

import msgspec
from msgspec.structs import replace

from mockllm_site.kit.testcase import running_scope
from scenarios_app.engine.canonical import CanonicalRequest, Json
from scenarios_app.engine.changes import AnswerChanges
from scenarios_app.engine.instructions import may_hold_block
from scenarios_app.engine.matching.index import Entry, Index
from scenarios_app.engine.matching.select import SCENARIO_HEADER, Decision, decide_by_id
from scenarios_app.engine.memory import MemoryState
from scenarios_app.engine.producing.produce import make_seed
from scenarios_app.engine.producing.slots import Values
from scenarios_app.engine.state import StepRef
from scenarios_app.journal.entry import JournalEntry
from scenarios_app.serving.exchange import (
    Exchange,
    RequestHead,
    arrival_time,
    preview_of,
    random_uid,
)
from scenarios_app.serving.options import Options
from scenarios_app.serving.playback import ProcessLimit
from scenarios_app.serving.read import read
from scenarios_app.serving.recorder.recordings import Recordings
from scenarios_app.serving.reply import SentPrefix, SentReply
from scenarios_app.serving.templates import HttpTemplate, ResponseTemplate, TemplateCache
from scenarios_app.wire.base import Call

# Longer requests would delay others noticeably.
MAX_BODY_BYTES = 16_384


class Catalog(Protocol):
    """Supplies the index of the scenarios that apply to a session."""

    def index_for(self, documents: Mapping[str, Json], version: int) -> Index:
        """Return the common scenarios, overridden by a session's own documents."""


class PlainAnswer(msgspec.Struct, frozen=True, gc=False):
    """An answer of the short path, with everything that its journal entry is made of later.
    `step_entry` is the step in the index, `values` fill the template's slots, and times are those
    of an exchange."""

    options: Options
    head: RequestHead
    call: Call
    step_entry: Entry
    template: ResponseTemplate
    http: HttpTemplate
    values: tuple[bytes, ...]
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
        """Return the bytes that its entry holds: the request's body."""
        return len(self.call.body)

    def entry(self) -> JournalEntry:
        """Return the journal entry."""
        exchange = Exchange(
            self.call,
            self.head,
            self.options,
            created=0,
            model=self.model,
            stream=self.stream,
            uid=self.uid,
            at=self.at,
            began=self.began,
            _request_preview=self.preview,
        )
        exchange.decide(Decision("step", "match", self.step_entry.scenario, self.step_entry.step))
        exchange.decided_at = self.decided_at
        reply = self.template.render(self.values)
        reply = replace(reply, headers=exchange.response_headers(reply.headers, self.uid))
        size = self.http.body.length(self.values)
        body = SentPrefix(reply.frames, size, self.options.journal_body_bytes)
        end = self.ended_at
        return exchange.entry(SentReply(reply, body, size, False, False, end, end))


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


@dataclass(frozen=True, slots=True)
class ShortPath:
    """The short path of one pipeline, whose parts it shares; `state` is in this process."""

    state: MemoryState
    catalog: Catalog
    templates: TemplateCache
    streams: ProcessLimit
    recordings: Recordings
    changes: AnswerChanges
    options: Options
    record: Callable[[PlainAnswer], None] | None

    def answer(self, head: RequestHead, call: Call) -> PlainAnswer | None:
        """Return the answer to a call with a plain head, or None if the pipeline has to answer."""
        began, now = time.monotonic(), arrival_time()
        options, session = self.options, head.session
        if self.recordings or self.changes.by_session or not head.is_admitted or running_scope():
            return None
        if len(call.body) > min(options.journal_body_bytes, options.max_body_bytes, MAX_BODY_BYTES):
            return None
        try:
            selection = self._select(head, call)
        except Exception:
            # No state has changed. The pipeline meets the same error, and answers and logs it.
            return None
        if selection is None:
            return None
        request, entry, template, http = selection
        decided_at = time.monotonic()
        step = entry.step
        ref = StepRef(entry.scenario.name, step.key, step.label) if step.consume else None
        ordinal = self.state.arrive_and_consume(session, ref)
        if ordinal is None:
            return None
        seed = make_seed(session, call.method, call.path, call.body, ordinal)
        uid = random_uid()
        created = int(time.time()) if options.clock is None else options.clock
        values = template.values(Values(request, seed, created, uid))
        for name, data in template.stored:
            self.state.store_response(session, name.fill_text(values), data.fill(values))
        answer = PlainAnswer(
            *(options, head, call, entry, template, http, values, request.model, request.stream),
            *(preview_of(request), uid, now, began, decided_at, time.monotonic()),
        )
        if self.record is not None:
            self.record(answer)
        return answer

    def _select(
        self, head: RequestHead, call: Call
    ) -> tuple[CanonicalRequest, Entry, ResponseTemplate, HttpTemplate] | None:
        """Return the parsed request with the step that answers it and its template, or None.
        Changes nothing; may raise any error of the pipeline."""
        endpoint, options = head.target.endpoint, self.options
        assert endpoint is not None
        request = read(call, head.target, options)
        if (archival := endpoint.archival) is not None:
            if archival.references(request, {}):
                return None
            request = archival.resolve(request, {})
        if request.computed or (request.stream and self.streams.taken >= self.streams.maximum):
            return None
        arrival = self.state.peek(head.session)
        index = self.catalog.index_for(arrival.documents, arrival.revision)
        if decide_by_id(index, request) or (options.inband and may_hold_block(request)):
            return None
        entry = index.first(request, arrival.consumed)
        if entry is None or not entry.plain:
            return None
        template = self.templates.get(entry.step, endpoint, request)
        if template is None or template.http is None:
            return None
        return request, entry, template, template.http
