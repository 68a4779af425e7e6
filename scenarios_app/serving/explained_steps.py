"""Every step beside a choice that was made: what it wanted, what it got, and what keeps a step that
matches from answering."""

from collections.abc import Container, Iterator
from dataclasses import dataclass

from scenarios_app.engine.canonical import CanonicalRequest
from scenarios_app.engine.conditions.match import Verdict
from scenarios_app.engine.conditions.reading import Reading
from scenarios_app.engine.matching.index import Entry, Index, entries_of
from scenarios_app.engine.matching.precedence import beaten
from scenarios_app.engine.matching.select import asked_for, named_in_header
from scenarios_app.engine.scenario import Scenario, Step
from scenarios_app.serving.exchange import Exchange

_FRESH = "not yet served in this session"


@dataclass(frozen=True, slots=True)
class ExplainedStep:
    """Every condition on a step, what it wanted and what it got: all of them hold for the step
    that answers and for no other. `wins`: it would answer. `matches`: it could, and the last of the
    conditions says what goes before it, unless it wins."""

    scenario: str
    step: str
    key: str
    wins: bool
    matches: bool
    conditions: tuple[Verdict, ...]


def explained_steps(
    index: Index,
    request: CanonicalRequest,
    consumed: Container[tuple[str, str]],
    *,
    exchange: Exchange,
) -> Iterator[ExplainedStep]:
    """All steps by scenario, in step order. `consumed` holds scenario and key of the steps that
    the session has consumed."""
    reading, winner = Reading(request), _winner(exchange)
    for scenario in index.by_name.values():
        offered: Entry | None = None
        for entry in entries_of([scenario], scenario.select):
            step = entry.step
            conditions = [
                *_way(scenario, step, request, exchange),
                *_consumption(entry, consumed),
                *entry.match.verdicts(reading),
            ]
            wins = winner is not None and entry.ref == winner.ref
            matches = winner is not None and all(condition.ok for condition in conditions)
            if winner is not None and matches:
                offered = offered or entry
                if not wins:
                    conditions.append(beaten(entry, winner, offered=offered))
            yield ExplainedStep(
                scenario.name, step.label, step.key, wins, matches, tuple(conditions)
            )


def _winner(exchange: Exchange) -> Entry | None:
    decision = exchange.chosen.decision if exchange.chosen else None
    if decision is None or decision.scenario is None or decision.step is None:
        return None
    scenario, step = decision.scenario, decision.step
    return next(entry for entry in entries_of([scenario], scenario.select) if entry.step is step)


def _way(
    scenario: Scenario, step: Step, request: CanonicalRequest, exchange: Exchange
) -> Iterator[Verdict]:
    """What the way in which the answer is chosen asks of the step, beside its `match`."""
    way, route = exchange.chosen and exchange.chosen.way, exchange.target.route
    helper = route is not None and route.kind == "compute"
    if way == "in_band":
        block = "an instruction block, which answers before any scenario"
        yield Verdict("select", "no instruction block in the request", block, ok=False)
    elif request.computed or (helper and route is not None and route.fixed):
        computed = "one whose answer is always computed"
        yield Verdict("select", "a request that a step can answer", computed, ok=False)
    elif helper:
        if not step.match.path:
            wanted = "a path, by which alone a step answers in place of a computed answer"
            yield Verdict("match.path", wanted, "no path in this step's match", ok=False)
    elif scenario.select == "first_user_message":
        asked = asked_for(request)
        yield Verdict("select", scenario.name, asked, asked == scenario.name)
    elif way == "by_id":
        asked = f"“{asked_for(request)}”, asked for by id"
        yield Verdict("select", "a request that asks for no scenario by id", asked, ok=False)
    elif named := named_in_header(request):
        wanted = f"X-MockLLM-Scenario: {scenario.name}, or no such header"
        yield Verdict("select", wanted, named, named == scenario.name)


def _consumption(entry: Entry, consumed: Container[tuple[str, str]]) -> Iterator[Verdict]:
    if entry.step.consume and entry.scenario.select == "match":
        gone = entry.ref in consumed
        yield Verdict("consume", _FRESH, "served" if gone else _FRESH, not gone)
