"""Precedence of two matching steps, and its explanation."""

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
from tests.engine.match_builders import build_match, scenario, step, user_text_match
from tests.engine.match_strategies import requests, scenarios

OPENAI = build_match(provider=(TextCondition(equals="openai"),))
KEYS = [f"{number}.{place}" for number in range(5) for place in range(6)]


def build_entries(*steps: Match, name: str = "own", priority: int = 0) -> list[Entry]:
    numbered_steps = (step(match, f"{name} {n}") for n, match in enumerate(steps, start=1))
    return list(entries_of([scenario(name, *numbered_steps, priority=priority)], "match"))


def test_lower_priority_loses() -> None:
    (winner,) = build_entries(build_match(), name="urgent", priority=5)
    first, second = build_entries(build_match(), user_text_match(contains="hi"), priority=-2)
    for entry in (first, second):
        loss = explain_loss(entry, winner, offered=first)
        assert (loss.field, loss.ok) == ("priority", False)
        assert loss.expected == (
            "no offer of a higher priority than -2: "
            "the higher priority goes first, which nothing overrides"
        )
        assert loss.actual == "step “urgent 1” of “urgent” of priority 5"


def test_a_scenario_offers_one_step() -> None:
    first, second = build_entries(build_match(), user_text_match(contains="hi"))
    (other_entry,) = build_entries(OPENAI, name="other")
    for winner in (first, other_entry):
        loss = explain_loss(second, winner, offered=first)
        assert loss.field == "order"
        assert loss.expected == (
            "a scenario offers its first step, in step order, that matches and is not consumed"
        )
        assert loss.actual == "step “own 1” is that step"


@pytest.mark.parametrize(
    ("match", "winning_match", "loser_degree", "winner_degree"),
    [
        (
            OPENAI,
            user_text_match(contains="hi"),
            "nothing but provider or path",
            "a real condition",
        ),
        (build_match(), user_text_match(contains="hi"), "an empty match", "a real condition"),
        (build_match(), OPENAI, "an empty match", "nothing but provider or path"),
    ],
)
def test_the_more_particular_offer_wins(
    match: Match, winning_match: Match, loser_degree: str, winner_degree: str
) -> None:
    (entry,), (winner,) = build_entries(match), build_entries(winning_match, name="winner")
    loss = explain_loss(entry, winner, offered=entry)
    assert loss.field == "particularity"
    assert loss.expected == (
        f"no offer more specific than {loser_degree}: "
        "among the offers of one priority the more specific match wins"
    )
    assert loss.actual == f"step “winner 1” of “winner”, which holds {winner_degree}"


def test_name_decides_between_equally_particular_offers() -> None:
    (entry,), (winner,) = build_entries(OPENAI), build_entries(OPENAI, name="a")
    loss = explain_loss(entry, winner, offered=entry)
    assert (loss.field, loss.actual) == ("name", "step “a 1” of “a”: its name comes first")
    assert loss.expected == ("among equally specific offers the scenario's name decides")


@settings(max_examples=300)
@given(scenarios(), requests(), st.sets(st.sampled_from(KEYS)))
def test_step_reported_as_shadowed_never_answers(
    all_scenarios: list[Scenario], request: CanonicalRequest, consumed: set[str]
) -> None:
    consumed_refs = {(suspicion.name, key) for suspicion in all_scenarios for key in consumed}
    best = next(build_index(all_scenarios).candidates(request, consumed=consumed_refs), None)
    shadowed_steps = {
        (suspicion.scenario, suspicion.row)
        for suspicion in lint(all_scenarios)
        if suspicion.kind == "shadowed"
    }
    if best is not None:
        assert (best.scenario.name, best.scenario.steps.index(best.step)) not in shadowed_steps
