"""The Python builder: steps, answers and expectations in any order."""

from collections.abc import Callable
from typing import Any

import pytest

from scenarios_app.builder import (
    ScenarioBuilder,
    openai,
    scenario,
)
from scenarios_app.engine.document import DocumentError


def steps(builder: ScenarioBuilder) -> Any:
    return builder.build()["steps"]


def step(builder: ScenarioBuilder) -> Any:
    (only_step,) = steps(builder)
    return only_step


def test_builder_example_of_the_docs_builds_its_document() -> None:
    document = (
        scenario("greeting")
        .expect(openai())
        .with_model("gpt-4o")
        .with_messages(contains="hello")
        .then()
        .respond_with_text("Hi!")
        .as_stream(words_per_chunk=2)
        .then()
        .expect(openai())
        .with_tool_result("get_weather")
        .respond_with_text("Sunny.")
        .build()
    )
    assert document == {
        "name": "greeting",
        "steps": [
            {
                "match": {
                    "provider": "openai",
                    "model": "gpt-4o",
                    "messages": [{"contains": "hello"}],
                },
                "produce": {"text": "Hi!", "pacing": {"words_per_chunk": 2}},
            },
            {
                "match": {"provider": "openai", "tool_results": [{"name": "get_weather"}]},
                "produce": {"text": "Sunny."},
            },
        ],
    }


S = scenario("s")


def test_equivalent_changes_are_collected_and_checked_by_name() -> None:
    scenario_builder = S.respond_with_text("ok").with_equivalent_change("name", "not shown")
    step_document = step(scenario_builder.with_equivalent_change("language", "translated"))
    assert step_document["equivalent_changes"] == {"name": "not shown", "language": "translated"}
    with pytest.raises(DocumentError, match='unknown key, did you mean "language"'):
        scenario_builder.with_equivalent_change("languages", "x").build()


def test_side_effects_and_metadata_are_set_beside_the_answer() -> None:
    step_document = step(
        S.respond_with_text("ok")
        .with_counter("served")
        .with_response_status(201)
        .with_response_headers({"x-a": "1"})
        .with_response_headers({"x-b": "2"})
        .echo_headers("x-request-id")
        .assert_that(stream=True)
        .assert_that(tools=["f"])
    )
    assert step_document["side_effects"] == {
        "counter": "served",
        "status": 201,
        "headers": {"x-a": "1", "x-b": "2"},
        "echo_headers": ["x-request-id"],
        "assert": [{"stream": True}, {"tools": ["f"]}],
    }


def test_keys_of_the_scenario_are_set() -> None:
    document = (
        scenario("s", tags=["x"], priority=1)
        .with_description("d")
        .with_priority(5)
        .with_tags("a", "b")
        .with_variables(city="Paris")
        .with_system_prompt_including("polite")
        .by_first_user_message()
        .disabled()
        .build()
    )
    assert document == {
        "name": "s",
        "description": "d",
        "priority": 5,
        "enabled": False,
        "select": "first_user_message",
        "tags": ["a", "b"],
        "variables": {"city": "Paris"},
        "system_prompt_must_include": ["polite"],
    }


def test_steps_are_selected_by_turn() -> None:
    first_steps = S.by_first_user_message().on_turn(1).respond_with_text("a").then().on_turn(2)
    assert steps(first_steps.respond_with_text("b")) == [
        {"turn": 1, "produce": {"text": "a"}},
        {"turn": 2, "produce": {"text": "b"}},
    ]


@pytest.mark.parametrize(
    "say",
    [
        lambda s: s.expect(openai()),
        lambda s: s.with_stream(False),
        lambda s: s.with_header("x", "y"),
        lambda s: s.with_messages("x"),
        lambda s: s.named("x"),
        lambda s: s.always(),
        lambda s: s.with_equivalent_change("name", "not shown"),
        lambda s: s.expecting(top_p=1),
        lambda s: s.failing(),
    ],
)
def test_then_before_an_expectation_starts_the_next_step(
    say: Callable[[ScenarioBuilder], ScenarioBuilder],
) -> None:
    first, second = steps(say(S.respond_with_text("a").then()).respond_with_text("b"))
    assert first == {"produce": {"text": "a"}}
    assert second.keys() > {"produce"}


