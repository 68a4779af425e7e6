"""How an index files steps: reuse of lookups, steps without literals, and near steps."""

from scenarios_app.engine.conditions.subjects import RequestReader
from scenarios_app.engine.matching.index import MAX_COMPARED_STEPS, Index, build_index, overlay
from tests.engine.match_builders import (
    chat_request,
    scenario,
    step,
    tool_call_match,
    user_text_match,
)


def test_lookup_is_not_reused_for_equal_values_of_another_type() -> None:
    first = build_index([scenario("a", step(tool_call_match("f", {"x": 1})))])
    second = build_index([scenario("a", step(tool_call_match("f", {"x": True})))], previous=first)
    assert second.layers[0][0]._lookup is not first.layers[0][0]._lookup
    same_type = build_index([scenario("a", step(tool_call_match("f", {"x": 1})))], previous=first)
    assert same_type.layers[0][0]._lookup is first.layers[0][0]._lookup


def test_near_steps_up_to_the_limit_keep_their_order() -> None:
    texts = [f"t{number}" for number in range(MAX_COMPARED_STEPS)]
    index = build_index([scenario("a", *(step(user_text_match(contains=t), key=t) for t in texts))])
    near = index.near(RequestReader(chat_request(f"{texts[-1]} and more")))
    assert [entry.step.key for entry in near] == texts


def test_pattern_without_literals_is_matched_in_any_case() -> None:
    match = user_text_match(regex="^[xy]+$", ignore_case=True)
    index = build_index([scenario("a", step(match, key="any"), step(user_text_match(equals="z")))])
    assert [candidate.step.key for candidate in index.candidates(chat_request("XyX"))] == ["any"]


def scenario_keys(index: Index, name: str) -> list[str]:
    return [candidate.step.key for candidate in index.candidates(chat_request("x"), scenario=name)]


def test_candidates_of_one_scenario_in_an_overlay() -> None:
    common = build_index([scenario("a", step(key="a")), scenario("b", step(key="b"))])
    index = overlay(common, [scenario("c", step(key="c"))])
    assert [scenario_keys(index, name) for name in "abc"] == [["a"], ["b"], ["c"]]


def test_candidates_of_one_scenario_continue_after_a_default_step() -> None:
    steps = step(key="default"), step(user_text_match(contains="x"), key="more")
    index = build_index([scenario("a", step(key="other")), scenario("b", *steps)])
    assert scenario_keys(index, "b") == ["default", "more"]


def test_pattern_with_literals_is_matched_in_any_case() -> None:
    match = user_text_match(regex=r"WEATHER\d", ignore_case=True)
    index = build_index([scenario("a", step(match, key="any"))])
    assert [candidate.step.key for candidate in index.candidates(chat_request("weather1"))] == [
        "any"
    ]
