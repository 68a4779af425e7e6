"""Steps that are consumed, failures and violations that are counted, and the order of steps."""

import asyncio
import json
import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from scenarios_app.engine.state import StepRef, key_session
from scenarios_app.wire.base import Call
from tests.serving.pipelines import KEY, Harness, chat, claude, gemini, llama, scenario, text_step

SESSION = key_session(KEY)


def once_step(text: str, **keys: Any) -> dict[str, Any]:
    """Return a step that is consumed by its answer."""
    return {"produce": {"text": text}, **keys}


def text_of(body: bytes) -> str:
    answer = json.loads(body)
    if "choices" in answer:
        return str(answer["choices"][0]["message"]["content"])
    return str(answer["content"][0]["text"])


async def fetch_texts(harness: Harness, times: int) -> list[str]:
    return [text_of((await harness.ask(chat()))[2]) for _ in range(times)]


async def test_consumable_steps_answer_in_their_order_and_then_no_more() -> None:
    harness = Harness(scenario("two", once_step("one"), once_step("two")))
    assert await fetch_texts(harness, 2) == ["one", "two"]
    status, _, body = await harness.ask(chat())
    assert status == 404
    assert "served" in json.loads(body)["error"]["message"]
    assert [ref.label for ref in (await harness.state.read(SESSION)).consumed] == ["1", "2"]


async def test_sessions_consume_steps_separately() -> None:
    harness = Harness(scenario("one", once_step("one")))
    for key in ("a", "b"):
        _, _, body = await harness.ask(chat(headers={"authorization": f"Bearer {key}"}))
        assert text_of(body) == "one"


async def test_loser_of_a_race_gets_the_next_candidate() -> None:
    harness = Harness(scenario("race", once_step("first"), once_step("second")))
    consume = harness.state.consume

    async def lose_race(session: str, step: StepRef) -> bool:
        # Another request is faster, once.
        if step.label == "1":
            await consume(session, step)
        return await consume(session, step)

    harness.state.consume = lose_race
    assert await fetch_texts(harness, 1) == ["second"]


async def test_loser_of_a_race_gets_the_next_step_of_the_scenario() -> None:
    harness = Harness(
        scenario("race", once_step("default"), text_step("next", match={"model": "gpt-4o"})),
        scenario("serial", text_step("later")),
    )
    consume = harness.state.consume

    async def lose_race(session: str, step: StepRef) -> bool:
        await consume(session, step)
        return await consume(session, step)

    harness.state.consume = lose_race
    assert await fetch_texts(harness, 1) == ["next"]


async def test_priority_precedes_particularity() -> None:
    harness = Harness(
        scenario("plain", text_step("plain", match={"messages": [{"contains": "Hello"}]})),
        scenario("everything", text_step("default", match={"provider": "openai"}), priority=1000),
    )
    assert await fetch_texts(harness, 1) == ["default"]


async def test_a_default_in_the_middle_of_a_scenario_keeps_its_place() -> None:
    hello = {"messages": [{"contains": "Hello"}]}
    steps = once_step("first", match=hello), once_step("middle"), once_step("last", match=hello)
    harness = Harness(
        scenario("talk", *steps), scenario("rest", text_step("none left"), priority=-1)
    )
    assert await fetch_texts(harness, 4) == ["first", "middle", "last", "none left"]


async def test_example_in_the_docs_answers_as_documented() -> None:
    text = (Path(__file__).parents[2] / "docs" / "choosing.md").read_text(encoding="utf-8")
    document = json.loads(text.partition("```json\n")[2].partition("```")[0])
    harness = Harness(document, scenario("below", text_step("below")))
    questions = ["the weather?", "the weather?", "thanks", "thanks"]
    answers = [text_of((await harness.ask(chat(question)))[2]) for question in questions]
    assert answers == [
        "It is sunny.",
        "I said: it is sunny.",
        "You are welcome.",
        "I only know the weather.",
    ]
    assert text_of((await harness.ask(claude("the weather?")))[2]) == "below"


