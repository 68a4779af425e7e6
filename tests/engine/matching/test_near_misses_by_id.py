"""Near misses of a request that asked for a scenario or a turn that there is not."""

from collections.abc import Iterable

from scenarios_app.engine.conditions.match import Mismatch
from scenarios_app.engine.matching.index import MAX_COMPARED_STEPS, Index, build_index, overlay
from scenarios_app.engine.matching.near_misses import NearMiss, near_misses_by_id
from scenarios_app.engine.scenario import Scenario
from tests.engine.asking import ask, say, saying, scenario, step

SELECT = "first_user_message"


def script(name: str, *turns: int) -> Scenario:
    steps = (step(key=f"{name}.{turn}", turn=turn, consume=False) for turn in turns)
    return scenario(name, *steps, select=SELECT)


def index_of(*scenarios: Scenario) -> Index:
    return build_index(scenarios)


def keys(misses: Iterable[NearMiss]) -> list[str]:
    return [miss.step.key for miss in misses]


def test_a_name_like_the_one_asked_for_comes_first_and_each_scenario_once() -> None:
    index = index_of(
        script("run-test-1", 1, 2),
        script("checkout", 1),
        scenario("other", step(saying(contains="run-test"), key="matching")),
    )
    misses = near_misses_by_id(index, ask("run-test-l"))
    assert keys(misses) == ["run-test-1.1", "checkout.1"]
    assert misses[0].mismatches == (
        Mismatch("select", 'first user message equals "run-test-1"', '"run-test-l"'),
    )


def test_names_are_found_behind_any_number_of_nearer_steps() -> None:
    others = (scenario(f"m{n}", step(saying(contains="run-test-x"), key=f"m{n}")) for n in range(9))
    index = index_of(*others, script("checkout", 1))
    assert keys(near_misses_by_id(index, ask("run-test"))) == ["checkout.1"]


def test_three_names_are_enough() -> None:
    index = index_of(*(script(f"run-{n}", 1) for n in range(9)))
    assert len(near_misses_by_id(index, ask("run"))) == 3


def test_a_name_is_found_among_very_many() -> None:
    many = (script(f"scenario number {n}", 1) for n in range(MAX_COMPARED_STEPS * 3))
    index = index_of(*many, script("weather in paris", 1))
    misses = near_misses_by_id(index, ask("weather in pariss"))
    assert keys(misses)[0] == "weather in paris.1"


def test_of_a_scenario_the_other_turns_are_told() -> None:
    index = index_of(script("run", 1, 2, 5), script("walk", 3))
    request = ask("run", say("assistant", "one"), "go on", say("assistant", "two"))
    misses = near_misses_by_id(index, request, scenario="run")
    assert set(keys(misses)) == {"run.1", "run.2", "run.5"}
    assert {m.mismatches for m in misses} == {
        (Mismatch("turn", turn, "3"),) for turn in ("1", "2", "5")
    }


def test_a_scenario_without_turns_has_no_near_ones() -> None:
    index = index_of(script("empty"), script("run", 1))
    assert near_misses_by_id(index, ask("empty"), scenario="empty") == ()


def test_a_sessions_own_scenario_hides_the_common_one() -> None:
    index = overlay(index_of(script("run", 1, 2)), [script("run", 7)])
    assert keys(near_misses_by_id(index, ask("run"), scenario="run")) == ["run.7"]
