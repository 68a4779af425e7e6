"""Near misses of a request for a scenario or turn that does not exist."""

from collections.abc import Iterable

from scenarios_app.engine.conditions.match import Mismatch
from scenarios_app.engine.matching.index import MAX_COMPARED_STEPS, Index, build_index, overlay
from scenarios_app.engine.matching.near_misses import NearMiss, near_misses_by_id
from scenarios_app.engine.scenario import Scenario
from tests.engine.match_builders import chat_request, scenario, step, text_message, user_text_match

SELECT = "first_user_message"


def scenario_by_id(name: str, *turns: int) -> Scenario:
    steps = (step(key=f"{name}.{turn}", turn=turn, consume=False) for turn in turns)
    return scenario(name, *steps, select=SELECT)


def index_of(*scenarios: Scenario) -> Index:
    return build_index(scenarios)


def step_keys(misses: Iterable[NearMiss]) -> list[str]:
    return [miss.step.key for miss in misses]


def test_most_similar_name_comes_first_and_each_scenario_once() -> None:
    index = index_of(
        scenario_by_id("run-test-1", 1, 2),
        scenario_by_id("checkout", 1),
        scenario("other", step(user_text_match(contains="run-test"), key="matching")),
    )
    misses = near_misses_by_id(index, chat_request("run-test-l"))
    assert step_keys(misses) == ["run-test-1.1", "checkout.1"]
    assert misses[0].mismatches == (
        Mismatch("select", 'first user message equals "run-test-1"', '"run-test-l"'),
    )


def test_scenarios_by_id_are_listed_before_any_number_of_matching_steps() -> None:
    matching_scenarios = (
        scenario(f"m{n}", step(user_text_match(contains="run-test-x"), key=f"m{n}"))
        for n in range(9)
    )
    index = index_of(*matching_scenarios, scenario_by_id("checkout", 1))
    assert step_keys(near_misses_by_id(index, chat_request("run-test"))) == ["checkout.1"]


def test_at_most_three_names_are_listed() -> None:
    index = index_of(*(scenario_by_id(f"run-{n}", 1) for n in range(9)))
    assert len(near_misses_by_id(index, chat_request("run"))) == 3


def test_name_is_found_in_a_large_catalog() -> None:
    numbered_scenarios = (
        scenario_by_id(f"scenario number {n}", 1) for n in range(MAX_COMPARED_STEPS * 3)
    )
    index = index_of(*numbered_scenarios, scenario_by_id("weather in paris", 1))
    misses = near_misses_by_id(index, chat_request("weather in pariss"))
    assert step_keys(misses)[0] == "weather in paris.1"


def test_missing_turn_lists_the_other_turns_of_the_scenario() -> None:
    index = index_of(scenario_by_id("run", 1, 2, 5), scenario_by_id("walk", 3))
    request = chat_request(
        "run", text_message("assistant", "one"), "go on", text_message("assistant", "two")
    )
    misses = near_misses_by_id(index, request, scenario="run")
    assert set(step_keys(misses)) == {"run.1", "run.2", "run.5"}
    assert {m.mismatches for m in misses} == {
        (Mismatch("turn", turn, "3"),) for turn in ("1", "2", "5")
    }


def test_scenario_without_turns_has_no_near_misses() -> None:
    index = index_of(scenario_by_id("empty"), scenario_by_id("run", 1))
    assert near_misses_by_id(index, chat_request("empty"), scenario="empty") == ()


def test_a_sessions_own_scenario_hides_the_common_one() -> None:
    index = overlay(index_of(scenario_by_id("run", 1, 2)), [scenario_by_id("run", 7)])
    assert step_keys(near_misses_by_id(index, chat_request("run"), scenario="run")) == ["run.7"]
