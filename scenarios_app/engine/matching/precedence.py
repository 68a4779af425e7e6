"""Which of two steps goes first where a request matches both, and why: told in the words of the
rule by which the index chooses."""

from collections.abc import Iterable
from typing import Literal, TypeAlias

from scenarios_app.engine.conditions.match import Verdict
from scenarios_app.engine.matching.index import Entry, Particularity

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
    match _reason(winner, entry, offered):
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


def _reason(winner: Entry, entry: Entry, offered: Entry) -> Reason:
    if winner.rank.below != entry.rank.below:
        return "priority"
    if offered is not entry:
        return "order"
    return "name" if winner.rank.particularity == entry.rank.particularity else "particularity"


def _lost(field: Reason, expected: str, actual: str) -> Verdict:
    return Verdict(field, expected, actual, ok=False)
