"""Near misses: the steps that came closest to a request that none matched, and why they did not."""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from itertools import islice

from scenarios_app.engine.canonical import CanonicalRequest
from scenarios_app.engine.conditions.match import Mismatch
from scenarios_app.engine.conditions.reading import Reading
from scenarios_app.engine.matching.index import COMPARED, Entry, Index
from scenarios_app.engine.scenario import Scenario, Step
from scenarios_app.engine.state import StepRef

UNMATCHED = "no_scenario_matched"
LIMIT = 3
_SERVED = Mismatch("consume", "not yet served in this session", "served")


@dataclass(frozen=True, slots=True)
class NearMiss:
    """A step that was near. `mismatches` has at least one, in the order of the conditions."""

    scenario: Scenario
    step: Step
    mismatches: tuple[Mismatch, ...]
    distance: float


def near_misses(
    index: Index,
    request: CanonicalRequest,
    *,
    limit: int = LIMIT,
    served: Iterable[StepRef] = (),
    scenario: str | None = None,
) -> tuple[NearMiss, ...]:
    """The nearest steps that do not answer the request, nearest first, ties in the order of
    choosing. `served` is what the session has consumed: a step that matched but for that is the
    nearest of all. `scenario` seeks among one scenario's steps alone."""
    reading = Reading(request)
    gone = {(ref.scenario, ref.key) for ref in served}
    ranked = sorted(
        (entry.match.distance(reading), place, entry)
        for place, entry in enumerate(index.near(reading, scenario=scenario))
    )
    misses = (_miss(entry, distance, reading, gone) for distance, _, entry in ranked)
    return tuple(islice((miss for miss in misses if miss.mismatches), limit))


def near_misses_by_id(
    index: Index, request: CanonicalRequest, *, scenario: str | None = None
) -> tuple[NearMiss, ...]:
    """The steps that a request may have meant that asks for one by id: of this scenario those of
    other turns, else one of each scenario whose name is like the one asked for."""
    near = near_misses(index, request, limit=COMPARED, scenario=scenario)
    asked = (miss for miss in near if miss.scenario.select == "first_user_message")
    if scenario is None:
        named: dict[str, NearMiss] = {}
        for miss in asked:
            named.setdefault(miss.scenario.name, miss)
        asked = (miss for miss in named.values())
    return tuple(islice(asked, LIMIT))


def _miss(
    entry: Entry, distance: float, reading: Reading, gone: Collection[tuple[str, str]]
) -> NearMiss:
    mismatches = entry.match.mismatches(reading)
    if entry.step.consume and (entry.scenario.name, entry.step.key) in gone:
        mismatches = (*mismatches, _SERVED)
    return NearMiss(entry.scenario, entry.step, mismatches, distance)


def unmatched_message(near: Sequence[NearMiss]) -> str:
    """The text of the 404: the nearest steps, and of each the first condition that failed."""
    if not near:
        return f"{UNMATCHED}: there is no step that this request could match"
    return f"{UNMATCHED}: no step matches this request. Nearest: " + "; ".join(
        f"scenario “{miss.scenario.name}”, step “{miss.step.label}” ({_reason(miss.mismatches[0])})"
        for miss in near
    )


def _reason(mismatch: Mismatch) -> str:
    return f"{mismatch.field}: expected {mismatch.expected}, got {mismatch.actual}"