async def test_200_clients_get_50_steps_exactly_once_each() -> None:
    steps = [once_step(f"answer {i}") for i in range(50)]
    harness = Harness(scenario("contended", *steps), scenario("rest", text_step("none left")))

    async def ask() -> str:
        await asyncio.sleep(0)
        return text_of((await harness.ask(chat()))[2])

    answers = await asyncio.gather(*(ask() for _ in range(200)))
    served_texts = sorted(a for a in answers if a != "none left")
    assert served_texts == sorted(f"answer {i}" for i in range(50))
    assert len(answers) == 200


async def test_the_first_attempts_fail_and_consume_nothing() -> None:
    failures = {"times": 2, "fault": {"kind": "rate_limit", "retry_after_ms": 1500}}
    harness = Harness(scenario("flaky", once_step("at last", failures=failures)))
    statuses = [(await harness.ask(chat()))[0] for _ in range(2)]
    assert statuses == [429, 429]
    assert (await harness.state.read(SESSION)).consumed == ()
    assert await fetch_texts(harness, 1) == ["at last"]
    assert (await harness.ask(chat()))[0] == 404
    assert [e.attempt for e in harness.journal[:3]] == [1, 2, 2]
    assert [e.outcome for e in harness.journal] == ["fault", "fault", "complete", "unmatched"]
    assert harness.journal[0].fault == "rate_limit"


async def test_failures_are_counted_by_provider_but_a_served_step_fails_no_more() -> None:
    failures = {"times": 1, "fault": {"kind": "model_error"}}
    harness = Harness(scenario("flaky", text_step("always", failures=failures)))
    assert [(await harness.ask(c()))[0] for c in (chat, claude, chat, claude)] == [
        *(500, 500),
        *(200, 200),
    ]
    harness = Harness(scenario("flaky", once_step("once", failures=failures)))
    assert [(await harness.ask(c()))[0] for c in (chat, chat, claude)] == [500, 200, 404]


@pytest.mark.parametrize("stream", [False, True])
async def test_a_violated_expectation_is_a_400_that_consumes_nothing(
    caplog: pytest.LogCaptureFixture, stream: bool
) -> None:
    step = once_step("fine", expect={"temperature": 0.2}, failures={"times": 1})
    harness = Harness(scenario("strict", step))
    with caplog.at_level(logging.WARNING):
        status, headers, body = await harness.ask(chat(temperature=0.9, stream=stream))
    violation = "Expected temperature 0.2 but received 0.9"
    assert (status, json.loads(body)["error"]) == (
        400,
        {
            "message": "expectation_violated: step “1” of scenario “strict” answers this request, "
            f"but it is not as that expects. {violation}",
            "type": "invalid_request_error",
            "param": None,
            "code": "expectation_violated",
        },
    )
    assert (headers["x-mockllm-scenario"], headers["x-mockllm-step"]) == ("strict", "1")
    assert violation in caplog.text
    state = await harness.state.read(SESSION)
    assert (state.violations, state.consumed, state.attempts) == ((violation,), (), ())
    assert harness.journal[0].violations == (violation,)
    assert harness.journal[0].matched


@pytest.mark.parametrize("call", [claude, gemini, llama])
async def test_violated_expectation_is_an_error_in_the_providers_envelope(
    call: Callable[..., Call],
) -> None:
    harness = Harness(scenario("strict", once_step("fine", expect={"tools": ["get_weather"]})))
    status, _, body = await harness.ask(call())
    error = json.loads(body)["error"]
    message = error if isinstance(error, str) else error["message"]
    assert status == 400
    assert message.endswith("Expected tools not available: get_weather (none is offered)")


async def test_scenario_named_by_header_checks_its_expectations() -> None:
    strict = scenario("strict", once_step("fine", expect={"temperature": 0.2}))
    status, _, _ = await Harness(strict).ask(chat(headers={"x-mockllm-scenario": "strict"}))
    assert status == 400


