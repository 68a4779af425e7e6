"""What the engine gets of a document."""

from typing import Any

import pytest

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
    ScriptedUsage,
    SideEffects,
    Step,
)
from tests.engine.asking import message, tool_call, tool_result, when
from tests.engine.documents import CONTRACT, one_step


def compiled(document: dict[str, Any], **options: Any) -> Scenario:
    (loaded,) = load_documents(document)
    return compile_scenario(loaded, **options)


def step(**keys: Any) -> Step:
    return compiled(one_step(**keys)).steps[0]


def test_the_example_of_the_contract_as_values() -> None:
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
        match=when(
            provider=(TextCondition(equals="openai"),),
            path=(TextCondition(equals="/v1/chat/completions"),),
            model=(TextCondition(regex="^gpt-4"),),
            stream=True,
            messages=(message(TextCondition(contains="weather", ignore_case=True), "user"),),
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
        match=when(messages=(message(TextCondition(contains="sunny"), "tool"),)),
        produce=Produce(streaming=sunny, non_streaming=sunny),
        consume=False,
    )
    assert compiled(CONTRACT) == Scenario(
        name="weather", steps=(first, second), priority=10, variables={"city": "Paris"}
    )


def test_a_steps_key_can_be_given() -> None:
    assert [s.key for s in compiled(CONTRACT, step_keys=["k", "l"]).steps] == ["k", "l"]
    with pytest.raises(ValueError, match="shorter"):
        compiled(CONTRACT, step_keys=["k"])


def test_steps_chosen_by_turn_are_never_consumed() -> None:
    turns = [{"turn": n, "produce": {"text": "a"}} for n in (2, 1)]
    scenario = compiled({"name": "a", "select": "first_user_message", "steps": turns})
    assert scenario.select == "first_user_message"
    assert [(s.turn, s.consume) for s in scenario.steps] == [(2, False), (1, False)]
    assert [s.consume for s in compiled(CONTRACT).steps] == [True, False]


def test_conditions_of_every_kind() -> None:
    match = step(
        match={
            "provider": ["openai", {"startswith": "anth"}],
            "messages": [{"which": 0, "equals": "a", "regex": "b"}],
            "tool_calls": [{"name": "f", "arguments": {"a": 1}}, {}],
            "tool_results": [{"tool_call_id": "c", "name": "f", "is_error": True, "contains": "x"}],
            "headers": {"X-Team": "qa"},
            "metadata": {"User": {"contains": "ann"}},
        }
    ).match
    assert match == when(
        provider=(TextCondition(equals="openai"), TextCondition(startswith="anth")),
        messages=(message(TextCondition(equals="a", regex="b"), which=0),),
        tool_calls=(tool_call("f", {"a": 1}), tool_call()),
        tool_results=(tool_result(TextCondition(contains="x"), "c", "f", True),),
        headers=(("x-team", TextCondition(equals="qa")),),
        metadata=(("User", TextCondition(contains="ann")),),
    )


def test_side_effects_of_every_kind() -> None:
    effects = step(
        side_effects={
            "headers": {"X-Extra": "1"},
            "echo_headers": ["X-Request-Id"],
            "assert": [{"stream": True}, {"tools": ["f"]}],
        }
    ).side_effects
    assert effects == SideEffects(
        headers=(("x-extra", "1"),),
        echo_headers=("x-request-id",),
        asserts=(when(stream=True), when(tools=("f",))),
    )
