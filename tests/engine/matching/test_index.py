"""The index gives what trying every step would give, in the order of the contract."""

from collections.abc import Iterable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from scenarios_app.engine.canonical import CanonicalRequest
from scenarios_app.engine.conditions.match import Match
from scenarios_app.engine.conditions.texts import RegexError, TextCondition
from scenarios_app.engine.matching.index import build_index, names_path, overlay, refuses_upgrade
from scenarios_app.engine.scenario import Fault, Produce, Scenario, Step
from tests.engine.asking import CHAT, ask, match_request, saying, scenario, step, when
from tests.engine.drawn_asking import requests, scenarios
from tests.engine.matching.indexed import keys
from tests.support.hypothesis_profiles import often

OPENAI = when(provider=(TextCondition(equals="openai"),))
ON_CHAT = when(path=(TextCondition(equals=CHAT),))


def particularity(one: Step) -> int:
    """The contract's three degrees, told again from the step itself; the smallest wins."""
    fields = {condition.field for condition in one.match.conditions}
    if fields - {"match.provider", "match.path"} or one.turn is not None:
        return 1
    return 2 if fields else 3


def naive(every: list[Scenario], request: CanonicalRequest, consumed: Iterable[str]) -> list[str]:
    """The rule as it is written, trying every step; whoever is chosen is lost to somebody else,
    and the rule asked again."""
    steps = {
        scenario.name: [
            one
            for one in scenario.steps
            if match_request(one.match, request, turn=one.turn).matched
            and not (one.consume and one.key in consumed)
        ]
        for scenario in every
        if scenario.select == "match"
    }
    priorities = {scenario.name: scenario.priority for scenario in every}
    order = []
    while offers := {name: of[0] for name, of in steps.items() if of}:
        highest = max(priorities[name] for name in offers)
        best = min(
            (name for name in offers if priorities[name] == highest),
            key=lambda name: (particularity(offers[name]), name),
        )
        order.append(steps[best].pop(0).key)
    return order


KEYS = [f"{number}.{place}" for number in range(5) for place in range(6)]


@settings(max_examples=often(300))
@given(scenarios(), requests(), st.sets(st.sampled_from(KEYS)))
def test_the_same_as_trying_every_step(
    every: list[Scenario], request: CanonicalRequest, consumed: set[str]
) -> None:
    index = build_index(every)
    assert keys(index, request, consumed=consumed) == naive(every, request, consumed)
    for one in every:
        assert keys(index, request, one.name, consumed) == naive([one], request, consumed)


@given(scenarios(), scenarios(), requests(), st.sampled_from(["all", "answers", "nothing"]))
def test_an_index_made_out_of_another_one_is_the_same(
    before: list[Scenario], after: list[Scenario], request: CanonicalRequest, changed: str
) -> None:
    if changed != "all":
        after = [replace(one) for one in before]
    if changed == "answers":
        after = [replace(o, steps=tuple(replace(s, consume=False) for s in o.steps)) for o in after]
    index = build_index(after, previous=build_index(before))
    assert keys(index, request) == naive(after, request, ())
    assert index.by_name == build_index(after).by_name


def test_equal_conditions_of_other_steps_are_found_as_before() -> None:
    first = build_index([scenario("a", step(saying(contains="rain"), key="1"))])
    second = build_index([scenario("a", step(saying(contains="rain"), key="2"))], previous=first)
    third = build_index([scenario("a", step(saying(contains="sun"), key="3"))], previous=second)
    assert second.layers[0][0]._lookup is first.layers[0][0]._lookup
    assert [keys(index, ask("rain")) for index in (first, second, third)] == [["1"], ["2"], []]
    assert keys(third, ask("sun")) == ["3"]


@given(scenarios(), scenarios(), requests())
def test_an_overlay_is_the_index_of_what_is_left(
    common: list[Scenario], own: list[Scenario], request: CanonicalRequest
) -> None:
    names = {one.name for one in own}
    left = [one for one in common if one.name not in names] + own
    index, over = build_index(left), overlay(build_index(common), own)
    assert keys(over, request) == keys(index, request)
    assert over.by_name == index.by_name
    for one in left:
        assert keys(over, request, one.name) == keys(index, request, one.name)


