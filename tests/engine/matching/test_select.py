"""The way an answer is chosen: by id, by match, by header, or not at all."""

import pytest

from scenarios_app.engine.canonical import CanonicalRequest
from scenarios_app.engine.conditions.texts import TextCondition
from scenarios_app.engine.matching.index import Index, build_index, names_path
from scenarios_app.engine.matching.select import Decision, decide_by_id, scenario_in_header
from scenarios_app.engine.scenario import Fault
from tests.engine.asking import ask, result, say, saying, scenario, step, when

ONE, TWO = step(key="one", turn=1), step(key="two", turn=2)
BY_ID = scenario("run test 1", ONE, TWO, select="first_user_message")
MATCHING = scenario("weather", step(saying(contains="e"), key="e"), step(key="any"))
OTHER = scenario("other", step(saying(contains="e"), key="other"), priority=5)
INDEX = build_index([BY_ID, MATCHING, OTHER])


def by_id(request: CanonicalRequest, index: Index = INDEX) -> Decision:
    decision = decide_by_id(index, request)
    assert decision is not None and decision.way == "by_id"
    return decision


def matching(request: CanonicalRequest) -> list[str]:
    """The keys of the steps that may answer, in order."""
    assert decide_by_id(INDEX, request) is None
    narrowed = scenario_in_header(INDEX, request)
    assert not isinstance(narrowed, Decision)
    name = narrowed.name if narrowed else None
    return [candidate.step.key for candidate in INDEX.candidates(request, scenario=name)]


def named(name: str, *said: str, **fields: str) -> CanonicalRequest:
    return ask(*said, headers={"x-mockllm-scenario": name}, **fields)


def test_the_first_user_message_trimmed_names_a_scenario() -> None:
    decision = by_id(ask(say("system", "x"), "  run test 1\n", "run test 2"))
    assert decision == Decision("step", "by_id", BY_ID, ONE)


def test_assistant_messages_count_the_turn_and_no_others() -> None:
    talk = ask("run test 1", result("x"), say("system", "x"), say("assistant", "a"), "more")
    assert by_id(talk).step == TWO


def test_consecutive_assistant_messages_all_count() -> None:
    talk = ask("run test 1", say("assistant", "a"), say("assistant", "b"))
    assert by_id(talk).text == "No turn 3 in scenario run test 1"


def test_a_missing_turn_has_its_scenario_and_no_step() -> None:
    decision = by_id(ask("run test 1", say("assistant", "a"), say("assistant", "b")))
    assert (decision.kind, decision.scenario, decision.step) == ("fallback_step", BY_ID, None)


def test_a_scenario_without_turns_has_no_turn_1() -> None:
    index = build_index([scenario("empty", select="first_user_message")])
    assert by_id(ask("empty"), index).text == "No turn 1 in scenario empty"


def test_the_header_names_a_scenario_percent_encoded() -> None:
    decision = by_id(named("run%20test%201", "hello"))
    assert decision == Decision("step", "by_id", BY_ID, ONE)


def test_the_header_goes_before_the_first_user_message() -> None:
    assert matching(named("weather", "run test 1")) == ["e", "any"]


def test_the_header_narrows_matching_to_its_scenario() -> None:
    assert matching(ask("hello")) == ["other", "e", "any"]
    assert matching(named("weather", "hello")) == ["e", "any"]


def test_header_with_an_unknown_scenario_is_a_404() -> None:
    request = named("w%C3%B6rld", "run test 1")
    assert decide_by_id(INDEX, request) is None
    text = "no_scenario_matched: X-MockLLM-Scenario names no enabled scenario: wörld"
    assert scenario_in_header(INDEX, request) == Decision("unmatched", "match", text=text)


def test_an_empty_header_is_none() -> None:
    assert matching(named(" ", "hello")) == ["other", "e", "any"]


def test_the_name_of_a_matching_scenario_said_is_no_id() -> None:
    assert decide_by_id(INDEX, ask("weather")) is None


@pytest.mark.parametrize("model", ["test-llm", "test-llm/gpt-4o", "test-llm-2"])
def test_test_llm_models_go_by_id_alone(model: str) -> None:
    assert by_id(ask("run test 1", model=model)).step == ONE
    assert by_id(named("run test 1", "hello", model=model)).step == ONE
    for request in (
        ask("weather", model=model),
        named("weather", "run test 1", model=model),
        named("nobody", "run test 1", model=model),
    ):
        decision = by_id(request)
        assert (decision.kind, decision.scenario, decision.step) == ("error_turn", None, None)


@pytest.mark.parametrize(
    ("said", "text"),
    [
        (("nobody",), "Scenario not found: nobody"),
        ((" weather ",), "Scenario not found: weather"),
        (("x" * 1_000,), "Scenario not found: " + "x" * 199 + "…"),
        ((), "Scenario not found: (no user message)"),
    ],
)
def test_unknown_id_is_an_error_turn(said: tuple[str, ...], text: str) -> None:
    assert by_id(ask(*said, model="test-llm")).text == text


def test_a_model_that_only_sounds_alike_is_like_any_other() -> None:
    assert decide_by_id(INDEX, ask("nobody", model="my-test-llm")) is None


def test_a_helper_endpoint_is_answered_by_steps_that_name_its_path() -> None:
    named_path = step(when(path=(TextCondition(equals="/v1/models"),)), key="models")
    index = build_index([MATCHING, scenario("models", named_path)])
    request = ask(path="/v1/models", route="/v1/models")
    assert [c.step.key for c in index.candidates(request, only=names_path)] == ["models"]
    assert list(index.candidates(ask("hello"), only=names_path)) == []


def test_a_stream_breaks_off_where_a_decision_says_and_a_whole_answer_does_not() -> None:
    decision = Decision("in_band", "in_band", cancel_after_chunks=3)
    assert decision.cancel_fault(stream=True) == Fault("truncate", after_chunks=3)
    assert decision.cancel_fault(stream=False) is None
    assert Decision("in_band", "in_band").cancel_fault(stream=True) is None
