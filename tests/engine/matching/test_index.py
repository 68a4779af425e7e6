"""The index finds the same steps, in the same order, as trying every step."""

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
from tests.engine.match_builders import (
    CHAT,
    build_match,
    chat_request,
    match_request,
    scenario,
    step,
    user_text_match,
)
from tests.engine.match_strategies import requests, scenarios
from tests.engine.matching.index_candidates import candidate_keys
from tests.support.hypothesis_profiles import example_count

OPENAI = build_match(provider=(TextCondition(equals="openai"),))
ON_CHAT = build_match(path=(TextCondition(equals=CHAT),))


def particularity_rank(step: Step) -> int:
    """Return the rank of a step by the contract's three degrees; the smallest wins."""
    fields = {condition.field for condition in step.match.conditions}
    if fields - {"match.provider", "match.path"} or step.turn is not None:
        return 1
    return 2 if fields else 3


def candidate_keys_without_index(
    scenarios: list[Scenario], request: CanonicalRequest, consumed: Iterable[str]
) -> list[str]:
    """Apply the rule literally: try every step, remove the winner, and repeat."""
    steps = {
        scenario.name: [
            step
            for step in scenario.steps
            if match_request(step.match, request, turn=step.turn).matched
            and not (step.consume and step.key in consumed)
        ]
        for scenario in scenarios
        if scenario.select == "match"
    }
    priorities = {scenario.name: scenario.priority for scenario in scenarios}
    order = []
    while offers := {
        name: offers_of_scenario[0]
        for name, offers_of_scenario in steps.items()
        if offers_of_scenario
    }:
        highest = max(priorities[name] for name in offers)
        best = min(
            (name for name in offers if priorities[name] == highest),
            key=lambda name: (particularity_rank(offers[name]), name),
        )
        order.append(steps[best].pop(0).key)
    return order


KEYS = [f"{number}.{place}" for number in range(5) for place in range(6)]


@settings(max_examples=example_count(300))
@given(scenarios(), requests(), st.sets(st.sampled_from(KEYS)))
def test_candidates_are_those_of_trying_every_step(
    all_scenarios: list[Scenario], request: CanonicalRequest, consumed: set[str]
) -> None:
    index = build_index(all_scenarios)
    assert candidate_keys(index, request, consumed=consumed) == candidate_keys_without_index(
        all_scenarios, request, consumed
    )
    for one_scenario in all_scenarios:
        assert candidate_keys(
            index, request, one_scenario.name, consumed
        ) == candidate_keys_without_index([one_scenario], request, consumed)


@given(scenarios(), scenarios(), requests(), st.sampled_from(["all", "answers", "nothing"]))
def test_index_built_from_a_previous_one_is_equal(
    before: list[Scenario], after: list[Scenario], request: CanonicalRequest, changed: str
) -> None:
    if changed != "all":
        after = [replace(one_scenario) for one_scenario in before]
    if changed == "answers":
        after = [
            replace(
                one_scenario,
                steps=tuple(replace(old_step, consume=False) for old_step in one_scenario.steps),
            )
            for one_scenario in after
        ]
    index = build_index(after, previous=build_index(before))
    assert candidate_keys(index, request) == candidate_keys_without_index(after, request, ())
    assert index.by_name == build_index(after).by_name


def test_lookup_is_reused_for_equal_conditions() -> None:
    first = build_index([scenario("a", step(user_text_match(contains="rain"), key="1"))])
    second = build_index(
        [scenario("a", step(user_text_match(contains="rain"), key="2"))], previous=first
    )
    third = build_index(
        [scenario("a", step(user_text_match(contains="sun"), key="3"))], previous=second
    )
    assert second.layers[0][0]._lookup is first.layers[0][0]._lookup
    assert [candidate_keys(index, chat_request("rain")) for index in (first, second, third)] == [
        ["1"],
        ["2"],
        [],
    ]
    assert candidate_keys(third, chat_request("sun")) == ["3"]


@given(scenarios(), scenarios(), requests())
def test_overlay_equals_the_index_of_the_visible_scenarios(
    common: list[Scenario], own: list[Scenario], request: CanonicalRequest
) -> None:
    names = {one_scenario.name for one_scenario in own}
    visible_scenarios = [
        one_scenario for one_scenario in common if one_scenario.name not in names
    ] + own
    index, over = build_index(visible_scenarios), overlay(build_index(common), own)
    assert candidate_keys(over, request) == candidate_keys(index, request)
    assert over.by_name == index.by_name
    for one_scenario in visible_scenarios:
        assert candidate_keys(over, request, one_scenario.name) == candidate_keys(
            index, request, one_scenario.name
        )


