"""What is consumed, counted and remembered on the way to an answer, and what is not."""

import asyncio
import json
import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from scenarios_app.engine.state import StepRef, key_session
from scenarios_app.wire.base import Call
from tests.serving.pipelines import KEY, Playing, chat, claude, gemini, llama, says, scenario

SESSION = key_session(KEY)


def once(text: str, **keys: Any) -> dict[str, Any]:
    """A step that answers a single time."""
    return {"produce": {"text": text}, **keys}


def text_of(body: bytes) -> str:
    answer = json.loads(body)
    if "choices" in answer:
        return str(answer["choices"][0]["message"]["content"])
    return str(answer["content"][0]["text"])


async def texts(playing: Playing, times: int) -> list[str]:
    return [text_of((await playing.ask(chat()))[2]) for _ in range(times)]


async def test_consumable_steps_answer_in_their_order_and_then_no_more() -> None:
    playing = Playing(scenario("two", once("one"), once("two")))
    assert await texts(playing, 2) == ["one", "two"]
    status, _, body = await playing.ask(chat())
    assert status == 404
    assert "served" in json.loads(body)["error"]["message"]
    assert [ref.label for ref in (await playing.state.read(SESSION)).consumed] == ["1", "2"]


async def test_sessions_consume_apart() -> None:
    playing = Playing(scenario("one", once("one")))
    for key in ("a", "b"):
        _, _, body = await playing.ask(chat(headers={"authorization": f"Bearer {key}"}))
        assert text_of(body) == "one"


async def test_the_loser_of_a_race_goes_on_to_the_next_candidate() -> None:
    playing = Playing(scenario("race", once("first"), once("second")))
    consume = playing.state.consume

    async def losing(session: str, step: StepRef) -> bool:
        # Another request is faster, once.
        if step.label == "1":
            await consume(session, step)
        return await consume(session, step)

    playing.state.consume = losing  # type: ignore[method-assign]
    assert await texts(playing, 1) == ["second"]


async def test_loser_of_a_race_gets_the_next_step_of_the_scenario() -> None:
    playing = Playing(
        scenario("race", once("default"), says("next", match={"model": "gpt-4o"})),
        scenario("serial", says("later")),
    )
    consume = playing.state.consume

    async def losing(session: str, step: StepRef) -> bool:
        await consume(session, step)
        return await consume(session, step)

    playing.state.consume = losing  # type: ignore[method-assign]
    assert await texts(playing, 1) == ["next"]


async def test_priority_goes_before_particularity() -> None:
    playing = Playing(
        scenario("plain", says("plain", match={"messages": [{"contains": "Hello"}]})),
        scenario("everything", says("default", match={"provider": "openai"}), priority=1000),
    )
    assert await texts(playing, 1) == ["default"]


async def test_a_default_in_the_middle_of_a_scenario_keeps_its_place() -> None:
    hello = {"messages": [{"contains": "Hello"}]}
    steps = once("first", match=hello), once("middle"), once("last", match=hello)
    playing = Playing(scenario("talk", *steps), scenario("rest", says("none left"), priority=-1))
    assert await texts(playing, 4) == ["first", "middle", "last", "none left"]


async def test_the_example_in_the_docs_answers_as_it_says() -> None:
    text = (Path(__file__).parents[2] / "docs" / "choosing.md").read_text(encoding="utf-8")
    document = json.loads(text.partition("```json\n")[2].partition("```")[0])
    playing = Playing(document, scenario("below", says("below")))
    said = ["the weather?", "the weather?", "thanks", "thanks"]
    answers = [text_of((await playing.ask(chat(one)))[2]) for one in said]
    assert answers == [
        "It is sunny.",
        "I said: it is sunny.",
        "You are welcome.",
        "I only know the weather.",
    ]
    assert text_of((await playing.ask(claude("the weather?")))[2]) == "below"


async def test_200_clients_get_50_steps_exactly_once_each() -> None:
    steps = [once(f"answer {i}") for i in range(50)]
    playing = Playing(scenario("contended", *steps), scenario("rest", says("none left")))

    async def ask() -> str:
        await asyncio.sleep(0)
        return text_of((await playing.ask(chat()))[2])

    answers = await asyncio.gather(*(ask() for _ in range(200)))
    served = sorted(a for a in answers if a != "none left")
    assert served == sorted(f"answer {i}" for i in range(50))
    assert len(answers) == 200


async def test_the_first_attempts_fail_and_consume_nothing() -> None:
    failures = {"times": 2, "fault": {"kind": "rate_limit", "retry_after_ms": 1500}}
    playing = Playing(scenario("flaky", once("at last", failures=failures)))
    statuses = [(await playing.ask(chat()))[0] for _ in range(2)]
    assert statuses == [429, 429]
    assert (await playing.state.read(SESSION)).consumed == ()
    assert await texts(playing, 1) == ["at last"]
    assert (await playing.ask(chat()))[0] == 404
    assert [e.attempt for e in playing.journal[:3]] == [1, 2, 2]
    assert [e.outcome for e in playing.journal] == ["fault", "fault", "complete", "unmatched"]
    assert playing.journal[0].fault == "rate_limit"


async def test_failures_are_counted_by_provider_but_a_served_step_fails_no_more() -> None:
    failures = {"times": 1, "fault": {"kind": "model_error"}}
    playing = Playing(scenario("flaky", says("always", failures=failures)))
    assert [(await playing.ask(c()))[0] for c in (chat, claude, chat, claude)] == [
        *(500, 500),
        *(200, 200),
    ]
    playing = Playing(scenario("flaky", once("once", failures=failures)))
    assert [(await playing.ask(c()))[0] for c in (chat, chat, claude)] == [500, 200, 404]