@pytest.mark.parametrize(
    "say",
    [
        lambda s: s.respond_with_tool_call("f"),
        lambda s: s.as_stream(chunk_ms=5),
        lambda s: s.with_counter("x"),
        lambda s: s.with_response_headers({"x": "y"}),
        lambda s: s.assert_that(stream=True),
    ],
)
def test_then_before_an_answer_continues_the_step(
    say: Callable[[ScenarioBuilder], ScenarioBuilder],
) -> None:
    step_document = step(say(S.respond_with_text("a").then()))
    assert step_document != {"produce": {"text": "a"}}
    assert step_document["produce"]["text"] == "a"


def test_answer_key_after_then_continues_the_step() -> None:
    scenario_builder = S.respond_with_text("a").then().with_latency(5).with_counter("c").always()
    assert step(scenario_builder)["consume"] is False


@pytest.mark.parametrize(
    "builder_with_answer",
    [
        S.respond_with_text("a"),
        S.respond_with_chunks("a"),
        S.respond_with_fault("timeout"),
        S.respond_to_streams(text="a"),
    ],
)
def test_match_after_an_answer_requires_then(builder_with_answer: ScenarioBuilder) -> None:
    with pytest.raises(DocumentError) as error_info:
        builder_with_answer.with_model("gpt-4o")
    assert str(error_info.value) == (
        "steps[0]: is answered already: say then() to start the next step"
    )


def test_latency_and_pacing_before_an_expectation_are_no_answer() -> None:
    scenario_builder = (
        S.with_latency(5).as_stream(chunk_ms=1).expect(openai()).respond_with_text("a")
    )
    assert step(scenario_builder)["match"] == {"provider": "openai"}


def test_parts_out_of_the_usual_order_keep_their_order() -> None:
    scenario_builder = (
        S.respond_with_text("a")
        .respond_with_tool_call("f", x=1)
        .then()
        .respond_with_reasoning("r", signature="s")
        .respond_with_refusal("no")
    )
    assert step(scenario_builder)["produce"] == {
        "parts": [
            {"text": "a"},
            {"tool_call": {"name": "f", "arguments": {"x": 1}}},
            {"reasoning": "r", "signature": "s"},
            {"refusal": "no"},
        ]
    }


def test_two_texts_are_two_parts() -> None:
    scenario_builder = S.respond_with_text("a").respond_with_text("b")
    assert step(scenario_builder)["produce"] == {"parts": [{"text": "a"}, {"text": "b"}]}


def test_shared_builder_is_not_changed_by_later_calls() -> None:
    base = S.expect(openai()).with_messages("hi")
    first = base.with_messages("there").respond_with_text("a")
    second = base.with_header("x", "y").respond_with_text("b")
    assert step(first)["match"]["messages"] == ["hi", "there"]
    assert step(second)["match"] == {
        "provider": "openai",
        "messages": ["hi"],
        "headers": {"x": "y"},
    }


def test_arguments_cannot_be_given_in_two_forms() -> None:
    with pytest.raises(TypeError, match="not both"):
        S.respond_with_tool_call("f", arguments={}, city="Rome")
    with pytest.raises(TypeError, match="an input or arguments, not both"):
        S.respond_with_tool_call("f", "ls", city="Rome")


def test_building_an_invalid_scenario_is_rejected_with_its_path() -> None:
    scenario_builder = S.respond_with_text("a").then().with_messages(regex="(").as_stream(jitter=2)
    with pytest.raises(DocumentError) as error_info:
        scenario_builder.build()
    assert str(error_info.value).splitlines() == [
        "steps[1].match.messages[0].regex: not an RE2 pattern: missing ): (",
        "steps[1].produce.pacing.jitter: expected a number from 0 to 1",
    ]
