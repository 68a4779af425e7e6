"""What is suspicious in scenarios that are right."""

from typing import Any

import pytest

from scenarios_app.engine.conditions.texts import TextCondition
from scenarios_app.engine.matching.lint import MAX_COMPARED_STEPS, PLACEHOLDER, lint
from scenarios_app.engine.matching.near_misses import RULE_TEXTS
from scenarios_app.engine.scenario import Scenario
from tests.engine.asking import scenario, step, when
from tests.engine.matching.linted import ANSWER, CALL, found, kinds, one, user


def test_scenarios_without_a_fault_are_clean() -> None:
    steps = [
        one(user(contains="weather"), produce=CALL, consume=True),
        one({"messages": [{"role": "tool", "contains": "sunny"}]}),
    ]
    assert found(*steps) == []


def test_a_step_below_a_wider_one_is_shadowed() -> None:
    steps = [one(user(contains="weather")), one(user(contains="weather in Paris"))]
    assert [str(suspicion) for suspicion in found(*steps)] == [
        "s: step 2: step 1 always answers first: "
        "a scenario offers its first step, in step order, that matches and is not consumed"
    ]


def test_a_step_that_is_used_up_shadows_nothing() -> None:
    assert kinds(one(user(contains="a b"), consume=True), one(user(contains="a b c"))) == []


def test_a_scenario_of_higher_priority_shadows_too_and_is_named() -> None:
    above = {"name": "first", "priority": 5, "steps": [one(user(contains="weather"))]}
    [suspicion] = found(one(user(equals="weather?")), more=[above])
    assert (suspicion.step, suspicion.row) == (1, 0)
    assert suspicion.message == (
        "step 1 of first always answers first: "
        "the higher priority goes first, which nothing overrides"
    )


def test_a_default_before_them_shadows_the_steps_of_its_scenario() -> None:
    assert kinds(one(), one(user(contains="weather"))) == [(1, "broad"), (2, "shadowed")]


@pytest.mark.parametrize(
    ("own", "others", "shadowed"),
    [
        ({}, {"provider": "openai"}, False),
        ({"provider": "openai"}, {}, False),
        ({"provider": "openai"}, {"provider": {"contains": "open"}}, True),
        ({"provider": "openai", **user(equals="weather")}, {"provider": "openai"}, False),
        ({"provider": "openai", **user(equals="weather")}, user(contains="weather"), True),
    ],
)
def test_of_one_priority_the_name_decides_between_the_equally_particular(
    own: dict[str, Any], others: dict[str, Any], shadowed: bool
) -> None:
    for name, expected in (("first", shadowed), ("third", False)):
        warnings = found(one(own), more=[{"name": name, "steps": [one(others)]}])
        told = [one.message for one in warnings if one.kind == "shadowed"]
        assert told == [f"step 1 of first always answers first: {RULE_TEXTS['name']}"] * expected


def test_step_behind_a_default_of_its_scenario_shadows_no_step_of_its_priority() -> None:
    wide = one(user(contains="weather"))
    behind = {"name": "first", "steps": [one(consume=True), wide]}
    assert found(one(user(equals="weather?")), more=[behind]) == []
    urgent = {**behind, "priority": 1}
    assert [s.kind for s in found(one(user(equals="weather?")), more=[urgent])] == ["shadowed"]


def test_beyond_many_steps_only_those_of_one_scenario_are_compared() -> None:
    def texts(name: str, count: int) -> Any:
        wide = when(messages=())
        return scenario(name, *(step(wide, f"{name}{i}") for i in range(count)))

    first = scenario("a", step(when(model=(TextCondition(equals="m"),)), consume=False))
    second = scenario("b", step(when(model=(TextCondition(equals="m"),)), "x"))
    assert [s.scenario for s in lint([first, second])] == ["b"]
    assert lint([first, second, texts("c", MAX_COMPARED_STEPS)]) == []


def test_conditions_that_cannot_both_hold_are_unreachable() -> None:
    both = {"messages": [{"role": "user", "equals": "a"}, {"role": "user", "contains": "bc"}]}
    [suspicion] = found(one(both))
    assert (suspicion.kind, suspicion.place) == ("unreachable", "match.messages[1]")
    assert suspicion.message == "match.messages[0] and match.messages[1] cannot both hold"


def test_conditions_that_may_both_hold_are_clean() -> None:
    both = {"messages": [{"role": "user", "equals": "abc"}, {"role": "user", "contains": "bc"}]}
    assert found(one(both)) == []


def test_conditions_on_any_message_may_be_met_by_two() -> None:
    both = {
        "messages": [
            {"role": "user", "which": "any", "equals": "a"},
            {"role": "user", "which": "any", "equals": "b"},
            {"role": "tool", "which": "new", "equals": "a"},
            {"role": "tool", "which": "new", "equals": "b"},
        ]
    }
    assert found(one(both)) == []


def test_conditions_on_different_messages_do_not_exclude_each_other() -> None:
    both = {"messages": [{"role": "user", "equals": "a"}, {"role": "system", "equals": "b"}]}
    assert found(one(both)) == []


