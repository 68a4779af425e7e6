"""Compilation of documents to the engine's scenarios."""

from typing import Any

import pytest

from scenarios_app.engine.canonical import ScriptedUsage
from scenarios_app.engine.conditions.texts import TextCondition
from scenarios_app.engine.document import compile_scenario, load_documents
from scenarios_app.engine.parts import (
    ReasoningPart,
    TextPart,
    ToolCallPart,
)
from scenarios_app.engine.scenario import (
    Expect,
    Failures,
    Fault,
    Produce,
    Scenario,
    ScriptedAnswer,
    ScriptedChoice,
    SideEffects,
    Step,
)
from tests.engine.documents import CONTRACT, one_step_scenario
from tests.engine.match_builders import (
    build_match,
    message_condition,
    tool_call_condition,
    tool_result_condition,
)


def compile_one(document: dict[str, Any], **options: Any) -> Scenario:
    (loaded_document,) = load_documents(document)
    return compile_scenario(loaded_document, **options)


def compile_step(**keys: Any) -> Step:
    return compile_one(one_step_scenario(**keys)).steps[0]


def test_contract_example_compiles_to_a_scenario() -> None:
    call = ToolCallPart("call_1", "get_weather", '{"city":"{{ city }}"}')
    scripted = ScriptedAnswer(
        choices=(
            ScriptedChoice(
                (
                    ReasoningPart("I need the tool.", "sig-1"),
                    TextPart("Let me look at {{ city }}."),
                    call,
                )
            ),
        ),
        usage=ScriptedUsage(input_tokens=64, output_tokens=32),
    )
    first = Step(
        key="1",
        label="call the tool",
        match=build_match(
            provider=(TextCondition(equals="openai"),),
            path=(TextCondition(equals="/v1/chat/completions"),),
            model=(TextCondition(regex="^gpt-4"),),
            stream=True,
            messages=(
                message_condition(TextCondition(contains="weather", ignore_case=True), "user"),
            ),
            tools=("get_weather",),
            headers=(("x-team", TextCondition(equals="qa")),),
        ),
        produce=Produce(streaming=scripted, non_streaming=scripted),
        expect=Expect(tools=("get_weather",), temperature=0.2, top_p=1.0, reasoning="enabled"),
        failures=Failures(1, Fault("rate_limit", message="slow down", retry_after_ms=1000)),
        side_effects=SideEffects(
            counter="weather_calls",
            status=200,
            headers=(("x-extra", "1"),),
            echo_headers=("x-request-id",),
        ),
    )
    sunny = ScriptedAnswer((ScriptedChoice((TextPart("It is sunny in {{ city }}."),)),))
    second = Step(
        key="2",
        label="2",
        match=build_match(messages=(message_condition(TextCondition(contains="sunny"), "tool"),)),
        produce=Produce(streaming=sunny, non_streaming=sunny),
        consume=False,
    )
    assert compile_one(CONTRACT) == Scenario(
        name="weather", steps=(first, second), priority=10, variables={"city": "Paris"}
    )


def test_step_keys_can_be_passed() -> None:
    assert [s.key for s in compile_one(CONTRACT, step_keys=["k", "l"]).steps] == ["k", "l"]
    with pytest.raises(ValueError, match="shorter"):
        compile_one(CONTRACT, step_keys=["k"])


def test_steps_chosen_by_turn_are_never_consumed() -> None:
    turns = [{"turn": n, "produce": {"text": "a"}} for n in (2, 1)]
    scenario = compile_one({"name": "a", "select": "first_user_message", "steps": turns})
    assert scenario.select == "first_user_message"
    assert [(s.turn, s.consume) for s in scenario.steps] == [(2, False), (1, False)]
    assert [s.consume for s in compile_one(CONTRACT).steps] == [True, False]


def test_conditions_of_every_kind_are_compiled() -> None:
    match = compile_step(
        match={
            "provider": ["openai", {"startswith": "anth"}],
            "messages": [{"which": 0, "equals": "a", "regex": "b"}],
            "tool_calls": [{"name": "f", "arguments": {"a": 1}}, {}],
            "tool_results": [{"tool_call_id": "c", "name": "f", "is_error": True, "contains": "x"}],
            "headers": {"X-Team": "qa"},
            "metadata": {"User": {"contains": "ann"}},
        }
    ).match
    assert match == build_match(
        provider=(TextCondition(equals="openai"), TextCondition(startswith="anth")),
        messages=(message_condition(TextCondition(equals="a", regex="b"), which=0),),
        tool_calls=(tool_call_condition("f", {"a": 1}), tool_call_condition()),
        tool_results=(tool_result_condition(TextCondition(contains="x"), "c", "f", True),),
        headers=(("x-team", TextCondition(equals="qa")),),
        metadata=(("User", TextCondition(contains="ann")),),
    )


def test_side_effects_of_every_kind_are_compiled() -> None:
    effects = compile_step(
        side_effects={
            "headers": {"X-Extra": "1"},
            "echo_headers": ["X-Request-Id"],
            "assert": [{"stream": True}, {"tools": ["f"]}],
        }
    ).side_effects
    assert effects == SideEffects(
        headers=(("x-extra", "1"),),
        echo_headers=("x-request-id",),
        asserts=(build_match(stream=True), build_match(tools=("f",))),
    )