def test_overlay_can_be_built_over_another() -> None:
    first = scenario("a", step(key="first"))
    second, third = scenario("a", step(key="second")), scenario("b", step(key="third"))
    index = overlay(overlay(build_index([first]), [second]), [third])
    assert candidate_keys(index, chat_request()) == ["second", "third"]


def test_nothing_overrides_the_priority() -> None:
    index = build_index(
        [
            scenario("a", step(user_text_match(equals="hi"), key="real")),
            scenario("b", step(OPENAI, key="provider"), priority=1000),
            scenario("c", step(key="empty"), priority=1001),
        ]
    )
    assert candidate_keys(index, chat_request("hi")) == ["empty", "provider", "real"]


def test_equal_priority_is_decided_by_particularity_and_then_by_name() -> None:
    index = build_index(
        [
            scenario("a", step(key="empty")),
            scenario("b", step(OPENAI, key="provider")),
            scenario("c", step(ON_CHAT, key="path")),
            scenario("d", step(Match((*OPENAI.conditions, *ON_CHAT.conditions)), key="both")),
            scenario("e", step(build_match(stream=False), key="real")),
            scenario("f", step(key="turn", turn=1)),
        ]
    )
    assert candidate_keys(index, chat_request("hi")) == [
        "real",
        "turn",
        "provider",
        "path",
        "both",
        "empty",
    ]


def test_default_step_keeps_its_position_in_its_scenario() -> None:
    steps = (
        step(key="empty"),
        step(OPENAI, key="provider"),
        step(user_text_match(equals="hi"), key="real"),
    )
    index = build_index([scenario("a", *steps)])
    assert candidate_keys(index, chat_request("hi")) == ["empty", "provider", "real"]
    assert candidate_keys(index, chat_request("hi"), consumed=["empty"]) == ["provider", "real"]


def test_scenario_competes_with_its_first_step_only() -> None:
    blocked_scenario = scenario(
        "a", step(key="empty"), step(user_text_match(equals="hi"), key="real")
    )
    index = build_index([blocked_scenario, scenario("b", step(OPENAI, key="provider"))])
    assert candidate_keys(index, chat_request("hi")) == ["provider", "empty", "real"]
    assert candidate_keys(index, chat_request("hi"), consumed=["empty"]) == ["real", "provider"]


def test_step_lost_to_a_concurrent_request_lets_the_next_step_be_offered() -> None:
    first = scenario(
        "a", step(OPENAI, key="default"), step(user_text_match(equals="hi"), key="real")
    )
    index = build_index([first, scenario("b", step(ON_CHAT, key="other default"))])
    assert candidate_keys(index, chat_request("hi")) == ["default", "real", "other default"]


class CountingSet(set[tuple[str, str]]):
    """A set of consumed steps that counts its membership tests."""

    lookups = 0

    def __contains__(self, ref: object) -> bool:
        self.lookups += 1
        return super().__contains__(ref)


@pytest.mark.parametrize("own", [False, True])
def test_losing_every_step_checks_each_step_once(own: bool) -> None:
    large_scenario = scenario("many", *(step(key=f"{number}") for number in range(300)))
    index = overlay(build_index([]), [large_scenario]) if own else build_index([large_scenario])
    consumed = CountingSet(("many", f"{number}") for number in range(100))
    keys = [
        candidate.step.key for candidate in index.candidates(chat_request("hi"), consumed=consumed)
    ]
    assert keys == [f"{number}" for number in range(100, 300)]
    assert consumed.lookups == 300


def test_step_consumed_during_iteration_lets_the_next_step_be_offered() -> None:
    first = scenario(
        "a", step(OPENAI, key="default"), step(user_text_match(equals="hi"), key="real")
    )
    second = scenario("b", step(user_text_match(equals="hi"), key="other"))
    consumed: set[tuple[str, str]] = set()
    candidates = build_index([first, second]).candidates(chat_request("hi"), consumed=consumed)
    assert next(candidates).step.key == "other"
    consumed.add(("a", "default"))
    assert next(candidates).step.key == "real"