def test_an_overlay_may_be_laid_over_another() -> None:
    first = scenario("a", step(key="first"))
    second, third = scenario("a", step(key="second")), scenario("b", step(key="third"))
    index = overlay(overlay(build_index([first]), [second]), [third])
    assert keys(index, ask()) == ["second", "third"]


def test_nothing_overrides_the_priority() -> None:
    index = build_index(
        [
            scenario("a", step(saying(equals="hi"), key="real")),
            scenario("b", step(OPENAI, key="provider"), priority=1000),
            scenario("c", step(key="empty"), priority=1001),
        ]
    )
    assert keys(index, ask("hi")) == ["empty", "provider", "real"]


def test_of_one_priority_the_more_particular_offer_wins_and_then_the_name() -> None:
    index = build_index(
        [
            scenario("a", step(key="empty")),
            scenario("b", step(OPENAI, key="provider")),
            scenario("c", step(ON_CHAT, key="path")),
            scenario("d", step(Match((*OPENAI.conditions, *ON_CHAT.conditions)), key="both")),
            scenario("e", step(when(stream=False), key="real")),
            scenario("f", step(key="turn", turn=1)),
        ]
    )
    assert keys(index, ask("hi")) == ["real", "turn", "provider", "path", "both", "empty"]


def test_a_default_keeps_its_place_in_its_scenario() -> None:
    steps = step(key="empty"), step(OPENAI, key="provider"), step(saying(equals="hi"), key="real")
    index = build_index([scenario("a", *steps)])
    assert keys(index, ask("hi")) == ["empty", "provider", "real"]
    assert keys(index, ask("hi"), consumed=["empty"]) == ["provider", "real"]


def test_a_scenario_competes_with_its_first_step_alone() -> None:
    held_back = scenario("a", step(key="empty"), step(saying(equals="hi"), key="real"))
    index = build_index([held_back, scenario("b", step(OPENAI, key="provider"))])
    assert keys(index, ask("hi")) == ["provider", "empty", "real"]
    assert keys(index, ask("hi"), consumed=["empty"]) == ["real", "provider"]


def test_step_lost_to_a_concurrent_request_lets_the_next_step_be_offered() -> None:
    first = scenario("a", step(OPENAI, key="default"), step(saying(equals="hi"), key="real"))
    index = build_index([first, scenario("b", step(ON_CHAT, key="other default"))])
    assert keys(index, ask("hi")) == ["default", "real", "other default"]


class Looked(set[tuple[str, str]]):
    """Consumed steps, and how often somebody looked whether one is among them."""

    times = 0

    def __contains__(self, ref: object) -> bool:
        self.times += 1
        return super().__contains__(ref)


@pytest.mark.parametrize("own", [False, True])
def test_losing_every_step_checks_each_step_once(own: bool) -> None:
    many = scenario("many", *(step(key=f"{number}") for number in range(300)))
    index = overlay(build_index([]), [many]) if own else build_index([many])
    looked = Looked(("many", f"{number}") for number in range(100))
    found = [one.step.key for one in index.candidates(ask("hi"), consumed=looked)]
    assert found == [f"{number}" for number in range(100, 300)]
    assert looked.times == 300


def test_step_consumed_during_iteration_lets_the_next_step_be_offered() -> None:
    first = scenario("a", step(OPENAI, key="default"), step(saying(equals="hi"), key="real"))
    other = scenario("b", step(saying(equals="hi"), key="other"))
    gone: set[tuple[str, str]] = set()
    found = build_index([first, other]).candidates(ask("hi"), consumed=gone)
    assert next(found).step.key == "other"
    gone.add(("a", "default"))
    assert next(found).step.key == "real"


def test_a_consumed_step_that_need_not_be_consumed_any_more_is_offered() -> None:
    index = build_index([scenario("a", step(key="edited", consume=False), step(key="next"))])
    assert keys(index, ask("hi"), consumed=["edited", "next"]) == ["edited"]


