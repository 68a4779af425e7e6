"""Answers a provider request, whichever door it came in by."""

import asyncio
import logging
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Protocol

from scenarios_app.engine.canonical import Json
from scenarios_app.engine.errors import ErrorAnswer
from scenarios_app.engine.matching.index import Index
from scenarios_app.journal.entry import JournalEntry
from scenarios_app.serving.archive import Archive, keep, recall
from scenarios_app.serving.choose import Choosing, Memory, choose_in_band, with_cancel
from scenarios_app.serving.cors import preflight_headers, shared_headers
from scenarios_app.serving.exchange import Exchange
from scenarios_app.serving.known_models import known_models
from scenarios_app.serving.options import Options, Streams
from scenarios_app.serving.playback import Answer, Sent, never
from scenarios_app.serving.read import admit, admit_head, check_size
from scenarios_app.serving.reply import Reply
from scenarios_app.serving.respond import is_long_script, ours, reply_to, with_headers
from scenarios_app.serving.session import session_of
from scenarios_app.serving.worker import at_once, in_thread, in_turn, work_for
from scenarios_app.wire.base import Call, Facts, Headers
from scenarios_app.wire.errors import WireError
from scenarios_app.wire.registry import Target, find, keeping, misplaced, wires

log = logging.getLogger(__name__)


class Catalog(Protocol):
    """Where the scenarios come from, compiled."""

    def index_for(self, documents: Mapping[str, Json], version: int) -> Index:
        """The common scenarios, with a session's own ones over them."""


class State(Memory, Archive, Protocol):
    """What answering needs of a `StateStore`."""

    async def next_ordinal(self, session: str) -> int: ...
    async def scenarios_of(self, session: str) -> tuple[int, Mapping[str, Json]]: ...


