"""Answers provider requests of every transport."""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import Protocol, TypeAlias

from msgspec.structs import replace

from scenarios_app.engine.canonical import CanonicalRequest, ErrorAnswer, Json
from scenarios_app.engine.changes import AnswerChanges
from scenarios_app.engine.journal_entry import RawEntry
from scenarios_app.engine.matching.index import (
    Index,
    names_path,
    refuses_upgrade,
    replays_recording,
)
from scenarios_app.engine.matching.select import Decision
from scenarios_app.engine.secrets import secrets_of
from scenarios_app.engine.state import AnswerState, StateUnavailable
from scenarios_app.serving.archive import recall_archived, store
from scenarios_app.serving.choose import StepSelection, choose_in_band, with_cancel
from scenarios_app.serving.cors import POLICY, preflight_headers, shared_headers
from scenarios_app.serving.exchange import Exchange, RequestHead, arrival_clock, head_of
from scenarios_app.serving.executor import (
    Work,
    run_cooperatively,
    run_in_thread,
    run_inline,
    work_for,
)
from scenarios_app.serving.options import Options
from scenarios_app.serving.playback import Answer, ProcessLimit, never
from scenarios_app.serving.read import admit_head, admit_unread, check_size, read
from scenarios_app.serving.recorder.miss_policy import (
    OURS_ALONE,
    UpstreamNeeded,
    forward_or_miss,
    replay_or_forward,
)
from scenarios_app.serving.recorder.proxy import ProxiedResponse
from scenarios_app.serving.recorder.recordings import Recording, Recordings, recording_of
from scenarios_app.serving.reply import Reply, SentReply
from scenarios_app.serving.respond import (
    computed_reply,
    error_reply,
    is_generated_for_schemas,
    is_long_script,
    refusal_reply,
    respond,
    with_headers,
)
from scenarios_app.wire.base import Call, ComputeContext, Headers, SubResponse, Wire
from scenarios_app.wire.errors import WireError

log = logging.getLogger(__name__)

# Default answers are logged for the first sessions only, so that a load test fills no log.
MAX_WARNED_SESSIONS = 100
# Request bodies held for the journal: any up to the first size, others up to the second in all.
SMALL_BODY_BYTES = 65_536
HELD_BODY_BYTES = 134_217_728
MODEL_OWNER = "mockllm"  # of models that no provider ships

# Makes the catalog read the change with this number, which another process may have made.
CatchUp: TypeAlias = Callable[[int], Awaitable[None]]


class Catalog(Protocol):
    """Supplies the index of the scenarios that apply to a session."""

    def index_for(self, documents: Mapping[str, Json], version: int) -> Index:
        """Return the common scenarios, overridden by a session's own documents."""


