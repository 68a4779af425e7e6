"""What an index is made of: when it is made anew, what is filed by no literal, what is near."""

from scenarios_app.engine.conditions.subjects import Reading
from scenarios_app.engine.matching.index import COMPARED, build_index
from tests.engine.asking import ask, call, saying, scenario, step


def test_conditions_that_are_equal_but_not_alike_are_filed_anew() -> None:
    first = build_index([scenario("a", step(call("f", {"x": 1})))])
    second = build_index([scenario("a", step(call("f", {"x": True})))], known=first)
    assert second.layers[0][0]._lookup is not first.layers[0][0]._lookup
    alike = build_index([scenario("a", step(call("f", {"x": 1})))], known=first)
    assert alike.layers[0][0]._lookup is first.layers[0][0]._lookup


def test_up_to_so_many_steps_are_near_in_their_order() -> None:
    texts = [f"t{number}" for number in range(COMPARED)]
    index = build_index([scenario("a", *(step(saying(contains=t), key=t) for t in texts))])
    near = index.near(Reading(ask(f"{texts[-1]} and more")))
    assert [entry.step.key for entry in near] == texts


def test_patterns_that_ignore_case_are_found_by_no_literal() -> None:
    match = saying(regex="^[xy]+$", ignore_case=True)
    index = build_index([scenario("a", step(match, key="any"), step(saying(equals="z")))])
    assert [one.step.key for one in index.candidates(ask("XyX"))] == ["any"]
