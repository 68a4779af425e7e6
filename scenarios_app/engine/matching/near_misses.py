"""Explains why steps did not answer: near misses, and the rules that order matching steps."""

from collections.abc import Container, Iterable, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Literal, TypeAlias

from scenarios_app.engine.canonical import CanonicalRequest
from scenarios_app.engine.conditions.match import ConditionResult, Mismatch
from scenarios_app.engine.conditions.subjects import RequestReader
from scenarios_app.engine.matching.index import MAX_COMPARED_STEPS, Entry, Index, Particularity
from scenarios_app.engine.scenario import Scenario, Step

UNMATCHED = "no_scenario_matched"
_ADD_SCENARIO = (
    "Add a scenario (in a test: mockllm.on(…).reply(…)), or load the fixture test_mode, which "
    'answers every request (a Django test: fixtures = ["test_mode"]; a server: --fixture test_mode)'
)
MAX_NEAR_MISSES = 3
_ALREADY_SERVED = Mismatch("consume", "not yet served in this session", "served")


@dataclass(frozen=True, slots=True)
class NearMiss:
    """A step that nearly matched. `mismatches` has at least one entry, in listing order."""

    scenario: Scenario
    step: Step
    mismatches: tuple[Mismatch, ...]
    distance: float


def near_misses(
    index: Index,
    request: CanonicalRequest,
    *,
    limit: int = MAX_NEAR_MISSES,
    served: Container[tuple[str, str]] = frozenset(),
    scenario: str | None = None,
) -> tuple[NearMiss, ...]:
    """Return the nearest steps that do not answer the request, nearest first.

    They are sorted by the number of failed conditions, then by distance, then in the order of
    choosing. `served` holds scenario and key of what the session has consumed: a step that only
    failed because of that is the nearest of all. `scenario` limits the search to one scenario.
    """
    reader = RequestReader(request)
    ranked = sorted(
        (entry.match.count_failed(reader) + _is_used_up(entry, served), distance, place, entry)
        for place, entry in enumerate(index.near(reader, scenario=scenario))
        for distance in (entry.match.distance(reader),)
    )
    failed = ((distance, entry) for count, distance, _, entry in ranked if count)
    return tuple(
        _near_miss(entry, distance, reader, served) for distance, entry in islice(failed, limit)
    )


def shares_topic(miss: NearMiss, request: CanonicalRequest) -> bool:
    """Return True if a condition of the step holds that says what it is about: on a text, a tool or
    the model, for example; not on provider, path, turn, streaming, or a role alone."""
    reader = RequestReader(request)
    return any(
        condition.is_topical and condition.holds(reader) for condition in miss.step.match.conditions
    )


def near_misses_by_id(
    index: Index, request: CanonicalRequest, *, scenario: str | None = None
) -> tuple[NearMiss, ...]:
    """Return the steps that a request by id may have meant: the other turns of the named scenario,
    or one step of each scenario with a similar name."""
    near = near_misses(index, request, limit=MAX_COMPARED_STEPS, scenario=scenario)
    by_id = (miss for miss in near if miss.scenario.select == "first_user_message")
    if scenario is None:
        nearest: dict[str, NearMiss] = {}
        for miss in by_id:
            nearest.setdefault(miss.scenario.name, miss)
        by_id = (miss for miss in nearest.values())
    return tuple(islice(by_id, MAX_NEAR_MISSES))


def _near_miss(
    entry: Entry, distance: float, reader: RequestReader, served: Container[tuple[str, str]]
) -> NearMiss:
    mismatches = entry.match.mismatches(reader)
    if _is_used_up(entry, served):
        mismatches = (*mismatches, _ALREADY_SERVED)
    return NearMiss(entry.scenario, entry.step, mismatches, distance)


def _is_used_up(entry: Entry, served: Container[tuple[str, str]]) -> bool:
    """Return True if the step can answer once only, and has."""
    return entry.step.consume and (entry.scenario.name, entry.step.key) in served


