"""What of scenarios a run has come by: steps that answered, conditions that held, faults."""

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from typing import Literal

from scenarios_app.engine.canonical import CanonicalRequest
from scenarios_app.engine.conditions.base import Condition
from scenarios_app.engine.conditions.subjects import RequestReader
from scenarios_app.engine.scenario import Scenario, Step
from scenarios_app.verdict.counts import Named, Seen
from scenarios_app.verdict.reports import line
from scenarios_app.verdict.session import StepKey

_TOLD = 200


@dataclass(frozen=True, slots=True)
class NeverTrue:
    """A condition that no request met. `field` is its place in the step."""

    field: str
    expected: str


@dataclass(frozen=True, slots=True)
class FaultCoverage:
    """A fault that a step scripts, before its answer (`failures`) or in it (`produce`)."""

    kind: str
    place: Literal["failures", "produce"]
    triggered: bool


@dataclass(frozen=True, slots=True)
class StepCoverage:
    """A step by its name or number, and how often it answered. Of one that never did `never_true`
    are the conditions that kept it from that; none: they held, but never all at once."""

    step: str
    served: int
    never_true: tuple[NeverTrue, ...] = ()
    faults: tuple[FaultCoverage, ...] = ()


@dataclass(frozen=True, slots=True)
class ScenarioCoverage:
    scenario: str
    steps: tuple[StepCoverage, ...]


@dataclass(frozen=True, slots=True)
class Coverage:
    """Scenarios in the order of their names."""

    scenarios: tuple[ScenarioCoverage, ...]

    @property
    def every(self) -> tuple[StepCoverage, ...]:
        return tuple(step for one in self.scenarios for step in one.steps)

    @property
    def steps(self) -> int:
        return len(self.every)

    @property
    def served(self) -> int:
        return sum(1 for step in self.every if step.served)

    @property
    def percent(self) -> float:
        """Steps that answered, in a hundred; cut to a tenth, so that 100 is all of them."""
        return self.served * 1000 // self.steps / 10 if self.steps else 0.0

    @property
    def faults(self) -> tuple[FaultCoverage, ...]:
        return tuple(fault for step in self.every for fault in step.faults)


def coverage(scenarios: Iterable[Scenario], seen: Seen) -> Coverage:
    ordered = sorted(scenarios, key=lambda scenario: scenario.name)
    return Coverage(
        tuple(
            ScenarioCoverage(one.name, tuple(_step(one, step, seen) for step in one.steps))
            for one in ordered
            if not one.catch_all
        )
    )


def unmet(
    scenarios: Iterable[Scenario], served: Collection[StepKey], met: Collection[Named]
) -> Iterator[tuple[Named, Condition]]:
    """The conditions that still have to hold once, of steps that have not answered."""
    for scenario in scenarios:
        for step in scenario.steps if not scenario.catch_all else ():
            if (scenario.name, step.key) not in served:
                for condition in _conditions(step):
                    named = (scenario.name, step.key, condition.field)
                    if named not in met:
                        yield named, condition


def holding(
    conditions: Iterable[tuple[Named, Condition]], request: CanonicalRequest
) -> Iterator[Named]:
    """Those of the conditions that a request meets."""
    reader = RequestReader(request)
    return (named for named, condition in conditions if condition.holds(reader))


def coverage_text(found: Coverage, *, notes: tuple[str, ...] = ()) -> str:
    """What was left out, for people."""
    faults = found.faults
    triggered = sum(1 for fault in faults if fault.triggered)
    headline = f"coverage: {found.percent:g} %, {found.served} of {found.steps} steps"
    if faults:
        headline += f", {triggered} of {len(faults)} faults"
    lines = list(_lines(found))
    more = [f"… and {len(lines) - _TOLD:,} more"] if len(lines) > _TOLD else []
    return "\n".join([headline, *lines[:_TOLD], *more, *(f"note: {note}" for note in notes)])


def _lines(found: Coverage) -> Iterator[str]:
    for one in found.scenarios:
        for step in one.steps:
            where = f"{one.scenario}, step {step.step}"
            if not step.served:
                yield line(f"never served: {where}")
                for never in step.never_true:
                    yield "  " + line(f"never true: {never.field}: {never.expected}")
            for fault in step.faults:
                if not fault.triggered:
                    yield line(f"never triggered: {where}: {fault.kind} ({fault.place})")


def _step(scenario: Scenario, step: Step, seen: Seen) -> StepCoverage:
    name = (scenario.name, step.key)
    served = seen.served.get(name, 0)
    never = (
        NeverTrue(condition.field, condition.expected)
        for condition in (() if served else _conditions(step))
        if (*name, condition.field) not in seen.met
    )
    return StepCoverage(step.label, served, tuple(never), tuple(_faults(name, step, seen)))


def _conditions(step: Step) -> tuple[Condition, ...]:
    """But for those of which nobody can tell afterwards: the journal masks what they look at."""
    match = step.match.with_turn(step.turn)
    return tuple(one for one in match.conditions if not one.is_masked)


def _faults(name: StepKey, step: Step, seen: Seen) -> Iterator[FaultCoverage]:
    if step.failures is not None:
        kind = step.failures.fault.kind
        yield FaultCoverage(kind, "failures", (*name, kind) in seen.faults)
    if step.produce.fault is not None:
        kind = step.produce.fault.kind
        yield FaultCoverage(kind, "produce", (*name, kind) in seen.faults)
