"""Answers a provider request, whichever door it came in by."""

import asyncio
import dataclasses
import logging
import time
from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import Final, Protocol, TypeAlias

from msgspec.structs import replace

from scenarios_app.engine.canonical import ErrorAnswer, Json
from scenarios_app.engine.matching.index import Index
from scenarios_app.engine.secrets import secrets_of
from scenarios_app.engine.state import AnswerState, StateUnavailable
from scenarios_app.journal.entry import JournalEntry
from scenarios_app.serving.archive import resolve, store
from scenarios_app.serving.choose import Choosing, choose_in_band, with_cancel
from scenarios_app.serving.cors import preflight_headers, shared_headers
from scenarios_app.serving.exchange import Exchange, session_of
from scenarios_app.serving.options import Options, Streams
from scenarios_app.serving.playback import Answer, never
from scenarios_app.serving.prepared import PreparedAnswers
from scenarios_app.serving.read import admit, admit_head, check_size
from scenarios_app.serving.reply import Reply, Sent
from scenarios_app.serving.respond import (
    computed_reply,
    error_reply,
    is_long_script,
    is_made_to_fit,
    ours,
    respond,
    with_headers,
)
from scenarios_app.serving.worker import at_once, in_thread, in_turn, work_for
from scenarios_app.wire.base import Call, Facts, Headers, Wire
from scenarios_app.wire.errors import WireError
from scenarios_app.wire.registry import Target, find, misplaced, wires

log = logging.getLogger(__name__)


# Has the catalog show the change of that name, which another process may have made.
CatchUp: TypeAlias = Callable[[int], Awaitable[None]]

# Who owns the models that are in no provider's list.
OURS: Final = "mockllm"


class Catalog(Protocol):
    """Where the scenarios come from, compiled."""

    def index_for(self, documents: Mapping[str, Json], version: int) -> Index:
        """The common scenarios, with a session's own ones over them."""