@pytest.mark.parametrize("stream", [False, True])
async def test_a_violated_expectation_is_a_400_that_consumes_nothing(
    caplog: pytest.LogCaptureFixture, stream: bool
) -> None:
    step = once("fine", expect={"temperature": 0.2}, failures={"times": 1})
    playing = Playing(scenario("strict", step))
    with caplog.at_level(logging.WARNING):
        status, headers, body = await playing.ask(chat(temperature=0.9, stream=stream))
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
    state = await playing.state.read(SESSION)
    assert (state.violations, state.consumed, state.attempts) == ((violation,), (), ())
    assert playing.journal[0].violations == (violation,)
    assert playing.journal[0].matched


@pytest.mark.parametrize("call", [claude, gemini, llama])
async def test_a_violated_expectation_is_told_in_the_providers_envelope(
    call: Callable[..., Call],
) -> None:
    playing = Playing(scenario("strict", once("fine", expect={"tools": ["get_weather"]})))
    status, _, body = await playing.ask(call())
    error = json.loads(body)["error"]
    message = error if isinstance(error, str) else error["message"]
    assert status == 400
    assert message.endswith("Expected tools not available: get_weather (none is offered)")


async def test_a_scenario_that_a_header_names_violates_as_any_other() -> None:
    strict = scenario("strict", once("fine", expect={"temperature": 0.2}))
    status, _, _ = await Playing(strict).ask(chat(headers={"x-mockllm-scenario": "strict"}))
    assert status == 400


async def test_an_expectation_by_id_keeps_its_error_turn() -> None:
    step = {"turn": 1, "produce": {"text": "x"}, "expect": {"temperature": 0.2}}
    playing = Playing(scenario("by id", step, select="first_user_message"))
    status, _, body = await playing.ask(chat("by id", temperature=0.9))
    message = json.loads(body)["choices"][0]["message"]
    assert status == 200 and message["content"] == "Scenario validation failed."
    report = json.loads(message["tool_calls"][0]["function"]["arguments"])
    violation = "Expected temperature 0.2 but received 0.9"
    assert report["report_content"] == f"# Test Harness Error\n\n{violation}"


async def test_a_served_step_does_not_complain_again() -> None:
    playing = Playing(
        scenario("strict", once("fine", expect={"temperature": 0.2})),
        scenario("then", says("next"), priority=-1),
    )
    _ = await playing.ask(chat(temperature=0.2))
    _, _, body = await playing.ask(chat(temperature=0.9))
    assert text_of(body) == "next"


async def test_a_failed_assertion_is_a_violation_and_the_answer_stays() -> None:
    effects = {"assert": [{"tools": ["get_weather"]}]}
    playing = Playing(scenario("watched", says("fine", side_effects=effects)))
    assert await texts(playing, 1) == ["fine"]
    (violation,) = (await playing.state.read(SESSION)).violations
    assert violation.startswith("Assertion side_effects.assert[0] failed: ")


async def test_counters_count_answers_and_not_failing_attempts() -> None:
    effects = {"counter": "calls"}
    step = says("fine", side_effects=effects, failures={"times": 1})
    playing = Playing(scenario("counted", step))
    for _ in range(3):
        await playing.ask(chat())
    assert (await playing.state.read(SESSION)).counters == {"calls": 2}


BY_ID = scenario(
    "checkout",
    {"turn": 1, "produce": {"text": "first turn"}, "failures": {"times": 1}},
    select="first_user_message",
)


async def test_a_scenario_asked_for_by_id_answers_its_turn_and_consumes_nothing() -> None:
    playing = Playing(BY_ID)
    statuses = [(await playing.ask(chat("checkout")))[0] for _ in range(3)]
    assert statuses == [500, 200, 200]
    assert (await playing.state.read(SESSION)).consumed == ()
    assert playing.journal[1].way == "by_id"


async def test_a_missing_turn_is_the_fallback_step_and_a_violation() -> None:
    playing = Playing(BY_ID)
    history = [
        {"role": "user", "content": "checkout"},
        {"role": "assistant", "content": "first turn"},
        {"role": "user", "content": "go on"},
    ]
    status, _, body = await playing.ask(chat(messages=history))
    assert status == 200 and text_of(body) == "Encountered scenario mismatch."
    text = "No turn 2 in scenario checkout"
    assert (await playing.state.read(SESSION)).violations == (text,)


async def test_an_unknown_id_on_a_test_model_is_the_error_turn() -> None:
    playing = Playing(BY_ID)
    status, _, body = await playing.ask(chat("nobody", model="test-llm"))
    assert status == 200 and text_of(body) == "Scenario validation failed."
    assert (await playing.state.read(SESSION)).violations == ("Scenario not found: nobody",)
    assert not playing.journal[0].matched


async def test_a_missing_system_prompt_goes_before_a_missing_turn() -> None:
    strict = {**BY_ID, "system_prompt_must_include": ["be brief"]}
    playing = Playing(strict)
    _, _, body = await playing.ask(chat("checkout"))
    assert text_of(body) == "Scenario validation failed."
    assert playing.journal[0].violations == ("System prompt missing: be brief",)


async def test_a_header_that_names_no_scenario_is_a_404() -> None:
    playing = Playing(scenario("greeting", says("Hi!")))
    status, _, body = await playing.ask(chat(headers={"x-mockllm-scenario": "none"}))
    assert status == 404
    assert "names no enabled scenario" in json.loads(body)["error"]["message"]