class Pipeline:
    """Calls in, answers out. Nothing here touches a database, a thread or a template."""

    def __init__(
        self,
        *,
        catalog: Catalog,
        state: State,
        options: Options,
        record: Callable[[JournalEntry], None] | None = None,
        drain_at: Callable[[], float] = never,
    ) -> None:
        self.options = options
        self.streams = Streams(options.max_streams)
        self._catalog = catalog
        self._state = state
        self._record = record
        self._drain_at = drain_at

    async def answer(self, call: Call) -> Answer:
        """The answer to a call. Whoever plays it out lets it tell the journal."""
        allowed = preflight_headers(call, self.options.origins)
        if allowed is not None:
            return Answer(Reply(204, allowed))
        if len(call.body) > self.options.max_body_bytes:
            return self.refuse_body(call)
        exchange = self.exchange(call)
        try:
            reply = await self.work(exchange)
        except asyncio.CancelledError:
            self._ended(exchange, Sent(Reply(499, started=False), (), 0, True, False, None))
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
            return exchange.speaker().error(error.answer)
        except Exception:
            log.exception("%s %s could not be answered", call.method, call.path)
            message = "The mock server failed to answer this request; its log says why."
            return exchange.speaker().error(ErrorAnswer(500, message))

    def refuse(self, call: Call, error: ErrorAnswer) -> Answer:
        """The answer to a call that a door cannot hand over whole."""
        exchange = self.exchange(call)
        return self._answer(exchange, exchange.speaker().error(error))

    def refuse_head(self, call: Call) -> Answer | None:
        """The answer to a call that is refused whatever its body is, so that nobody need read it;
        None where the body decides."""
        exchange = self.exchange(call)
        try:
            admit_head(call, exchange.target, self.options)
        except WireError as error:
            return self._answer(exchange, exchange.speaker().error(error.answer))
        return None

    def refuse_body(self, call: Call) -> Answer:
        """The answer to a call whose body is too large; what was read of it does not matter."""
        message = f"The request's body is larger than {self.options.max_body_bytes} bytes."
        return self.refuse(replace(call, body=b""), ErrorAnswer(413, message))

    async def _reply(self, exchange: Exchange) -> Reply:
        call, target, options = exchange.call, exchange.target, self.options
        work = work_for(size=len(call.body))
        request = exchange.request = await work(admit, call, target, options)
        request = exchange.request = await recall(request, target, exchange.session, self._state)
        check_size(request, options.limits)
        if request.stream and not self._take_stream(exchange):
            return exchange.speaker().error(
                ErrorAnswer(
                    503,
                    f"All {options.max_streams} streams of this server are in use.",
                    retry_after_ms=1000,
                )
            )
        version, documents = await self._state.scenarios_of(exchange.session)
        index = self._catalog.index_for(documents, version)
        exchange.ordinal = await self._state.next_ordinal(exchange.session)
        choosing = Choosing(index, request, exchange.session, self._state, work)
        if request.computed:
            return await self._computed(exchange, index)
        if target.route is not None and target.route.kind == "compute":
            chosen = None if target.route.fixed else await choosing.override()
            if chosen is None:
                return await self._computed(exchange, index)
        else:
            in_band = await work(choose_in_band, call, request, options)
            chosen = in_band or with_cancel(await choosing.choose(), options)
        exchange.choose(chosen)
        if work is at_once and is_long_script(chosen, stream=request.stream):
            work = in_turn
        reply = await work(reply_to, chosen, request, exchange.speaker())
        kept = reply.kept if isinstance(reply.kept, tuple) else await in_thread(reply.kept)
        await keep(kept, exchange.session, self._state)
        return reply

    async def _computed(self, exchange: Exchange, index: Index) -> Reply:
        target, request, speaker = exchange.target, exchange.request, exchange.speaker()
        assert target.route is not None and request is not None
        exchange.computed = True
        models = known_models(target.wire, index, self.options.models)
        facts = Facts(models, speaker.created, speaker.seed.request_id)
        work = work_for(size=len(exchange.call.body), texts=len(request.messages))
        body = await work(target.wire.compute, target.route, target.params, request, facts)
        if wire := keeping(target.wire):
            left = wire.leaves(target.route, target.params, request, facts)
            await keep(left, exchange.session, self._state)
        return speaker.computed(body, stream=request.stream)

    def exchange(self, call: Call) -> Exchange:
        """A call that has just arrived."""
        # Who calls a door with a path that no provider owns means the last of them.
        target = find(call) or misplaced(call) or Target(wires()[-1], None)
        return Exchange(
            call,
            target,
            created=self.options.created(),
            max_text_bytes=self.options.max_text_bytes,
            words_per_second=self.options.words_per_second,
            session=session_of(target.wire, call),
        )

    def _answer(self, exchange: Exchange, reply: Reply) -> Answer:
        def instead(error: ErrorAnswer, headers: Headers) -> Reply:
            return self._dressed(exchange, with_headers(exchange.speaker().error(error), headers))

        return Answer(
            self._dressed(exchange, reply),
            ended=lambda sent: self._ended(exchange, sent),
            instead=instead,
            drain_at=self._drain_at,
            max_seconds=self.options.max_stream_seconds,
            keep_bytes=self.options.journal_body_bytes,
        )

    def _dressed(self, exchange: Exchange, reply: Reply) -> Reply:
        """A reply with our own headers; without a body where the method wants none."""
        scenario, step = exchange.answered_by
        reply = with_headers(reply, ours(scenario, step, exchange.uid))
        shared = shared_headers(exchange.call, self.options.origins, reply.headers)
        if shared:
            reply = with_headers(reply, shared)
        return replace(reply, frames=()) if exchange.call.method == "HEAD" else reply

    def _take_stream(self, exchange: Exchange) -> bool:
        exchange.streaming = self.streams.take()
        return exchange.streaming

    def _ended(self, exchange: Exchange, sent: Sent) -> None:
        if exchange.streaming:
            exchange.streaming = False
            self.streams.free()
        if self._record is not None:
            self._record(exchange.entry(sent))