def unmatched_message(near: Sequence[NearMiss]) -> str:
    """Return the text of the 404: the nearest steps, each with its first failed condition."""
    if not near:
        return f"{UNMATCHED}: there is no step that this request could match. {_ADD_SCENARIO}"
    return f"{UNMATCHED}: no step matches this request. Nearest: " + "; ".join(
        f"scenario “{miss.scenario.name}”, step “{miss.step.label}” "
        f"({_describe_mismatch(miss.mismatches[0])})"
        for miss in near
    )


def _describe_mismatch(mismatch: Mismatch) -> str:
    return f"{mismatch.field}: expected {mismatch.expected}, got {mismatch.actual}"


OrderingRule: TypeAlias = Literal["priority", "order", "particularity", "name"]

RULE_TEXTS: dict[OrderingRule, str] = {
    "priority": "the higher priority goes first, which nothing overrides",
    "order": "a scenario offers its first step, in step order, that matches and is not consumed",
    "particularity": "among the offers of one priority the more specific match wins",
    "name": "among equally specific offers the scenario's name decides",
}
_PARTICULARITY_NAMES = {
    Particularity.CONDITION: "a real condition",
    Particularity.DEFAULT: "nothing but provider or path",
    Particularity.EMPTY: "an empty match",
}


def explain_loss(entry: Entry, winner: Entry, *, offered: Entry) -> ConditionResult:
    """Return why a matching, unconsumed entry lost to `winner`, as one more failed condition.

    `offered` is the first step of the entry's scenario that matches and is not consumed.
    """
    winner_name = f"step “{winner.step.label}” of “{winner.scenario.name}”"
    match _deciding_rule(winner, entry, offered):
        case "priority":
            priority, winner_priority = entry.scenario.priority, winner.scenario.priority
            return _failed_rule(
                "priority",
                f"no offer of a higher priority than {priority}: {RULE_TEXTS['priority']}",
                f"{winner_name} of priority {winner_priority}",
            )
        case "order":
            return _failed_rule(
                "order", RULE_TEXTS["order"], f"step “{offered.step.label}” is that step"
            )
        case "particularity":
            particularity, winner_particularity = (
                _PARTICULARITY_NAMES[e.rank.particularity] for e in (entry, winner)
            )
            return _failed_rule(
                "particularity",
                f"no offer more specific than {particularity}: {RULE_TEXTS['particularity']}",
                f"{winner_name}, which holds {winner_particularity}",
            )
        case _:
            return _failed_rule("name", RULE_TEXTS["name"], f"{winner_name}: its name comes first")


def find_shadowing_rule(above: Entry, entry: Entry, *, least: Particularity) -> OrderingRule | None:
    """Return the rule by which `entry` never answers, or None.

    `above` is not consumed and matches all requests of `entry`; `least` is the least particular
    step of its scenario up to `above`, which that scenario may offer instead.
    """
    if above.scenario is entry.scenario:
        return "order" if above.rank.place < entry.rank.place else None
    if above.rank.negated_priority != entry.rank.negated_priority:
        return "priority" if above.rank.negated_priority < entry.rank.negated_priority else None
    # A step that matches everything another one does is never more specific than it.
    alike = least == entry.rank.particularity
    return "name" if alike and above.scenario.name < entry.scenario.name else None


def least_particular(entries: Iterable[Entry]) -> dict[tuple[str, str], Particularity]:
    """Return, by step, how particular the least particular step up to it is; steps in order."""
    by_step: dict[tuple[str, str], Particularity] = {}
    so_far: dict[str, Particularity] = {}
    for entry in entries:
        name, own = entry.scenario.name, entry.rank.particularity
        by_step[entry.ref] = so_far[name] = max(own, so_far.get(name, own))
    return by_step


def _deciding_rule(winner: Entry, entry: Entry, offered: Entry) -> OrderingRule:
    """Return the rule by which the winner came before a step that matched as well."""
    if winner.rank.negated_priority != entry.rank.negated_priority:
        return "priority"
    if offered is not entry:
        return "order"
    return "name" if winner.rank.particularity == entry.rank.particularity else "particularity"


def _failed_rule(field: OrderingRule, expected: str, actual: str) -> ConditionResult:
    return ConditionResult(field, expected, actual, ok=False)