def test_consumed_step_is_offered_after_an_edit_to_consume_false() -> None:
    index = build_index([scenario("a", step(key="edited", consume=False), step(key="next"))])
    assert candidate_keys(index, chat_request("hi"), consumed=["edited", "next"]) == ["edited"]


def test_turn_is_a_condition_of_a_matching_step() -> None:
    index = build_index([scenario("a", step(key="2", turn=2), step(key="1", turn=1))])
    assert candidate_keys(index, chat_request("hi")) == ["1"]


def test_scenarios_chosen_by_id_are_no_candidates() -> None:
    by_id = scenario("id", step(key="1", turn=1), select="first_user_message")
    index = build_index([by_id])
    assert candidate_keys(index, chat_request("id")) == []
    assert candidate_keys(index, chat_request("id"), "id") == []
    assert index.by_name == {"id": by_id}


def test_candidates_carry_the_groups_of_their_conditions() -> None:
    match = user_text_match(regex="in (?P<city>[A-Z]+)")
    index = build_index([scenario("a", step(match), step(key="plain"))])
    first, second = index.candidates(chat_request("in PARIS"))
    assert first.groups == {"city": "PARIS"}
    assert second.groups == {}


def test_candidates_of_one_large_scenario() -> None:
    steps = [step(user_text_match(contains=f"topic {n};"), key=str(n)) for n in range(500)]
    index = build_index([scenario("many", *steps), scenario("other", step(key="other"))])
    assert candidate_keys(index, chat_request("topic 7;"), "many") == ["7"]
    assert candidate_keys(index, chat_request("topic 7;")) == ["7", "other"]
    assert candidate_keys(index, chat_request("topic 7;"), "nobody") == []


def test_only_steps_that_name_a_path_override_a_computed_answer() -> None:
    index = build_index(
        [
            scenario(
                "a",
                step(OPENAI, key="provider"),
                step(key="empty"),
                step(build_match(path=(TextCondition(startswith="/v1/"),)), key="path"),
                step(build_match(path=(TextCondition(equals="/v1/x"),)), key="other path"),
            )
        ]
    )
    assert [c.step.key for c in index.candidates(chat_request(), only=names_path)] == ["path"]
    unconsumed = index.candidates(chat_request(), consumed={("a", "path")}, only=names_path)
    assert [c.step.key for c in unconsumed] == []


def test_step_without_a_path_does_not_block_a_computed_answer() -> None:
    path_match = Match((*ON_CHAT.conditions, *user_text_match(contains="h").conditions))
    steps = step(OPENAI, key="default"), step(ON_CHAT, key="path"), step(path_match, key="both")
    index = build_index([scenario("a", *steps), scenario("b", step(path_match, key="other"))])
    keys = [c.step.key for c in index.candidates(chat_request("hi"), only=names_path)]
    assert keys == ["other", "path", "both"]


def test_invalid_pattern_is_rejected() -> None:
    with pytest.raises(RegexError):
        build_index([scenario("a", step(user_text_match(regex="(")))])


@settings(max_examples=300)
@given(scenarios(), requests(), st.data())
def test_first_entry_is_that_of_the_first_candidate(
    all_scenarios: list[Scenario], request: CanonicalRequest, data: st.DataObject
) -> None:
    index = build_index(all_scenarios)
    steps = [
        (one_scenario.name, step.key)
        for one_scenario in all_scenarios
        for step in one_scenario.steps
    ]
    consumed = data.draw(st.sets(st.sampled_from(steps))) if steps else set()
    first = next(index.candidates(request, consumed=consumed), None)
    entry = index.first(request, consumed)
    assert (entry and entry.step) == (first and first.step)
    own = overlay(index, all_scenarios[:1])
    first, entry = next(own.candidates(request), None), own.first(request, ())
    assert (entry and entry.step) == (first and first.step)


def test_an_empty_index_has_no_candidates() -> None:
    assert candidate_keys(build_index([]), chat_request("hi")) == []


def test_only_steps_that_refuse_a_websocket_answer_a_handshake() -> None:
    refusing = step(key="refusing", produce=Produce(fault=Fault("refuse_upgrade")))
    failing = step(key="failing", produce=Produce(fault=Fault("model_error")))
    plain = step(key="plain")
    index = build_index([scenario("a", plain, failing, refusing)])
    assert index.refuses_upgrades
    assert [c.step.key for c in index.candidates(chat_request(), only=refuses_upgrade)] == [
        "refusing"
    ]
    assert not build_index([scenario("a", plain, failing)]).refuses_upgrades
