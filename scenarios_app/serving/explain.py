"""Explains which step would answer a call and why: runs the pipeline without changing state, and
lists each step with the conditions that failed."""

from collections.abc import Container, Iterator
from itertools import islice

import msgspec
from msgspec.structs import replace

from scenarios_app.engine.canonical import CanonicalRequest
from scenarios_app.engine.conditions.match import ConditionResult
from scenarios_app.engine.conditions.subjects import RequestReader
from scenarios_app.engine.matching.index import Entry, Index, entries_of
from scenarios_app.engine.matching.near_misses import explain_loss, near_misses
from scenarios_app.engine.matching.select import Decision, requested_scenario, scenario_header_of
from scenarios_app.engine.memory import MemoryState
from scenarios_app.engine.scenario import Scenario, Step
from scenarios_app.serving.exchange import Exchange
from scenarios_app.serving.options import Options
from scenarios_app.serving.pipeline import Catalog, Pipeline
from scenarios_app.serving.reply import Reply
from scenarios_app.serving.respond import respond
from scenarios_app.wire.base import Call

STEPS = 1_000
_FRESH = "not yet served in this session"


class ExplainedStep(msgspec.Struct, frozen=True):
    """A step with the result of each of its conditions. `wins` is true if it would answer.
    `matches` is true if it could; if it does not win then, the last condition names the reason.
    `near` is its position among the near misses from 0 (nearest), or None."""

    scenario: str
    step: str
    key: str
    wins: bool
    matches: bool
    conditions: tuple[ConditionResult, ...]
    near: int | None = None


class Explanation(msgspec.Struct, frozen=True):
    """The explanation of one call. `reply` is what would be sent; `whole` and `streamed` are the
    reply of the same decision without and with a stream, None if no scenario was looked for.
    Without a `decision` the call was refused, or its answer is computed."""

    session: str
    provider: str
    request: CanonicalRequest | None
    decision: Decision | None
    steps: tuple[ExplainedStep, ...]
    reply: Reply
    whole: Reply | None
    streamed: Reply | None


async def explain(
    call: Call, *, catalog: Catalog, state: MemoryState, options: Options, max_steps: int = STEPS
) -> Explanation:
    """Return the reply that a call would get now, and the conditions of up to `max_steps` steps.
    `state` is a copy of the session's, which the call changes."""
    pipeline = Pipeline(catalog=catalog, state=state, options=options)
    exchange = pipeline.new_exchange(call)
    before = await state.read(exchange.session)
    consumed = {(step.scenario, step.key) for step in before.consumed}
    reply = await pipeline.reply_to(exchange)
    request = exchange.request
    steps: tuple[ExplainedStep, ...] = ()
    if request is not None:
        version, documents = await state.scenarios_of(exchange.session)
        index = catalog.index_for(documents, version)
        explained = islice(explained_steps(index, request, consumed, exchange=exchange), max_steps)
        misses = near_misses(index, request, limit=max_steps, served=consumed)
        places = {(m.scenario.name, m.step.key): place for place, m in enumerate(misses)}
        steps = tuple(replace(one, near=places.get((one.scenario, one.key))) for one in explained)
    return Explanation(
        session=exchange.session,
        provider=exchange.target.provider,
        request=request,
        decision=exchange.decision if request is not None else None,
        steps=steps,
        reply=reply,
        whole=_respond_as(exchange, stream=False),
        streamed=_respond_as(exchange, stream=True),
    )


def _respond_as(exchange: Exchange, *, stream: bool) -> Reply | None:
    """Return the reply as the client would get it with or without streaming, or None without a
    decision."""
    if exchange.request is None or exchange.decision is None:
        return None
    request = replace(exchange.request, stream=stream)
    return respond(exchange, exchange.decision, request)


def explained_steps(
    index: Index,
    request: CanonicalRequest,
    consumed: Container[tuple[str, str]],
    *,
    exchange: Exchange,
) -> Iterator[ExplainedStep]:
    """Yield all steps by scenario, in step order. `consumed` holds scenario and key of the steps
    that the session has consumed."""
    reader, winner = RequestReader(request), _winning_entry(exchange)
    for scenario in index.by_name.values():
        offered: Entry | None = None
        for entry in entries_of([scenario], scenario.select):
            step = entry.step
            conditions = [
                *_selection_conditions(scenario, step, request, exchange),
                *_consumption_result(entry, consumed),
                *entry.match.condition_results(reader),
            ]
            wins = winner is not None and entry.ref == winner.ref
            matches = winner is not None and all(condition.ok for condition in conditions)
            if winner is not None and matches:
                offered = offered or entry
                if not wins:
                    conditions.append(explain_loss(entry, winner, offered=offered))
            yield ExplainedStep(
                scenario.name, step.label, step.key, wins, matches, tuple(conditions)
            )


def _winning_entry(exchange: Exchange) -> Entry | None:
    """Return the index entry of the decided step, or None if no step answers."""
    decision = exchange.decision
    if decision is None or decision.scenario is None or decision.step is None:
        return None
    scenario, step = decision.scenario, decision.step
    return next(entry for entry in entries_of([scenario], scenario.select) if entry.step is step)


def _selection_conditions(
    scenario: Scenario, step: Step, request: CanonicalRequest, exchange: Exchange
) -> Iterator[ConditionResult]:
    """Yield the conditions of the selection way, in addition to the step's `match`."""
    way, endpoint = exchange.decision and exchange.decision.way, exchange.target.endpoint
    helper = endpoint is not None and not endpoint.generates
    if way == "in_band":
        block = "an instruction block, which answers before any scenario"
        yield ConditionResult("select", "no instruction block in the request", block, ok=False)
    elif request.computed or (helper and endpoint is not None and endpoint.always_computed):
        computed = "one whose answer is always computed"
        yield ConditionResult("select", "a request that a step can answer", computed, ok=False)
    elif helper:
        if not step.match.alternatives("path"):
            wanted = "a path, by which alone a step answers in place of a computed answer"
            yield ConditionResult("match.path", wanted, "no path in this step's match", ok=False)
    elif scenario.select == "first_user_message":
        requested_name = requested_scenario(request)
        yield ConditionResult(
            "select", scenario.name, requested_name, requested_name == scenario.name
        )
    elif way == "by_id":
        requested_name = f"“{requested_scenario(request)}”, asked for by id"
        yield ConditionResult(
            "select", "a request that asks for no scenario by id", requested_name, ok=False
        )
    elif named := scenario_header_of(request):
        wanted = f"X-MockLLM-Scenario: {scenario.name}, or no such header"
        yield ConditionResult("select", wanted, named, named == scenario.name)


def _consumption_result(
    entry: Entry, consumed: Container[tuple[str, str]]
) -> Iterator[ConditionResult]:
    """Yield the condition that the step is not consumed, if it can be."""
    if entry.step.consume and entry.scenario.select == "match":
        gone = entry.ref in consumed
        yield ConditionResult("consume", _FRESH, "served" if gone else _FRESH, not gone)