class Pipeline:
    """Turns the calls of all transports into answers, without access to the database."""

    def __init__(
        self,
        *,
        catalog: Catalog,
        state: AnswerState,
        options: Options,
        record: Callable[[RawEntry], None] | None = None,
        drain_at: Callable[[], float] = never,
        catch_up: CatchUp | None = None,
        unmatched_note: Callable[[], str] = str,
    ) -> None:
        self.options = options
        self.streams = ProcessLimit(options.max_streams)
        self._held_bodies = ProcessLimit(HELD_BODY_BYTES)
        self.catalog = catalog
        self.state = state
        self.record = record
        self.drain_at = drain_at
        # True if session state is in Redis, so that every answer waits for it.
        self.waits = catch_up is not None
        self._catch_up = catch_up
        self._unmatched_note = unmatched_note
        self.recordings: Recordings = {}
        self.changes = AnswerChanges()
        self._warned: set[str] = set()

    async def answer(self, call: Call, head: RequestHead | None = None) -> Answer:
        """Return the answer to a call; a transport may pass its cached `head`. The answer records
        itself in the journal when the transport has sent it."""
        if call.method == "OPTIONS":
            allowed = preflight_headers(call, self.options.cors_origins)
            if allowed is not None:
                return Answer(Reply(204, (*allowed, *POLICY)), None, self)
        if len(call.body) > self.options.max_body_bytes:
            return self.refuse(replace(call, body=b""), self.too_large())
        exchange = self.new_exchange(call, head)
        recordings = self.recordings
        recording = recording_of(recordings, exchange.session) if recordings else None
        try:
            reply = await self.reply_to(exchange, recording)
        except UpstreamNeeded as forward:
            self.release(exchange)
            assert recording is not None
            return ProxiedResponse(forward.out, recording, exchange, self)
        except asyncio.CancelledError:
            reply = Reply(499, started=False)
            self.close_exchange(
                exchange, SentReply(reply, (), 0, True, False, None, time.monotonic())
            )
            raise
        for violation in exchange.violations:
            names = (exchange.session, *exchange.answered_by, violation)
            log.warning("session %s, scenario %s, step %s: %s", *names)
        if exchange.decision is not None and exchange.decision.fallback:
            self._warn_of_default_answer(exchange, exchange.decision)
        self.release(exchange)
        return self._answer(exchange, reply)

    async def reply_to(self, exchange: Exchange, recording: Recording | None = None) -> Reply:
        """Return the reply to an exchange, errors included.

        Raises UpstreamNeeded if its recording asks the upstream instead.
        """
        try:
            return await self._build_reply(exchange, recording)
        except UpstreamNeeded:
            raise
        except WireError as error:
            if recording is not None and error.answer.status not in OURS_ALONE:
                forward_or_miss(exchange, recording)
            return refusal_reply(exchange, error.answer)
        except StateUnavailable as error:
            return error_reply(exchange, ErrorAnswer(503, str(error), retry_after_ms=1000))
        except Exception:
            return self.failure_reply(exchange)

    def failure_reply(self, exchange: Exchange) -> Reply:
        """Log the exception that is being handled; return the error that takes the reply's
        place."""
        log.exception("%s %s could not be answered", exchange.call.method, exchange.call.path)
        message = "The mock server failed to answer this request; its log says why."
        return error_reply(exchange, ErrorAnswer(500, message))

    async def refuse_upgrade(self, call: Call, head: RequestHead) -> Answer | None:
        """Return the first free step's refusal of a WebSocket, a 503 without state, or None."""
        session, endpoint = head.session, head.target.endpoint
        assert endpoint is not None
        try:
            version, documents = await self.state.scenarios_of(session)
            index = self.catalog.index_for(documents, version)
            if not index.refuses_upgrades:
                return None
            arrival = await self.state.arrive(session)
            request = CanonicalRequest(
                provider=head.target.wire.provider,
                path=call.path,
                route=endpoint.canonical,
                model=call.query.get("model", ""),
                headers=call.headers,
            )
            selection = StepSelection(index, request, session, arrival.consumed, self.state)
            decision = await selection.first_of(refuses_upgrade)
        except StateUnavailable as error:
            return self.refuse(call, ErrorAnswer(503, str(error), retry_after_ms=1000), head)
        if decision is None:
            return None
        exchange = self.new_exchange(call, head)
        exchange.ordinal = arrival.ordinal
        exchange.decide(decision)
        return self._answer(exchange, respond(exchange, decision, request))

    def refuse(self, call: Call, error: ErrorAnswer, head: RequestHead | None = None) -> Answer:
        """Return an error answer to a call whose request is not parsed."""
        exchange = self.new_exchange(call, head)
        return self._answer(exchange, refusal_reply(exchange, error))

    def refusal_of_head(self, call: Call) -> ErrorAnswer | None:
        """Return the error if the head alone is refused, so that the body need not be read; else
        None."""
        try:
            admit_head(call, head_of(call).target, self.options)
        except WireError as error:
            return error.answer
        return None

    def too_large(self) -> ErrorAnswer:
        """Return the 413 for a body that is too large."""
        return ErrorAnswer(
            413, f"The request's body is larger than {self.options.max_body_bytes} bytes."
        )

    async def _build_reply(self, exchange: Exchange, recording: Recording | None) -> Reply:
        """Return the reply of a step, a recording or the endpoint itself; raise WireError,
        StateUnavailable or UpstreamNeeded."""
        call, head, options = exchange.call, exchange.head, self.options
        work, session = work_for(size=len(call.body)), head.session
        if recording is not None:
            await recording.give_cassettes(session)
        try:
            request = await self._read_request(exchange, work)
        except WireError:
            if (reply := await self._recorded_reply(exchange, work, recording)) is None:
                raise
            return reply
        endpoint = head.target.endpoint
        assert endpoint is not None
        if request.stream:
            exchange.streaming = self.streams.take()
            if not exchange.streaming:
                message = f"All {options.max_streams} streams of this server are in use."
                return error_reply(exchange, ErrorAnswer(503, message, retry_after_ms=1000))
        arrival = await self.state.arrive(session)
        exchange.ordinal = arrival.ordinal
        if arrival.changes and self._catch_up is not None:
            await self._catch_up(arrival.changes)
        index = self.catalog.index_for(arrival.documents, arrival.revision)
        selection = StepSelection(
            *(index, request, session, arrival.consumed, self.state, work, self._secrets(call)),
            changes=self.changes if self.changes.by_session else None,
        )
        decision: Decision | None = None
        if request.computed or endpoint.always_computed:
            if index.recorded:
                decision = await selection.first_of(replays_recording)
        elif endpoint.generates:
            in_band = await work(choose_in_band, call, request, options)
            decision = in_band or with_cancel(await selection.choose(), options)
        else:
            # A step that names the path answers in place of a computed answer.
            decision = await selection.first_of(names_path)
        if decision is None:
            return await self._computed_reply(exchange, index, recording)
        return await self._respond_and_store(exchange, decision, work, recording)

    async def _read_request(self, exchange: Exchange, work: Work) -> CanonicalRequest:
        """Return the parsed request with the stored responses that it names; raises WireError."""
        call, head, options = exchange.call, exchange.head, self.options
        if not head.is_admitted:
            admit_head(call, head.target, options, has_api_key=head.has_api_key)
            head.is_admitted = True
        request = await work(read, call, head.target, options)
        exchange.request = request
        endpoint = head.target.endpoint
        assert endpoint is not None
        if (archival := endpoint.archival) is not None:
            there = await recall_archived(
                request, archival, head.session, archive=self.state, link=call.link
            )
            exchange.request = request = archival.resolve(request, there)
            check_size(request, options.limits)
        return request

    async def _recorded_reply(
        self, exchange: Exchange, work: Work, recording: Recording | None
    ) -> Reply | None:
        """Return the reply of a recorded step to a call that cannot be read, or None.

        The error is not a parameter: held by its own traceback's frame, it would keep the call's
        body alive.
        """
        try:
            version, documents = await self.state.scenarios_of(exchange.session)
        except StateUnavailable:
            return None
        index = self.catalog.index_for(documents, version)
        if not index.recorded:
            return None
        try:
            request = await work(admit_unread, exchange.call, exchange.target, self.options)
        except WireError:
            return None
        arrival = await self.state.arrive(exchange.session)
        consumed = arrival.consumed
        selection = StepSelection(index, request, exchange.session, consumed, self.state, work)
        decision = await selection.first_of(replays_recording)
        if decision is None:
            return None
        exchange.request = request
        exchange.ordinal = arrival.ordinal
        return await self._respond_and_store(exchange, decision, work, recording)

    async def _respond_and_store(
        self, exchange: Exchange, decision: Decision, work: Work, recording: Recording | None
    ) -> Reply:
        """Return the reply of a decision, and store in the archive what later requests may name."""
        request = exchange.request
        assert request is not None
        if recording is not None:
            decision = replay_or_forward(exchange, recording, decision)
        if decision.kind == "unmatched" and (note := self._unmatched_note()):
            decision = decision._replace(text=f"{decision.text}. {note}")
        exchange.decide(decision)
        if is_generated_for_schemas(decision, request):
            work = run_in_thread
        elif work is run_inline and is_long_script(decision, stream=request.stream):
            work = run_cooperatively
        reply = await work(respond, exchange, decision, request)
        if reply.stored:
            stored = reply.stored
            stored = stored if isinstance(stored, tuple) else await run_in_thread(stored)
            secrets = self._secrets(exchange.call)
            await store(stored, exchange.session, archive=self.state, secrets=secrets)
        return reply

    def _secrets(self, call: Call) -> tuple[str, ...]:
        """Return the call's keys that occur in its body too, to be masked in stored responses; none
        if state stays in this process."""
        if not self.waits:
            return ()
        secrets = secrets_of(call.headers, call.query)
        return tuple(secret for secret in secrets if secret.encode() in call.body)

    async def _computed_reply(
        self, exchange: Exchange, index: Index, recording: Recording | None
    ) -> Reply:
        """Return the reply that an endpoint computes from the request; in a recording, the
        upstream's."""
        endpoint, request = exchange.target.endpoint, exchange.request
        assert endpoint is not None and endpoint.compute is not None and request is not None
        if recording is not None and (recording.records or not endpoint.always_computed):
            decision = forward_or_miss(exchange, recording)
            exchange.decide(decision)
            return respond(exchange, decision, request)
        exchange.computed = True
        models = _listed_models(exchange.wire, index, self.options.models)
        carried = endpoint.sub_requests(request) if endpoint.sub_requests else ()
        answers = tuple([await self._answer_sub_request(call) for call in carried])
        context = ComputeContext(
            models, exchange.created, exchange.seed.request_id, exchange.ordinal, answers
        )
        work = work_for(size=len(exchange.call.body), texts=len(request.messages))
        body = await work(endpoint.compute, request, context)
        if not isinstance(body, bytes):
            secrets = self._secrets(exchange.call)
            await store(body.writes, exchange.session, archive=self.state, secrets=secrets)
            body = body.body
        return computed_reply(exchange, body, endpoint.media_type, stream=request.stream)

    async def _answer_sub_request(self, call: Call) -> SubResponse:
        """Return the response to a sub-request; one that is not complete counts as ended early."""
        # A batch sends many in a row; the event loop runs other tasks between them.
        await asyncio.sleep(0)
        answer = await self.answer(call)
        whole = answer.reply.started and not answer.reply.cut
        body = answer.immediate_body() if whole else b""
        answer.finish(early=not whole)
        return SubResponse(answer.reply.status, body)

    def new_exchange(self, call: Call, head: RequestHead | None = None) -> Exchange:
        """Return a new exchange for a call."""
        options = self.options
        at, began, now = arrival_clock.read()
        created = int(now) if options.clock is None else options.clock
        return Exchange(call, head or head_of(call), options, created, at=at, began=began)

    def replacement_reply(self, exchange: Exchange, error: ErrorAnswer, headers: Headers) -> Reply:
        """Return an error, with these headers, that replaces a reply that cannot be sent."""
        reply = with_headers(error_reply(exchange, error), headers)
        return self.with_mockllm_headers(exchange, reply)

    def close_exchange(self, exchange: Exchange, sent: SentReply) -> None:
        """Free the stream of an exchange, and record its entry in the journal."""
        if exchange.streaming:
            exchange.streaming = False
            self.streams.free()
        if exchange.held_bytes:
            self._held_bodies.free(exchange.held_bytes)
            exchange.held_bytes = 0
        if self.record is not None:
            self.record(exchange.entry(sent))

    def release(self, exchange: Exchange) -> None:
        """Release what only the choice of an answer needs of a request.

        Its body is kept for the journal; if large bodies of running answers already take too much
        memory, only the beginning of it.
        """
        kept_bytes = self.options.journal_body_bytes
        size = min(len(exchange.call.body), kept_bytes)
        if size > SMALL_BODY_BYTES:
            if self._held_bodies.take(size):
                exchange.held_bytes = size
            else:
                kept_bytes = SMALL_BODY_BYTES
        exchange.forget(beyond=kept_bytes)

    def _warn_of_default_answer(self, exchange: Exchange, decision: Decision) -> None:
        """Log the first default answer of each session; later ones are only in the journal."""
        session = exchange.session
        if session in self._warned or len(self._warned) >= MAX_WARNED_SESSIONS:
            return
        self._warned.add(session)
        near = decision.near_misses[:1]
        nearest = (
            f" Nearest: scenario {near[0].scenario.name}, step {near[0].step.label}."
            if near
            else ""
        )
        log.warning(
            "session %s: no scenario matched %s %s; the default answer of %s was sent, with the "
            "header X-MockLLM-Unmatched: 1.%s The journal lists all such requests.",
            *(session, exchange.call.method, exchange.call.path, exchange.answered_by[0], nearest),
        )

    def _answer(self, exchange: Exchange, reply: Reply) -> Answer:
        """Return the answer that sends a reply, with mockllm's headers, and journals it."""
        return Answer(self.with_mockllm_headers(exchange, reply), exchange, self)

    def with_mockllm_headers(self, exchange: Exchange, reply: Reply) -> Reply:
        """Return the reply with mockllm's headers, and without a body for HEAD."""
        reply = replace(reply, headers=exchange.response_headers(reply.headers, exchange.uid))
        call = exchange.call
        if "origin" in call.headers:
            shared = shared_headers(call, self.options.cors_origins, reply.headers)
            reply = with_headers(reply, shared)
        return replace(reply, frames=()) if call.method == "HEAD" else reply


def _listed_models(wire: Wire, index: Index, extra: Iterable[str]) -> dict[str, str]:
    """Return the owner of each listed model: the wire's own models, those named in scenarios, and
    those of the settings."""
    named = {
        condition.equals: MODEL_OWNER
        for scenario in index.by_name.values()
        for step in scenario.steps
        for condition in step.match.alternatives("model")
        if condition.equals
    }
    shipped = dict.fromkeys(wire.models, wire.provider)
    return {**dict.fromkeys(extra, MODEL_OWNER), **named, **shipped}