def test_turn_is_a_condition_of_a_matching_step() -> None:
    index = build_index([scenario("a", step(key="2", turn=2), step(key="1", turn=1))])
    assert keys(index, ask("hi")) == ["1"]


def test_scenarios_chosen_by_id_are_no_candidates() -> None:
    by_id = scenario("id", step(key="1", turn=1), select="first_user_message")
    index = build_index([by_id])
    assert keys(index, ask("id")) == []
    assert keys(index, ask("id"), "id") == []
    assert index.by_name == {"id": by_id}


def test_candidates_carry_the_groups_of_their_conditions() -> None:
    match = saying(regex="in (?P<city>[A-Z]+)")
    index = build_index([scenario("a", step(match), step(key="plain"))])
    first, second = index.candidates(ask("in PARIS"))
    assert first.groups == {"city": "PARIS"}
    assert second.groups == {}


def test_a_large_scenario_can_be_asked_for_alone() -> None:
    many = [step(saying(contains=f"topic {n};"), key=str(n)) for n in range(500)]
    index = build_index([scenario("many", *many), scenario("other", step(key="other"))])
    assert keys(index, ask("topic 7;"), "many") == ["7"]
    assert keys(index, ask("topic 7;")) == ["7", "other"]
    assert keys(index, ask("topic 7;"), "nobody") == []


def test_only_steps_that_name_a_path_override_a_computed_answer() -> None:
    index = build_index(
        [
            scenario(
                "a",
                step(OPENAI, key="provider"),
                step(key="empty"),
                step(when(path=(TextCondition(startswith="/v1/"),)), key="path"),
                step(when(path=(TextCondition(equals="/v1/x"),)), key="other path"),
            )
        ]
    )
    assert [c.step.key for c in index.candidates(ask(), only=names_path)] == ["path"]
    found = index.candidates(ask(), consumed={("a", "path")}, only=names_path)
    assert [c.step.key for c in found] == []


def test_steps_that_name_no_path_hold_none_back_from_a_computed_answer() -> None:
    named = Match((*ON_CHAT.conditions, *saying(contains="h").conditions))
    steps = step(OPENAI, key="default"), step(ON_CHAT, key="path"), step(named, key="both")
    index = build_index([scenario("a", *steps), scenario("b", step(named, key="other"))])
    found = [c.step.key for c in index.candidates(ask("hi"), only=names_path)]
    assert found == ["other", "path", "both"]


def test_a_pattern_that_is_none_is_refused() -> None:
    with pytest.raises(RegexError):
        build_index([scenario("a", step(saying(regex="(")))])


@settings(max_examples=300)
@given(scenarios(), requests(), st.data())
def test_first_entry_is_that_of_the_first_candidate(
    every: list[Scenario], request: CanonicalRequest, data: st.DataObject
) -> None:
    index = build_index(every)
    steps = [(one.name, step.key) for one in every for step in one.steps]
    consumed = data.draw(st.sets(st.sampled_from(steps))) if steps else set()
    first = next(index.candidates(request, consumed=consumed), None)
    entry = index.first(request, consumed)
    assert (entry and entry.step) == (first and first.step)
    own = overlay(index, every[:1])
    first, entry = next(own.candidates(request), None), own.first(request, ())
    assert (entry and entry.step) == (first and first.step)


def test_an_empty_index_has_no_candidates() -> None:
    assert keys(build_index([]), ask("hi")) == []


def test_only_steps_that_refuse_a_websocket_answer_a_handshake() -> None:
    refusing = step(key="refusing", produce=Produce(fault=Fault("refuse_upgrade")))
    failing = step(key="failing", produce=Produce(fault=Fault("model_error")))
    plain = step(key="plain")
    index = build_index([scenario("a", plain, failing, refusing)])
    assert index.refuses_upgrades
    assert [c.step.key for c in index.candidates(ask(), only=refuses_upgrade)] == ["refusing"]
    assert not build_index([scenario("a", plain, failing)]).refuses_upgrades
