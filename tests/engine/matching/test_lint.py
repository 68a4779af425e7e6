"""Lint of valid scenarios."""

from typing import Any

import pytest

from scenarios_app.engine.conditions.texts import TextCondition
from scenarios_app.engine.matching.lint import MAX_COMPARED_STEPS, PLACEHOLDER, lint
from scenarios_app.engine.matching.near_misses import RULE_TEXTS
from scenarios_app.engine.scenario import Scenario
from tests.engine.match_builders import build_match, scenario, step
from tests.engine.matching.lint_helpers import (
    ANSWER,
    CALL,
    hi_step,
    lint_steps,
    suspicion_kinds,
    user_match,
)


def test_scenario_without_problems_is_clean() -> None:
    steps = [
        hi_step(user_match(contains="weather"), produce=CALL, consume=True),
        hi_step({"messages": [{"role": "tool", "contains": "sunny"}]}),
    ]
    assert lint_steps(*steps) == []


def test_a_step_below_a_wider_one_is_shadowed() -> None:
    steps = [
        hi_step(user_match(contains="weather")),
        hi_step(user_match(contains="weather in Paris")),
    ]
    assert [str(suspicion) for suspicion in lint_steps(*steps)] == [
        "s: step 2: step 1 always answers first: "
        "a scenario offers its first step, in step order, that matches and is not consumed"
    ]


def test_consumed_step_shadows_nothing() -> None:
    assert (
        suspicion_kinds(
            hi_step(user_match(contains="a b"), consume=True), hi_step(user_match(contains="a b c"))
        )
        == []
    )


def test_scenario_of_higher_priority_shadows_a_step() -> None:
    urgent_scenario = {
        "name": "first",
        "priority": 5,
        "steps": [hi_step(user_match(contains="weather"))],
    }
    [suspicion] = lint_steps(hi_step(user_match(equals="weather?")), more=[urgent_scenario])
    assert (suspicion.step, suspicion.row) == (1, 0)
    assert suspicion.message == (
        "step 1 of first always answers first: "
        "the higher priority goes first, which nothing overrides"
    )


def test_a_default_before_them_shadows_the_steps_of_its_scenario() -> None:
    assert suspicion_kinds(hi_step(), hi_step(user_match(contains="weather"))) == [
        (1, "broad"),
        (2, "shadowed"),
    ]


@pytest.mark.parametrize(
    ("own_match", "other_match", "shadowed"),
    [
        ({}, {"provider": "openai"}, False),
        ({"provider": "openai"}, {}, False),
        ({"provider": "openai"}, {"provider": {"contains": "open"}}, True),
        ({"provider": "openai", **user_match(equals="weather")}, {"provider": "openai"}, False),
        (
            {"provider": "openai", **user_match(equals="weather")},
            user_match(contains="weather"),
            True,
        ),
    ],
)
def test_equally_particular_steps_of_one_priority_are_shadowed_by_name(
    own_match: dict[str, Any], other_match: dict[str, Any], shadowed: bool
) -> None:
    for name, expected in (("first", shadowed), ("third", False)):
        warnings = lint_steps(
            hi_step(own_match), more=[{"name": name, "steps": [hi_step(other_match)]}]
        )
        messages = [suspicion.message for suspicion in warnings if suspicion.kind == "shadowed"]
        assert (
            messages == [f"step 1 of first always answers first: {RULE_TEXTS['name']}"] * expected
        )


def test_step_behind_a_default_of_its_scenario_shadows_no_step_of_its_priority() -> None:
    wide = hi_step(user_match(contains="weather"))
    blocked_scenario = {"name": "first", "steps": [hi_step(consume=True), wide]}
    assert lint_steps(hi_step(user_match(equals="weather?")), more=[blocked_scenario]) == []
    urgent_scenario = {**blocked_scenario, "priority": 1}
    assert [
        s.kind for s in lint_steps(hi_step(user_match(equals="weather?")), more=[urgent_scenario])
    ] == ["shadowed"]


