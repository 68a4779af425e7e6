"""Why steps do not answer: near misses, the steps that came closest to a request that none matched;
and what goes before a step that matches."""

from collections.abc import Container, Iterable, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Literal, TypeAlias

from scenarios_app.engine.canonical import CanonicalRequest
from scenarios_app.engine.conditions.match import Mismatch, Verdict
from scenarios_app.engine.conditions.subjects import Reading
from scenarios_app.engine.matching.index import COMPARED, Entry, Index, Particularity
from scenarios_app.engine.scenario import Scenario, Step

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
    served: Container[tuple[str, str]] = frozenset(),
    scenario: str | None = None,
) -> tuple[NearMiss, ...]:
    """Return the nearest steps that do not answer the request, nearest first.

    They are sorted by the number of failed conditions, then by distance, then in the order of
    choosing. `served` holds scenario and key of what the session has consumed: a step that only
    failed because of that is the nearest of all. `scenario` limits the search to one scenario.
    """
    reading = Reading(request)
    ranked = sorted(
        (entry.match.count_failed(reading) + _is_used_up(entry, served), distance, place, entry)
        for place, entry in enumerate(index.near(reading, scenario=scenario))
        for distance in (entry.match.distance(reading),)
    )
    failed = ((distance, entry) for count, distance, _, entry in ranked if count)
    return tuple(
        _miss(entry, distance, reading, served) for distance, entry in islice(failed, limit)
    )


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
    entry: Entry, distance: float, reading: Reading, served: Container[tuple[str, str]]
) -> NearMiss:
    mismatches = entry.match.mismatches(reading)
    if _is_used_up(entry, served):
        mismatches = (*mismatches, _SERVED)
    return NearMiss(entry.scenario, entry.step, mismatches, distance)


def _is_used_up(entry: Entry, served: Container[tuple[str, str]]) -> bool:
    return entry.step.consume and (entry.scenario.name, entry.step.key) in served


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


Reason: TypeAlias = Literal["priority", "order", "particularity", "name"]

RULES: dict[Reason, str] = {
    "priority": "the higher priority goes first, which nothing overrides",
    "order": "a scenario offers its first step, in step order, that matches and is not consumed",
    "particularity": "among the offers of one priority the more particular wins",
    "name": "among offers that are as particular as one another the scenario's name decides",
}
_HOLDS = {
    Particularity.CONDITION: "a real condition",
    Particularity.DEFAULT: "nothing but provider or path",
    Particularity.EMPTY: "an empty match",
}


def beaten(entry: Entry, winner: Entry, *, offered: Entry) -> Verdict:
    """What keeps an entry that matches and is not consumed from answering where `winner` does, as
    one more condition that does not hold. `offered` is the first of its scenario that matches and
    is not consumed."""
    who = f"step “{winner.step.label}” of “{winner.scenario.name}”"
    match _goes_before(winner, entry, offered):
        case "priority":
            own, other = entry.scenario.priority, winner.scenario.priority
            return _lost(
                "priority",
                f"no offer of a higher priority than {own}: {RULES['priority']}",
                f"{who} of priority {other}",
            )
        case "order":
            return _lost("order", RULES["order"], f"step “{offered.step.label}” is that step")
        case "particularity":
            held, more = (_HOLDS[e.rank.particularity] for e in (entry, winner))
            return _lost(
                "particularity",
                f"no offer more particular than {held}: {RULES['particularity']}",
                f"{who}, which holds {more}",
            )
        case _:
            return _lost("name", RULES["name"], f"{who}: its name comes first")


def shadowing(above: Entry, entry: Entry, *, least: Particularity) -> Reason | None:
    """Why `entry` never answers, where `above` is not consumed and matches all that it does; None
    where it can. `least` is the least particular of what the scenario of `above` may offer in its
    place: of the steps up to it."""
    if above.scenario is entry.scenario:
        return "order" if above.rank.place < entry.rank.place else None
    if above.rank.below != entry.rank.below:
        return "priority" if above.rank.below < entry.rank.below else None
    # What matches all that another step does is never the more particular of the two.
    alike = least == entry.rank.particularity
    return "name" if alike and above.scenario.name < entry.scenario.name else None


def least_particular(entries: Iterable[Entry]) -> dict[tuple[str, str], Particularity]:
    """For each step, the least particular of the steps of its scenario up to it. The entries of a
    scenario are in step order."""
    found: dict[tuple[str, str], Particularity] = {}
    so_far: dict[str, Particularity] = {}
    for entry in entries:
        name, own = entry.scenario.name, entry.rank.particularity
        found[entry.ref] = so_far[name] = max(own, so_far.get(name, own))
    return found


def _goes_before(winner: Entry, entry: Entry, offered: Entry) -> Reason:
    if winner.rank.below != entry.rank.below:
        return "priority"
    if offered is not entry:
        return "order"
    return "name" if winner.rank.particularity == entry.rank.particularity else "particularity"


def _lost(field: Reason, expected: str, actual: str) -> Verdict:
    return Verdict(field, expected, actual, ok=False)