def test_a_provider_that_there_is_none_of_is_unreachable() -> None:
    steps = [one({"provider": "opnai", **user(contains="weather")})]
    [suspicion] = found(*steps, providers=("openai", "anthropic"))
    assert suspicion.message == "there is no such provider, only anthropic, openai"
    assert found(*steps) == []
    assert found(one({"provider": "openai", **user(contains="ab")}), providers=("openai",)) == []


def test_turn_after_a_missing_one_is_reported() -> None:
    steps = [{"turn": 1, "produce": ANSWER}, {"turn": 3, "produce": ANSWER}]
    assert kinds(*steps, select="first_user_message") == [(2, "unreachable")]


def test_turns_without_a_gap_are_clean() -> None:
    steps = [{"turn": n, "produce": ANSWER} for n in (1, 2)]
    assert kinds(*steps, select="first_user_message") == []


def test_a_step_that_answers_everything_is_broad() -> None:
    [suspicion] = found(one())
    assert suspicion.kind == "broad"
    assert "no condition" in suspicion.message


def test_a_last_resort_below_all_others_is_meant_so() -> None:
    assert kinds(one(), priority=-1000) == []


def test_an_empty_step_that_is_used_up_is_one_of_a_list() -> None:
    assert kinds(one(consume=True), one(consume=True)) == []


@pytest.mark.parametrize(
    ("condition", "said"),
    [
        ({"contains": "a"}, '"a" is in nearly every message'),
        ({"contains": "a", "startswith": "b"}, '"a" is in nearly every message'),
        ({"startswith": "h"}, '"h" is in nearly every message'),
        ({"regex": ".*"}, 'the pattern ".*" is found in every message'),
    ],
)
def test_a_condition_that_says_little_is_broad(condition: dict[str, Any], said: str) -> None:
    [suspicion] = found(one(user(**condition)))
    assert (suspicion.kind, suspicion.message) == ("broad", said)


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
def test_a_condition_that_says_something_is_clean(condition: dict[str, Any]) -> None:
    assert kinds(one(user(**condition))) == []


def test_other_conditions_are_not_called_broad() -> None:
    assert kinds(one({"model": {"regex": ".*"}, "tool_calls": [{"name": "f"}]})) == []


@pytest.mark.parametrize(
    ("match", "place"),
    [
        (user(regex=r"Kö\w+"), "match.messages[0]"),
        ({"model": {"regex": r"modèle-\w+"}, **user(contains="weather")}, "match.model"),
        ({"tool_results": [{"regex": r"Kö\w+"}]}, "match.tool_results[0]"),
    ],
)
def test_a_class_of_ascii_beside_other_letters_is_narrow(match: dict[str, Any], place: str) -> None:
    [suspicion] = found(one(match))
    assert (suspicion.kind, suspicion.place) == ("narrow", place)
    assert suspicion.message == (
        r"\w takes ASCII alone, and the pattern has letters beyond it; "
        r"for those of every script: [\pL\pN_]"
    )


def test_a_class_that_takes_every_letter_is_clean() -> None:
    assert found(one(user(regex=r"Kö[\pL\pN_]+ \d"))) == []


def test_unoffered_tools_are_reported_with_their_field() -> None:
    steps = [
        one(
            {**user(contains="weather"), "tools": ["get_wether"]},
            expect={"tools": ["find"]},
            produce=CALL,
            consume=True,
        )
    ]
    places = [(s.place, s.message) for s in found(*steps, offered={"get_weather"})]
    assert places == [
        ("match.tools", "no request has offered get_wether"),
        ("expect.tools", "no request has offered find"),
    ]


def test_without_a_request_nothing_is_said_of_tools() -> None:
    assert kinds(one({**user(contains="weather"), "tools": ["f"]})) == []


def test_tools_are_compared_as_requests_offer_them() -> None:
    call = {"tool_calls": [{"name": "get.weather", "arguments": {}}]}
    steps = [{"turn": 1, "produce": call}]
    assert kinds(*steps, select="first_user_message", offered={"get_weather"}) == []


def test_a_scenario_without_steps_answers_nothing() -> None:
    [suspicion] = lint([Scenario("bare")])
    assert (suspicion.kind, suspicion.step) == ("empty", 0)
    assert str(suspicion) == "bare: it has no step, so it answers nothing"


@pytest.mark.parametrize("text", [PLACEHOLDER, "TODO", " … ", "Placeholder"])
def test_placeholder_answer_is_reported(text: str) -> None:
    [suspicion] = found(one(user(contains="weather"), produce={"text": text}))
    assert (suspicion.kind, suspicion.place) == ("placeholder", "produce.text")


@pytest.mark.parametrize("text", ["", "a todo list", "Done."])
def test_other_answers_are_no_placeholders(text: str) -> None:
    assert kinds(one(user(contains="weather"), produce={"text": text})) == []


def test_a_class_that_can_be_replaced_comes_with_what_takes_more() -> None:
    [suspicion] = found(one(user(regex=r"é\w+x")))
    assert suspicion.instead == (r"\w", r"[\pL\pN_]")
    [suspicion] = found(one(user(regex=r"é[\w-]+x")))
    assert suspicion.instead is None
