"""Instruction blocks answer first and the catch-all last; both are in the journal."""

import json
from typing import Any

import pytest

from tests.serving.modes import (
    CATCH_ALL,
    WIRES,
    WireName,
    harness_in_test_mode,
    sample_call,
    with_marks,
)
from tests.serving.pipelines import KEY, Harness, scenario, text_step
from tests.serving.reading import parse_openai_body

VALID = with_marks({"id": "hi", "messages": [{"text": "in band"}]})
INVALID = with_marks({"messages": [{"text": 5}]})


async def ask_for_text(harness: Harness, text: str = VALID, **fields: Any) -> str:
    status, _, body = await harness.ask(sample_call("openai", text, stream=False, **fields))
    assert status == 200, body
    return parse_openai_body(body)[0].text


async def test_block_precedes_scenarios_by_match_and_by_id() -> None:
    by_id = {
        "name": "by id",
        "select": "first_user_message",
        "steps": [{"turn": 1, "produce": {"text": "by id"}}],
    }
    harness = harness_in_test_mode(scenario("s", text_step("by match"), priority=9), by_id)
    assert await ask_for_text(harness) == "in band"
    assert await ask_for_text(harness, headers={"x-mockllm-scenario": "by%20id"}) == "in band"
    assert await ask_for_text(harness, headers={"x-mockllm-scenario": "nothing"}) == "in band"
    assert await ask_for_text(harness, "Hello") == "by match"
    assert await ask_for_text(harness, "by id") == "by id"


async def test_a_block_consumes_nothing() -> None:
    harness = harness_in_test_mode(scenario("s", {"produce": {"text": "once"}}))
    assert await ask_for_text(harness) == "in band"
    assert await ask_for_text(harness, "Hello") == "once"


@pytest.mark.parametrize("model", ["test-llm", "test-llm/gpt-4o", "test-llm-2"])
async def test_a_test_llm_model_takes_no_block(model: str) -> None:
    answer = await ask_for_text(harness_in_test_mode(), model=model)
    assert answer == "Scenario validation failed."


async def test_blocks_may_be_switched_off() -> None:
    harness = harness_in_test_mode(inband=False)
    assert (await ask_for_text(harness)).endswith(VALID)
    assert (await ask_for_text(harness, INVALID)).endswith(INVALID)


async def test_a_block_is_answered_without_any_scenario() -> None:
    assert await ask_for_text(Harness()) == "in band"


@pytest.mark.parametrize("wire", WIRES)
async def test_journal_entry_of_a_block_has_the_in_band_way(wire: WireName) -> None:
    harness = harness_in_test_mode()
    _, headers, _ = await harness.ask(sample_call(wire, VALID, stream=True))
    (entry,) = harness.journal
    assert (entry.way, entry.matched, entry.fallback) == ("in_band", True, False)
    assert (entry.scenario, entry.step, entry.step_key) == ("", "hi", "")
    assert (entry.outcome, entry.near_misses, entry.violations) == ("complete", (), ())
    assert (headers["x-mockllm-scenario"], headers["x-mockllm-step"]) == ("", "hi")


async def test_a_blocks_id_is_percent_encoded_in_the_header() -> None:
    block = with_marks({"id": "größe/ 1", "messages": [{"text": "x"}]})
    _, headers, _ = await harness_in_test_mode().ask(sample_call("openai", block, stream=False))
    assert headers["x-mockllm-step"] == "gr%C3%B6%C3%9Fe%2F%201"


async def test_a_wrong_block_is_journalled_as_what_it_was() -> None:
    harness = harness_in_test_mode()
    await harness.ask(sample_call("openai", INVALID, stream=False))
    (entry,) = harness.journal
    assert (entry.status, entry.matched, entry.scenario) == (400, False, "")


@pytest.mark.parametrize("wire", WIRES)
async def test_the_catch_all_answers_last_and_counts_as_unmatched(wire: WireName) -> None:
    weather_step = text_step("sunny", match={"messages": [{"role": "user", "contains": "weather"}]})
    harness = harness_in_test_mode(scenario("weather", weather_step))
    status, headers, _ = await harness.ask(sample_call(wire, "Hello", stream=False))
    assert (status, headers["x-mockllm-scenario"]) == (200, "test-mode")
    (entry,) = harness.journal
    assert (entry.matched, entry.fallback, entry.outcome) == (True, True, "complete")
    near_misses = entry.near_misses
    assert isinstance(near_misses, list)
    assert near_misses[0]["scenario"] == "weather"
    await harness.ask(sample_call(wire, "the weather?", stream=False))
    assert (harness.journal[1].scenario, harness.journal[1].fallback) == ("weather", False)


async def test_empty_match_of_another_scenario_precedes_the_catch_all() -> None:
    harness = harness_in_test_mode(scenario("zzz", text_step("mine"), priority=-999))
    assert await ask_for_text(harness, "Hello") == "mine"


async def test_the_catch_all_is_never_used_up() -> None:
    harness = harness_in_test_mode(words_per_second=0)
    assert await ask_for_text(harness, "Hello") == await ask_for_text(harness, "Hello")
    state = await harness.state.read(KEY)
    assert state.consumed == ()


async def test_a_scenario_that_lost_the_name_answers_as_any_other() -> None:
    harness = Harness({**CATCH_ALL, "name": "mine"})
    assert (await ask_for_text(harness, "Hello")).endswith(" Hello")
    assert (harness.journal[0].fallback, harness.journal[0].near_misses) == (False, ())


async def test_without_the_catch_all_a_request_is_unmatched() -> None:
    harness = Harness()
    status, _, body = await harness.ask(sample_call("openai", "Hello", stream=False))
    assert status == 404
    assert json.loads(body)["error"]["code"] == "no_scenario_matched"


@pytest.mark.parametrize("text", [VALID, "Hello"])
async def test_explaining_returns_both_forms_and_changes_no_state(text: str) -> None:
    harness = harness_in_test_mode(words_per_second=0, cancel_after_chunks=1)
    call = sample_call("openai", text, stream=False)
    explanation = await harness.explain(call)
    assert explanation.whole is not None and explanation.streamed is not None
    assert parse_openai_body(explanation.whole.body)[0].finish == "stop"
    assert b"[DONE]" not in explanation.streamed.body
    assert harness.journal == []
