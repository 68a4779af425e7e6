"""Selection of an answer: by id, by match or by header."""

import pytest

from scenarios_app.engine.canonical import CanonicalRequest
from scenarios_app.engine.conditions.texts import TextCondition
from scenarios_app.engine.matching.index import Index, build_index, names_path
from scenarios_app.engine.matching.select import Decision, decide_by_id, scenario_in_header
from scenarios_app.engine.scenario import Fault
from tests.engine.match_builders import (
    build_match,
    chat_request,
    scenario,
    step,
    text_message,
    tool_result_message,
    user_text_match,
)

STEP_1, STEP_2 = step(key="one", turn=1), step(key="two", turn=2)
SCENARIO_BY_ID = scenario("run test 1", STEP_1, STEP_2, select="first_user_message")
MATCHING_SCENARIO = scenario(
    "weather", step(user_text_match(contains="e"), key="e"), step(key="any")
)
OTHER_SCENARIO = scenario("other", step(user_text_match(contains="e"), key="other"), priority=5)
INDEX = build_index([SCENARIO_BY_ID, MATCHING_SCENARIO, OTHER_SCENARIO])


def decide(request: CanonicalRequest, index: Index = INDEX) -> Decision:
    decision = decide_by_id(index, request)
    assert decision is not None and decision.way == "by_id"
    return decision


def candidate_keys(request: CanonicalRequest) -> list[str]:
    """Return the keys of the steps that may answer, in order."""
    assert decide_by_id(INDEX, request) is None
    header_scenario = scenario_in_header(INDEX, request)
    assert not isinstance(header_scenario, Decision)
    name = header_scenario.name if header_scenario else None
    return [candidate.step.key for candidate in INDEX.candidates(request, scenario=name)]


def request_with_header(name: str, *texts: str, **fields: str) -> CanonicalRequest:
    return chat_request(*texts, headers={"x-mockllm-scenario": name}, **fields)


def test_trimmed_first_user_message_selects_a_scenario() -> None:
    decision = decide(chat_request(text_message("system", "x"), "  run test 1\n", "run test 2"))
    assert decision == Decision("step", "by_id", SCENARIO_BY_ID, STEP_1)


def test_turn_is_counted_by_assistant_messages_only() -> None:
    request = chat_request(
        "run test 1",
        tool_result_message("x"),
        text_message("system", "x"),
        text_message("assistant", "a"),
        "more",
    )
    assert decide(request).step == STEP_2


def test_consecutive_assistant_messages_all_count() -> None:
    request = chat_request(
        "run test 1", text_message("assistant", "a"), text_message("assistant", "b")
    )
    assert decide(request).text == "No turn 3 in scenario run test 1"


def test_a_missing_turn_has_its_scenario_and_no_step() -> None:
    decision = decide(
        chat_request("run test 1", text_message("assistant", "a"), text_message("assistant", "b"))
    )
    assert (decision.kind, decision.scenario, decision.step) == (
        "fallback_step",
        SCENARIO_BY_ID,
        None,
    )


def test_a_scenario_without_turns_has_no_turn_1() -> None:
    index = build_index([scenario("empty", select="first_user_message")])
    assert decide(chat_request("empty"), index).text == "No turn 1 in scenario empty"


def test_header_is_percent_decoded() -> None:
    decision = decide(request_with_header("run%20test%201", "hello"))
    assert decision == Decision("step", "by_id", SCENARIO_BY_ID, STEP_1)


def test_header_overrides_the_first_user_message() -> None:
    assert candidate_keys(request_with_header("weather", "run test 1")) == ["e", "any"]


def test_the_header_narrows_matching_to_its_scenario() -> None:
    assert candidate_keys(chat_request("hello")) == ["other", "e", "any"]
    assert candidate_keys(request_with_header("weather", "hello")) == ["e", "any"]


def test_header_with_an_unknown_scenario_is_a_404() -> None:
    request = request_with_header("w%C3%B6rld", "run test 1")
    assert decide_by_id(INDEX, request) is None
    text = "no_scenario_matched: X-MockLLM-Scenario names no enabled scenario: wörld"
    assert scenario_in_header(INDEX, request) == Decision("unmatched", "match", text=text)


def test_empty_header_is_ignored() -> None:
    assert candidate_keys(request_with_header(" ", "hello")) == ["other", "e", "any"]


def test_name_of_a_matching_scenario_is_no_id() -> None:
    assert decide_by_id(INDEX, chat_request("weather")) is None


@pytest.mark.parametrize("model", ["test-llm", "test-llm/gpt-4o", "test-llm-2"])
def test_test_llm_models_select_by_id_only(model: str) -> None:
    assert decide(chat_request("run test 1", model=model)).step == STEP_1
    assert decide(request_with_header("run test 1", "hello", model=model)).step == STEP_1
    for request in (
        chat_request("weather", model=model),
        request_with_header("weather", "run test 1", model=model),
        request_with_header("nobody", "run test 1", model=model),
    ):
        decision = decide(request)
        assert (decision.kind, decision.scenario, decision.step) == ("error_turn", None, None)


@pytest.mark.parametrize(
    ("user_texts", "text"),
    [
        (("nobody",), "Scenario not found: nobody"),
        ((" weather ",), "Scenario not found: weather"),
        (("x" * 1_000,), "Scenario not found: " + "x" * 199 + "…"),
        ((), "Scenario not found: (no user message)"),
    ],
)
def test_unknown_id_is_an_error_turn(user_texts: tuple[str, ...], text: str) -> None:
    assert decide(chat_request(*user_texts, model="test-llm")).text == text


def test_model_that_contains_test_llm_is_not_selected_by_id() -> None:
    assert decide_by_id(INDEX, chat_request("nobody", model="my-test-llm")) is None


def test_a_helper_endpoint_is_answered_by_steps_that_name_its_path() -> None:
    path_step = step(build_match(path=(TextCondition(equals="/v1/models"),)), key="models")
    index = build_index([MATCHING_SCENARIO, scenario("models", path_step)])
    request = chat_request(path="/v1/models", route="/v1/models")
    assert [c.step.key for c in index.candidates(request, only=names_path)] == ["models"]
    assert list(index.candidates(chat_request("hello"), only=names_path)) == []


def test_decision_cuts_a_stream_but_not_a_whole_answer() -> None:
    decision = Decision("in_band", "in_band", cancel_after_chunks=3)
    assert decision.cancel_fault(stream=True) == Fault("truncate", after_chunks=3)
    assert decision.cancel_fault(stream=False) is None
    assert Decision("in_band", "in_band").cancel_fault(stream=True) is None
