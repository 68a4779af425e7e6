"""What would answer a call and why: the same way through the pipeline, with nothing moved."""

from collections.abc import Container, Mapping
from dataclasses import dataclass, replace
from itertools import islice
from typing import Protocol

from scenarios_app.engine.canonical import CanonicalRequest, Json
from scenarios_app.engine.state import AttemptRef, SessionState, StepRef
from scenarios_app.serving.choose import Chosen
from scenarios_app.serving.exchange import Exchange
from scenarios_app.serving.explained_steps import ExplainedStep, explained_steps
from scenarios_app.serving.options import Options
from scenarios_app.serving.pipeline import Catalog, Pipeline
from scenarios_app.serving.reply import Reply
from scenarios_app.serving.respond import reply_to
from scenarios_app.wire.base import Call

STEPS = 1_000


@dataclass(frozen=True, slots=True)
class Explanation:
    """`reply` is what would be sent; `whole` and `streamed` are what the same choice comes to
    either way, where a scenario was looked for. Without a choice the call was refused, or its
    answer is computed."""

    session: str
    provider: str
    request: CanonicalRequest | None
    chosen: Chosen | None
    steps: tuple[ExplainedStep, ...]
    reply: Reply
    whole: Reply | None
    streamed: Reply | None


class Known(Protocol):
    """What explaining needs of a `StateStore`."""

    async def read(self, session: str) -> SessionState: ...
    async def recall_response(self, session: str, name: str) -> bytes | None: ...
    async def scenarios_of(self, session: str) -> tuple[int, Mapping[str, Json]]: ...


async def explain(
    call: Call, *, catalog: Catalog, state: Known, options: Options, most: int = STEPS
) -> Explanation:
    """What would happen to a call now. `most` bounds the number of explained steps."""
    unmoved = _Unmoved(state)
    pipeline = Pipeline(catalog=catalog, state=unmoved, options=options)
    exchange = pipeline.exchange(call)
    reply = await pipeline.work(exchange)
    request, chosen = exchange.request, exchange.chosen
    steps: tuple[ExplainedStep, ...] = ()
    if request is not None:
        version, documents = await state.scenarios_of(exchange.session)
        index = catalog.index_for(documents, version)
        known = await state.read(exchange.session)
        consumed = {(ref.scenario, ref.key) for ref in known.consumed}
        steps = tuple(islice(explained_steps(index, request, consumed, exchange=exchange), most))
    return Explanation(
        session=exchange.session,
        provider=exchange.target.wire.provider,
        request=request,
        chosen=chosen,
        steps=steps,
        reply=reply,
        whole=_as(exchange, stream=False),
        streamed=_as(exchange, stream=True),
    )


def _as(exchange: Exchange, *, stream: bool) -> Reply | None:
    if exchange.request is None or exchange.chosen is None:
        return None
    request = replace(exchange.request, stream=stream)
    return reply_to(exchange.chosen, request, exchange.speaker())


class _Unmoved:
    """A session's state as it is, in which nothing moves."""

    def __init__(self, state: Known) -> None:
        self._state = state

    async def next_ordinal(self, session: str) -> int:
        return (await self.read(session)).ordinal + 1

    async def consume(self, session: str, step: StepRef) -> bool:
        return (step.scenario, step.key) not in await self.consumed(session)

    async def consumed(self, session: str) -> Container[tuple[str, str]]:
        return {(ref.scenario, ref.key) for ref in (await self.read(session)).consumed}

    async def fail(self, session: str, attempt: AttemptRef, *, times: int) -> bool:
        counts = dict((await self.read(session)).attempts)
        return counts.get(attempt, 0) < times

    async def count(self, session: str, counter: str) -> int:
        return (await self.read(session)).counters.get(counter, 0) + 1

    async def violate(self, session: str, violation: str) -> None:
        """A violation that nobody committed."""

    async def read(self, session: str) -> SessionState:
        return await self._state.read(session)

    async def remember_response(self, session: str, name: str, data: bytes) -> None:
        """An answer that nobody was given."""

    async def recall_response(self, session: str, name: str) -> bytes | None:
        return await self._state.recall_response(session, name)

    async def forget_response(self, session: str, name: str) -> None:
        """An answer that nobody gave up."""

    async def scenarios_of(self, session: str) -> tuple[int, Mapping[str, Json]]:
        return await self._state.scenarios_of(session)