class Pipeline:
    """Calls in, answers out. Nothing here touches a database, a thread or a template."""

    def __init__(
        self,
        *,
        catalog: Catalog,
        state: AnswerState,
        options: Options,
        record: Callable[[JournalEntry], None] | None = None,
        drain_at: Callable[[], float] = never,
        catch_up: CatchUp | None = None,
    ) -> None:
        self.options = options
        self.streams = Streams(options.max_streams)
        self._catalog = catalog
        self._state = state
        self._record = record
        self.drain_at = drain_at
        # Whether every answer waits for a state that is not in this process.
        self.waits = catch_up is not None
        self._catch_up = catch_up
        self._prepared = PreparedAnswers()

    async def answer(self, call: Call) -> Answer:
        """The answer to a call. The door that plays it out lets it tell the journal."""
        if call.method == "OPTIONS":
            allowed = preflight_headers(call, self.options.origins)
            if allowed is not None:
                return Answer(Reply(204, allowed), None, self)
        if len(call.body) > self.options.max_body_bytes:
            return self.refuse_body(call)
        exchange = self.exchange(call)
        try:
            reply = await self.work(exchange)
        except asyncio.CancelledError:
            self.ended(exchange, Sent(Reply(499, started=False), (), 0, True, False, None))
            raise
        for violation in exchange.violations:
            names = (exchange.session, *exchange.answered_by, violation)
            log.warning("session %s, scenario %s, step %s: %s", *names)
        exchange.forget(beyond=self.options.journal_body_bytes)
        return self._answer(exchange, reply)

    async def work(self, exchange: Exchange) -> Reply:
        """Everything about an exchange but its end."""
        call = exchange.call
        try:
            return await self._reply(exchange)
        except WireError as error:
            return error_reply(exchange, error.answer)
        except StateUnavailable as error:
            return error_reply(exchange, ErrorAnswer(503, str(error), retry_after_ms=1000))
        except Exception:
            log.exception("%s %s could not be answered", call.method, call.path)
            message = "The mock server failed to answer this request; its log says why."
            return error_reply(exchange, ErrorAnswer(500, message))

    def refuse(self, call: Call, error: ErrorAnswer) -> Answer:
        """The answer to a call that a door cannot hand over whole."""
        exchange = self.exchange(call)
        return self._answer(exchange, error_reply(exchange, error))

    def refuse_head(self, call: Call) -> Answer | None:
        """The answer to a call that is refused for its head alone, so that its body is not read;
        None where the body decides."""
        exchange = self.exchange(call)
        try:
            admit_head(call, exchange.target, self.options)
        except WireError as error:
            return self._answer(exchange, error_reply(exchange, error.answer))
        return None

    def refuse_body(self, call: Call) -> Answer:
        """The answer to a call whose body is too large; what was read of it does not matter."""
        message = f"The request's body is larger than {self.options.max_body_bytes} bytes."
        return self.refuse(dataclasses.replace(call, body=b""), ErrorAnswer(413, message))

    async def _reply(self, exchange: Exchange) -> Reply:
        call, target, options = exchange.call, exchange.target, self.options
        work = work_for(size=len(call.body))
        request = exchange.request = await work(admit, call, target, options)
        endpoint = target.endpoint
        assert endpoint is not None
        if endpoint.archival is not None:
            request = await resolve(
                request, endpoint.archival, exchange.session, archive=self._state
            )
            exchange.request = request
            check_size(request, options.limits)
        if request.stream and not self._take_stream(exchange):
            message = f"All {options.max_streams} streams of this server are in use."
            return error_reply(exchange, ErrorAnswer(503, message, retry_after_ms=1000))
        arrival = await self._state.arrive(exchange.session)
        exchange.ordinal = arrival.ordinal
        if arrival.changes and self._catch_up is not None:
            await self._catch_up(arrival.changes)
        index = self._catalog.index_for(arrival.documents, arrival.revision)
        secrets = self._secrets(call)
        choosing = Choosing(
            index, request, exchange.session, arrival.consumed, self._state, work, secrets
        )
        if request.computed:
            return await self._computed(exchange, index)
        if endpoint.generates:
            in_band = await work(choose_in_band, call, request, options)
            decision = in_band or with_cancel(await choosing.choose(), options)
        else:
            override = None if endpoint.fixed else await choosing.override()
            if override is None:
                return await self._computed(exchange, index)
            decision = override
        exchange.decide(decision)
        if is_made_to_fit(decision, request):
            work = in_thread
        elif work is at_once and is_long_script(decision, stream=request.stream):
            work = in_turn
        reply = await work(respond, exchange, decision, request, self._prepared)
        if reply.stored:
            stored = reply.stored
            stored = stored if isinstance(stored, tuple) else await in_thread(stored)
            await store(stored, exchange.session, archive=self._state, secrets=secrets)
        return reply

    def _secrets(self, call: Call) -> tuple[str, ...]:
        """What of a call's body leaves this process with none of what is remembered: a key that
        its client has said in it as well."""
        if not self.waits:
            return ()
        found = secrets_of(call.headers, call.query)
        return tuple(secret for secret in found if secret.encode() in call.body)

    async def _computed(self, exchange: Exchange, index: Index) -> Reply:
        endpoint, request = exchange.target.endpoint, exchange.request
        assert endpoint is not None and endpoint.compute is not None and request is not None
        exchange.computed = True
        models = known_models(exchange.wire, index, self.options.models)
        facts = Facts(models, exchange.created, exchange.seed.request_id)
        work = work_for(size=len(exchange.call.body), texts=len(request.messages))
        body = await work(endpoint.compute, request, facts)
        if endpoint.archival is not None:
            left = endpoint.archival.after(request, facts)
            secrets = self._secrets(exchange.call)
            await store(left, exchange.session, archive=self._state, secrets=secrets)
        return computed_reply(exchange, body, stream=request.stream)

    def exchange(self, call: Call) -> Exchange:
        """A call that has just arrived."""
        # Who calls a door with a path that no provider owns means the last of them.
        target = find(call) or misplaced(call) or Target(wires()[-1], None)
        session = session_of(target.wire, call)
        clock = self.options.clock
        created = int(time.time()) if clock is None else clock
        return Exchange(call, target, self.options, session, created)

    def instead(self, exchange: Exchange, error: ErrorAnswer, headers: Headers) -> Reply:
        """The reply in place of one that cannot be given."""
        return self._dressed(exchange, with_headers(error_reply(exchange, error), headers))

    def ended(self, exchange: Exchange, sent: Sent) -> None:
        """What became of the answer to a call."""
        if exchange.streaming:
            exchange.streaming = False
            self.streams.free()
        if self._record is not None:
            self._record(exchange.entry(sent))

    def _answer(self, exchange: Exchange, reply: Reply) -> Answer:
        return Answer(self._dressed(exchange, reply), exchange, self)

    def _dressed(self, exchange: Exchange, reply: Reply) -> Reply:
        """A reply with our own headers; without a body where the method wants none."""
        scenario, step = exchange.answered_by
        reply = with_headers(reply, ours(scenario, step, exchange.uid))
        call = exchange.call
        if "origin" in call.headers:
            shared = shared_headers(call, self.options.origins, reply.headers)
            reply = with_headers(reply, shared)
        return replace(reply, frames=()) if call.method == "HEAD" else reply

    def _take_stream(self, exchange: Exchange) -> bool:
        exchange.streaming = self.streams.take()
        return exchange.streaming


def known_models(wire: Wire, index: Index, extra: Iterable[str]) -> dict[str, str]:
    """The models that a models list names, with their owners as its provider tells them: the wire's
    own, those in scenarios, and those in settings."""
    named = {
        condition.equals: OURS
        for scenario in index.by_name.values()
        for step in scenario.steps
        for condition in step.match.model
        if condition.equals
    }
    shipped = dict.fromkeys(wire.models, wire.provider)
    return {**dict.fromkeys(extra, OURS), **named, **shipped}
