"""Which of two steps goes first, and the words for it."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scenarios_app.engine.canonical import CanonicalRequest
from scenarios_app.engine.conditions.match import Match
from scenarios_app.engine.conditions.texts import TextCondition
from scenarios_app.engine.matching.index import Entry, build_index, entries_of
from scenarios_app.engine.matching.lint import lint
from scenarios_app.engine.matching.near_misses import explain_loss
from scenarios_app.engine.scenario import Scenario
from tests.engine.asking import saying, scenario, step, when
from tests.engine.drawn_asking import requests, scenarios

OPENAI = when(provider=(TextCondition(equals="openai"),))
KEYS = [f"{number}.{place}" for number in range(5) for place in range(6)]


def entries(*steps: Match, name: str = "own", priority: int = 0) -> list[Entry]:
    of = (step(match, f"{name} {n}") for n, match in enumerate(steps, start=1))
    return list(entries_of([scenario(name, *of, priority=priority)], "match"))


def test_a_lower_priority_loses_whatever_else_it_has() -> None:
    (winner,) = entries(when(), name="urgent", priority=5)
    first, second = entries(when(), saying(contains="hi"), priority=-2)
    for entry in (first, second):
        lost = explain_loss(entry, winner, offered=first)
        assert (lost.field, lost.ok) == ("priority", False)
        assert lost.expected == (
            "no offer of a higher priority than -2: "
            "the higher priority goes first, which nothing overrides"
        )
        assert lost.actual == "step “urgent 1” of “urgent” of priority 5"


def test_a_scenario_offers_one_step() -> None:
    first, second = entries(when(), saying(contains="hi"))
    (other,) = entries(OPENAI, name="other")
    for winner in (first, other):
        lost = explain_loss(second, winner, offered=first)
        assert lost.field == "order"
        assert lost.expected == (
            "a scenario offers its first step, in step order, that matches and is not consumed"
        )
        assert lost.actual == "step “own 1” is that step"


@pytest.mark.parametrize(
    ("mine", "others", "held", "more"),
    [
        (OPENAI, saying(contains="hi"), "nothing but provider or path", "a real condition"),
        (when(), saying(contains="hi"), "an empty match", "a real condition"),
        (when(), OPENAI, "an empty match", "nothing but provider or path"),
    ],
)
def test_the_more_particular_offer_wins(mine: Match, others: Match, held: str, more: str) -> None:
    (entry,), (winner,) = entries(mine), entries(others, name="winner")
    lost = explain_loss(entry, winner, offered=entry)
    assert lost.field == "particularity"
    assert lost.expected == (
        f"no offer more particular than {held}: "
        "among the offers of one priority the more particular wins"
    )
    assert lost.actual == f"step “winner 1” of “winner”, which holds {more}"


def test_the_name_decides_in_the_end() -> None:
    (entry,), (winner,) = entries(OPENAI), entries(OPENAI, name="a")
    lost = explain_loss(entry, winner, offered=entry)
    assert (lost.field, lost.actual) == ("name", "step “a 1” of “a”: its name comes first")
    assert lost.expected == (
        "among offers that are as particular as one another the scenario's name decides"
    )


@settings(max_examples=300)
@given(scenarios(), requests(), st.sets(st.sampled_from(KEYS)))
def test_step_reported_as_shadowed_never_answers(
    every: list[Scenario], request: CanonicalRequest, consumed: set[str]
) -> None:
    gone = {(one.name, key) for one in every for key in consumed}
    best = next(build_index(every).candidates(request, consumed=gone), None)
    found = {(one.scenario, one.row) for one in lint(every) if one.kind == "shadowed"}
    if best is not None:
        assert (best.scenario.name, best.scenario.steps.index(best.step)) not in found
