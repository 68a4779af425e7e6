"""Coverage of scenarios: steps that answered, conditions that held, faults that were triggered."""

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass

from scenarios_app.engine.canonical import CanonicalRequest
from scenarios_app.engine.conditions.base import Condition
from scenarios_app.engine.conditions.subjects import RequestReader
from scenarios_app.engine.scenario import Scenario, Step
from scenarios_app.verdict.metrics import CoverageKey, RunCounts
from scenarios_app.verdict.reports import first_lines, line
from scenarios_app.verdict.session import StepKey

_MAX_LINES = 200


@dataclass(frozen=True, slots=True)
class UnmetCondition:
    """A condition that no request met. `field` is its path in the step."""

    field: str
    expected: str


@dataclass(frozen=True, slots=True)
class FaultCoverage:
    """A fault that a step scripts, before its answer (`failures`) or in it (`produce`)."""

    kind: str
    place: str
    triggered: bool


@dataclass(frozen=True, slots=True)
class StepCoverage:
    """The number of answers of a step (its name or number). `never_true` lists the unmet conditions
    of a step that never answered. It is empty if each of them held at some time, but never all for
    one request."""

    step: str
    served: int
    never_true: tuple[UnmetCondition, ...] = ()
    faults: tuple[FaultCoverage, ...] = ()


@dataclass(frozen=True, slots=True)
class ScenarioCoverage:
    """Coverage of one scenario's steps, in order."""

    scenario: str
    steps: tuple[StepCoverage, ...]


@dataclass(frozen=True, slots=True)
class Coverage:
    """Coverage of scenarios, ordered by name."""

    scenarios: tuple[ScenarioCoverage, ...]

    @property
    def all_steps(self) -> tuple[StepCoverage, ...]:
        return tuple(step for scenario in self.scenarios for step in scenario.steps)

    @property
    def steps(self) -> int:
        """The number of steps."""
        return len(self.all_steps)

    @property
    def served(self) -> int:
        """The number of steps that answered."""
        return sum(1 for step in self.all_steps if step.served)

    @property
    def percent(self) -> float:
        """Percentage of steps that answered, rounded down to 0.1, so that 100 means all; 0 without
        steps."""
        return self.served * 1000 // self.steps / 10 if self.steps else 0.0

    @property
    def faults(self) -> tuple[FaultCoverage, ...]:
        """All scripted faults of the steps."""
        return tuple(fault for step in self.all_steps for fault in step.faults)


def measure_coverage(scenarios: Iterable[Scenario], data: RunCounts) -> Coverage:
    """Return the coverage of these scenarios without catch-alls."""
    return Coverage(
        tuple(
            ScenarioCoverage(
                scenario.name,
                tuple(_step_coverage(scenario, step, data) for step in scenario.steps),
            )
            for scenario in sorted(scenarios, key=lambda scenario: scenario.name)
            if not scenario.catch_all
        )
    )


def find_unmet_conditions(
    scenarios: Iterable[Scenario], served: Collection[StepKey], met: Collection[CoverageKey]
) -> Iterator[tuple[CoverageKey, Condition]]:
    """Yield conditions that never held, of steps that never answered; none of catch-alls or on
    masked values."""
    for scenario in scenarios:
        for step in () if scenario.catch_all else scenario.steps:
            for condition in _judgeable_conditions(step):
                key = (scenario.name, step.key, condition.field)
                if key[:2] not in served and key not in met:
                    yield key, condition


def select_met_conditions(
    conditions: Iterable[tuple[CoverageKey, Condition]], request: CanonicalRequest
) -> Iterator[CoverageKey]:
    """Yield the keys of those conditions that hold for a request."""
    reader = RequestReader(request)
    return (key for key, condition in conditions if condition.holds(reader))


def coverage_text(coverage: Coverage, *, notes: tuple[str, ...] = ()) -> str:
    """Return the percentages and a line for each uncovered step, condition and fault."""
    faults = coverage.faults
    triggered = sum(1 for fault in faults if fault.triggered)
    headline = f"coverage: {coverage.percent:g} %, {coverage.served} of {coverage.steps} steps"
    if faults:
        headline += f", {triggered} of {len(faults)} faults"
    lines = first_lines(_uncovered_lines(coverage), _MAX_LINES)
    return "\n".join([headline, *lines, *(f"note: {note}" for note in notes)])


def _uncovered_lines(coverage: Coverage) -> Iterator[str]:
    """Yield a line for each step, condition and fault that the run did not reach."""
    for scenario in coverage.scenarios:
        for step in scenario.steps:
            step_ref = f"{scenario.scenario}, step {step.step}"
            if not step.served:
                yield line(f"never served: {step_ref}")
                for condition in step.never_true:
                    yield "  " + line(f"never true: {condition.field}: {condition.expected}")
            for fault in step.faults:
                if not fault.triggered:
                    yield line(f"never triggered: {step_ref}: {fault.kind} ({fault.place})")


def _step_coverage(scenario: Scenario, step: Step, data: RunCounts) -> StepCoverage:
    """Return how often a step answered; if never, with the conditions that no request met."""
    step_key = (scenario.name, step.key)
    served = data.served.get(step_key, 0)
    unmet = (
        UnmetCondition(condition.field, condition.expected)
        for condition in (() if served else _judgeable_conditions(step))
        if (*step_key, condition.field) not in data.met
    )
    faults = tuple(_fault_coverage(step_key, step, data))
    return StepCoverage(step.label, served, tuple(unmet), faults)


def _judgeable_conditions(step: Step) -> tuple[Condition, ...]:
    """Return the conditions that can be checked against journal rows, which mask some values."""
    match = step.match.with_turn(step.turn)
    return tuple(condition for condition in match.conditions if not condition.is_masked)


def _fault_coverage(step_key: StepKey, step: Step, data: RunCounts) -> Iterator[FaultCoverage]:
    """Yield the faults that a step scripts, in `failures` and `produce`, with whether they
    occurred."""
    failing = step.failures.fault if step.failures else None
    for place, fault in (("failures", failing), ("produce", step.produce.fault)):
        if fault is not None:
            yield FaultCoverage(fault.kind, place, (*step_key, fault.kind) in data.faults)
