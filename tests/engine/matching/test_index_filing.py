"""What an index is made of: when it is made anew, what is filed by no literal, what is near."""

from scenarios_app.engine.conditions.subjects import RequestReader
from scenarios_app.engine.matching.index import MAX_COMPARED_STEPS, Index, build_index, overlay
from tests.engine.asking import ask, call, saying, scenario, step


def test_conditions_that_are_equal_but_not_alike_are_filed_anew() -> None:
    first = build_index([scenario("a", step(call("f", {"x": 1})))])
    second = build_index([scenario("a", step(call("f", {"x": True})))], previous=first)
    assert second.layers[0][0]._lookup is not first.layers[0][0]._lookup
    alike = build_index([scenario("a", step(call("f", {"x": 1})))], previous=first)
    assert alike.layers[0][0]._lookup is first.layers[0][0]._lookup


def test_up_to_so_many_steps_are_near_in_their_order() -> None:
    texts = [f"t{number}" for number in range(MAX_COMPARED_STEPS)]
    index = build_index([scenario("a", *(step(saying(contains=t), key=t) for t in texts))])
    near = index.near(RequestReader(ask(f"{texts[-1]} and more")))
    assert [entry.step.key for entry in near] == texts


def test_patterns_that_ignore_case_are_found_by_no_literal() -> None:
    match = saying(regex="^[xy]+$", ignore_case=True)
    index = build_index([scenario("a", step(match, key="any"), step(saying(equals="z")))])
    assert [one.step.key for one in index.candidates(ask("XyX"))] == ["any"]


def keys_of(index: Index, name: str) -> list[str]:
    return [one.step.key for one in index.candidates(ask("x"), scenario=name)]


def test_one_scenario_is_asked_for_alone_beside_those_of_a_session() -> None:
    common = build_index([scenario("a", step(key="a")), scenario("b", step(key="b"))])
    index = overlay(common, [scenario("c", step(key="c"))])
    assert [keys_of(index, name) for name in "abc"] == [["a"], ["b"], ["c"]]


def test_one_scenario_is_asked_for_alone_also_after_a_default_in_its_middle() -> None:
    steps = step(key="default"), step(saying(contains="x"), key="more")
    index = build_index([scenario("a", step(key="other")), scenario("b", *steps)])
    assert keys_of(index, "b") == ["default", "more"]


def test_a_literal_of_a_pattern_that_ignores_case_is_found_in_any_case() -> None:
    match = saying(regex=r"WEATHER\d", ignore_case=True)
    index = build_index([scenario("a", step(match, key="any"))])
    assert [one.step.key for one in index.candidates(ask("weather1"))] == ["any"]
