"""Choosing: by id, by match, by header, or not at all."""

import pytest

from scenarios_app.engine.canonical import CanonicalRequest
from scenarios_app.engine.conditions.texts import TextCondition
from scenarios_app.engine.matching.index import build_index
from scenarios_app.engine.matching.select import Selection, candidates_naming_path, select
from tests.engine.asking import ask, result, say, saying, scenario, step, when

ONE, TWO = step(key="one", turn=1), step(key="two", turn=2)
BY_ID = scenario("run test 1", ONE, TWO, select="first_user_message")
MATCHING = scenario("weather", step(saying(contains="e"), key="e"), step(key="any"))
OTHER = scenario("other", step(saying(contains="e"), key="other"), priority=5)
INDEX = build_index([BY_ID, MATCHING, OTHER])


def chosen(selection: Selection) -> list[str]:
    return [candidate.step.key for candidate in selection.candidates]


def named(name: str, *said: str, **fields: str) -> CanonicalRequest:
    return ask(*said, headers={"x-mockllm-scenario": name}, **fields)


def test_the_first_user_message_trimmed_names_a_scenario() -> None:
    selection = select(INDEX, ask(say("system", "x"), "  run test 1\n", "run test 2"))
    assert (selection.way, selection.scenario, selection.step) == ("by_id", BY_ID, ONE)
    assert selection.error_text is None
    assert chosen(selection) == ["one"]


def test_assistant_messages_count_the_turn_and_no_others() -> None:
    talk = ask("run test 1", result("x"), say("system", "x"), say("assistant", "a"), "more")
    assert select(INDEX, talk).step == TWO


def test_consecutive_assistant_messages_all_count() -> None:
    talk = ask("run test 1", say("assistant", "a"), say("assistant", "b"))
    assert select(INDEX, talk).error_text == "No turn 3 in scenario run test 1"


def test_a_missing_turn_has_its_scenario_and_no_step() -> None:
    selection = select(INDEX, ask("run test 1", say("assistant", "a"), say("assistant", "b")))
    assert (selection.way, selection.scenario, selection.step) == ("by_id", BY_ID, None)
    assert chosen(selection) == []


def test_a_scenario_without_turns_has_no_turn_1() -> None:
    index = build_index([scenario("empty", select="first_user_message")])
    assert select(index, ask("empty")).error_text == "No turn 1 in scenario empty"


def test_the_header_names_a_scenario_percent_encoded() -> None:
    selection = select(INDEX, named("run%20test%201", "hello"))
    assert (selection.way, selection.scenario, selection.step) == ("by_id", BY_ID, ONE)


def test_the_header_goes_before_the_first_user_message() -> None:
    selection = select(INDEX, named("weather", "run test 1"))
    assert (selection.way, selection.scenario) == ("match", MATCHING)
    assert chosen(selection) == ["e", "any"]


def test_the_header_narrows_matching_to_its_scenario() -> None:
    assert chosen(select(INDEX, ask("hello"))) == ["other", "e", "any"]
    assert chosen(select(INDEX, named("weather", "hello"))) == ["e", "any"]


def test_a_header_that_names_nothing_is_told() -> None:
    selection = select(INDEX, named("w%C3%B6rld", "run test 1"))
    assert (selection.way, selection.scenario, selection.step) == ("unknown", None, None)
    assert selection.error_text == (
        "no_scenario_matched: X-MockLLM-Scenario names no enabled scenario: wörld"
    )
    assert chosen(selection) == []


def test_an_empty_header_is_none() -> None:
    assert chosen(select(INDEX, named(" ", "hello"))) == ["other", "e", "any"]


def test_the_name_of_a_matching_scenario_said_is_no_id() -> None:
    selection = select(INDEX, ask("weather"))
    assert (selection.way, selection.scenario) == ("match", None)


@pytest.mark.parametrize("model", ["test-llm", "test-llm/gpt-4o", "test-llm-2"])
def test_test_llm_models_go_by_id_alone(model: str) -> None:
    assert select(INDEX, ask("run test 1", model=model)).step == ONE
    assert select(INDEX, named("run test 1", "hello", model=model)).step == ONE
    for request in (
        ask("weather", model=model),
        named("weather", "run test 1", model=model),
        named("nobody", "run test 1", model=model),
    ):
        selection = select(INDEX, request)
        assert (selection.way, selection.scenario, selection.step) == ("by_id", None, None)
        assert chosen(selection) == []


@pytest.mark.parametrize(
    ("said", "text"),
    [
        (("nobody",), "Scenario not found: nobody"),
        ((" weather ",), "Scenario not found: weather"),
        (("x" * 1_000,), "Scenario not found: " + "x" * 199 + "…"),
        ((), "Scenario not found: (no user message)"),
    ],
)
def test_an_unknown_id_is_told(said: tuple[str, ...], text: str) -> None:
    assert select(INDEX, ask(*said, model="test-llm")).error_text == text


def test_a_model_that_only_sounds_alike_is_like_any_other() -> None:
    assert select(INDEX, ask("nobody", model="my-test-llm")).way == "match"


def test_a_helper_endpoint_is_answered_by_steps_that_name_its_path() -> None:
    named_path = step(when(path=(TextCondition(equals="/v1/models"),)), key="models")
    index = build_index([MATCHING, scenario("models", named_path)])
    request = ask(path="/v1/models", route="/v1/models")
    assert [c.step.key for c in candidates_naming_path(index, request)] == ["models"]
    assert list(candidates_naming_path(index, ask("hello"))) == []