def test_beyond_many_steps_only_those_of_one_scenario_are_compared() -> None:
    def wide_scenario(name: str, count: int) -> Any:
        empty_match = build_match(messages=())
        return scenario(name, *(step(empty_match, f"{name}{i}") for i in range(count)))

    first = scenario("a", step(build_match(model=(TextCondition(equals="m"),)), consume=False))
    second = scenario("b", step(build_match(model=(TextCondition(equals="m"),)), "x"))
    assert [s.scenario for s in lint([first, second])] == ["b"]
    assert lint([first, second, wide_scenario("c", MAX_COMPARED_STEPS)]) == []


def test_conditions_that_cannot_both_hold_are_unreachable() -> None:
    match = {"messages": [{"role": "user", "equals": "a"}, {"role": "user", "contains": "bc"}]}
    [suspicion] = lint_steps(hi_step(match))
    assert (suspicion.kind, suspicion.place) == ("unreachable", "match.messages[1]")
    assert suspicion.message == "match.messages[0] and match.messages[1] cannot both hold"


def test_conditions_that_may_both_hold_are_clean() -> None:
    match = {"messages": [{"role": "user", "equals": "abc"}, {"role": "user", "contains": "bc"}]}
    assert lint_steps(hi_step(match)) == []


def test_conditions_on_any_message_may_be_met_by_two() -> None:
    match = {
        "messages": [
            {"role": "user", "which": "any", "equals": "a"},
            {"role": "user", "which": "any", "equals": "b"},
            {"role": "tool", "which": "new", "equals": "a"},
            {"role": "tool", "which": "new", "equals": "b"},
        ]
    }
    assert lint_steps(hi_step(match)) == []


def test_conditions_on_different_messages_do_not_exclude_each_other() -> None:
    match = {"messages": [{"role": "user", "equals": "a"}, {"role": "system", "equals": "b"}]}
    assert lint_steps(hi_step(match)) == []


def test_step_for_an_unknown_provider_is_unreachable() -> None:
    steps = [hi_step({"provider": "opnai", **user_match(contains="weather")})]
    [suspicion] = lint_steps(*steps, providers=("openai", "anthropic"))
    assert suspicion.message == "there is no such provider, only anthropic, openai"
    assert lint_steps(*steps) == []
    assert (
        lint_steps(
            hi_step({"provider": "openai", **user_match(contains="ab")}), providers=("openai",)
        )
        == []
    )


def test_turn_after_a_missing_one_is_reported() -> None:
    steps = [{"turn": 1, "produce": ANSWER}, {"turn": 3, "produce": ANSWER}]
    assert suspicion_kinds(*steps, select="first_user_message") == [(2, "unreachable")]


def test_turns_without_a_gap_are_clean() -> None:
    steps = [{"turn": n, "produce": ANSWER} for n in (1, 2)]
    assert suspicion_kinds(*steps, select="first_user_message") == []


def test_a_step_that_answers_everything_is_broad() -> None:
    [suspicion] = lint_steps(hi_step())
    assert suspicion.kind == "broad"
    assert "no condition" in suspicion.message


def test_empty_step_of_the_lowest_priority_is_clean() -> None:
    assert suspicion_kinds(hi_step(), priority=-1000) == []


def test_empty_steps_that_are_consumed_are_clean() -> None:
    assert suspicion_kinds(hi_step(consume=True), hi_step(consume=True)) == []


@pytest.mark.parametrize(
    ("condition", "message"),
    [
        ({"contains": "a"}, '"a" is in nearly every message'),
        ({"contains": "a", "startswith": "b"}, '"a" is in nearly every message'),
        ({"startswith": "h"}, '"h" is in nearly every message'),
        ({"regex": ".*"}, 'the pattern ".*" is found in every message'),
    ],
)
def test_condition_that_matches_nearly_everything_is_broad(
    condition: dict[str, Any], message: str
) -> None:
    [suspicion] = lint_steps(hi_step(user_match(**condition)))
    assert (suspicion.kind, suspicion.message) == ("broad", message)