async def test_an_expectation_by_id_keeps_its_error_turn() -> None:
    step = {"turn": 1, "produce": {"text": "x"}, "expect": {"temperature": 0.2}}
    harness = Harness(scenario("by id", step, select="first_user_message"))
    status, _, body = await harness.ask(chat("by id", temperature=0.9))
    message = json.loads(body)["choices"][0]["message"]
    assert status == 200 and message["content"] == "Scenario validation failed."
    report = json.loads(message["tool_calls"][0]["function"]["arguments"])
    violation = "Expected temperature 0.2 but received 0.9"
    assert report["report_content"] == f"# Test Harness Error\n\n{violation}"


async def test_served_step_checks_no_expectation_again() -> None:
    harness = Harness(
        scenario("strict", once_step("fine", expect={"temperature": 0.2})),
        scenario("then", text_step("next"), priority=-1),
    )
    _ = await harness.ask(chat(temperature=0.2))
    _, _, body = await harness.ask(chat(temperature=0.9))
    assert text_of(body) == "next"


async def test_a_failed_assertion_is_a_violation_and_the_answer_stays() -> None:
    effects = {"assert": [{"tools": ["get_weather"]}]}
    harness = Harness(scenario("watched", text_step("fine", side_effects=effects)))
    assert await fetch_texts(harness, 1) == ["fine"]
    (violation,) = (await harness.state.read(SESSION)).violations
    assert violation.startswith("Assertion side_effects.assert[0] failed: ")


async def test_counters_count_answers_and_not_failing_attempts() -> None:
    effects = {"counter": "calls"}
    step = text_step("fine", side_effects=effects, failures={"times": 1})
    harness = Harness(scenario("counted", step))
    for _ in range(3):
        await harness.ask(chat())
    assert (await harness.state.read(SESSION)).counters == {"calls": 2}


BY_ID = scenario(
    "checkout",
    {"turn": 1, "produce": {"text": "first turn"}, "failures": {"times": 1}},
    select="first_user_message",
)


async def test_scenario_selected_by_id_answers_its_turn_and_consumes_nothing() -> None:
    harness = Harness(BY_ID)
    statuses = [(await harness.ask(chat("checkout")))[0] for _ in range(3)]
    assert statuses == [500, 200, 200]
    assert (await harness.state.read(SESSION)).consumed == ()
    assert harness.journal[1].way == "by_id"


async def test_a_missing_turn_is_the_fallback_step_and_a_violation() -> None:
    harness = Harness(BY_ID)
    history = [
        {"role": "user", "content": "checkout"},
        {"role": "assistant", "content": "first turn"},
        {"role": "user", "content": "go on"},
    ]
    status, _, body = await harness.ask(chat(messages=history))
    assert status == 200 and text_of(body) == "Encountered scenario mismatch."
    text = "No turn 2 in scenario checkout"
    assert (await harness.state.read(SESSION)).violations == (text,)


async def test_an_unknown_id_on_a_test_model_is_the_error_turn() -> None:
    harness = Harness(BY_ID)
    status, _, body = await harness.ask(chat("nobody", model="test-llm"))
    assert status == 200 and text_of(body) == "Scenario validation failed."
    assert (await harness.state.read(SESSION)).violations == ("Scenario not found: nobody",)
    assert not harness.journal[0].matched


async def test_missing_system_prompt_is_reported_before_a_missing_turn() -> None:
    strict = {**BY_ID, "system_prompt_must_include": ["be brief"]}
    harness = Harness(strict)
    _, _, body = await harness.ask(chat("checkout"))
    assert text_of(body) == "Scenario validation failed."
    assert harness.journal[0].violations == ("System prompt missing: be brief",)


async def test_a_header_that_names_no_scenario_is_a_404() -> None:
    harness = Harness(scenario("greeting", text_step("Hi!")))
    status, _, body = await harness.ask(chat(headers={"x-mockllm-scenario": "none"}))
    assert status == 404
    assert "names no enabled scenario" in json.loads(body)["error"]["message"]