@pytest.mark.parametrize(
    "condition",
    [
        {"equals": "a"},
        {"contains": "weather"},
        {"regex": "a+"},
        {"regex": "a|X"},
        {"contains": "a", "regex": "b"},
    ],
)
def test_specific_condition_is_clean(condition: dict[str, Any]) -> None:
    assert suspicion_kinds(hi_step(user_match(**condition))) == []


def test_broad_condition_beside_a_specific_one_is_clean() -> None:
    assert suspicion_kinds(hi_step({"model": {"regex": ".*"}, "tool_calls": [{"name": "f"}]})) == []


@pytest.mark.parametrize(
    ("match", "place"),
    [
        (user_match(regex=r"Kö\w+"), "match.messages[0]"),
        ({"model": {"regex": r"modèle-\w+"}, **user_match(contains="weather")}, "match.model"),
        ({"tool_results": [{"regex": r"Kö\w+"}]}, "match.tool_results[0]"),
    ],
)
def test_ascii_class_beside_other_letters_is_narrow(match: dict[str, Any], place: str) -> None:
    [suspicion] = lint_steps(hi_step(match))
    assert (suspicion.kind, suspicion.place) == ("narrow", place)
    assert suspicion.message == (
        r"\w takes ASCII alone, and the pattern has letters beyond it; "
        r"for those of every script: [\pL\pN_]"
    )


def test_class_of_every_letter_is_clean() -> None:
    assert lint_steps(hi_step(user_match(regex=r"Kö[\pL\pN_]+ \d"))) == []


def test_unoffered_tools_are_reported_with_their_field() -> None:
    steps = [
        hi_step(
            {**user_match(contains="weather"), "tools": ["get_wether"]},
            expect={"tools": ["find"]},
            produce=CALL,
            consume=True,
        )
    ]
    place_messages = [(s.place, s.message) for s in lint_steps(*steps, offered={"get_weather"})]
    assert place_messages == [
        ("match.tools", "no request has offered get_wether"),
        ("expect.tools", "no request has offered find"),
    ]


def test_tools_are_not_checked_without_a_request() -> None:
    assert suspicion_kinds(hi_step({**user_match(contains="weather"), "tools": ["f"]})) == []


def test_tools_are_compared_as_requests_offer_them() -> None:
    call = {"tool_calls": [{"name": "get.weather", "arguments": {}}]}
    steps = [{"turn": 1, "produce": call}]
    assert suspicion_kinds(*steps, select="first_user_message", offered={"get_weather"}) == []


def test_scenario_without_steps_is_empty() -> None:
    [suspicion] = lint([Scenario("bare")])
    assert (suspicion.kind, suspicion.step) == ("empty", 0)
    assert str(suspicion) == "bare: it has no step, so it answers nothing"


@pytest.mark.parametrize("text", [PLACEHOLDER, "TODO", " … ", "Placeholder"])
def test_placeholder_answer_is_reported(text: str) -> None:
    [suspicion] = lint_steps(hi_step(user_match(contains="weather"), produce={"text": text}))
    assert (suspicion.kind, suspicion.place) == ("placeholder", "produce.text")


@pytest.mark.parametrize("text", ["", "a todo list", "Done."])
def test_other_answers_are_no_placeholders(text: str) -> None:
    assert suspicion_kinds(hi_step(user_match(contains="weather"), produce={"text": text})) == []


def test_narrow_suspicion_has_the_wider_class_if_replaceable() -> None:
    [suspicion] = lint_steps(hi_step(user_match(regex=r"é\w+x")))
    assert suspicion.instead == (r"\w", r"[\pL\pN_]")
    [suspicion] = lint_steps(hi_step(user_match(regex=r"é[\w-]+x")))
    assert suspicion.instead is None
