"""Way 1 comes first, the catch-all last, and what either of them leaves in the journal."""

import json
from typing import Any

import pytest

from tests.serving.modes import CATCH_ALL, WIRES, WireName, asking, in_test_mode, marked
from tests.serving.pipelines import KEY, Playing, says, scenario
from tests.serving.reading import openai_whole

HI = marked({"id": "hi", "messages": [{"text": "in band"}]})
BROKEN = marked({"messages": [{"text": 5}]})


async def said(playing: Playing, text: str = HI, **fields: Any) -> str:
    status, _, body = await playing.ask(asking("openai", text, stream=False, **fields))
    assert status == 200, body
    return openai_whole(body)[0].text


async def test_a_block_goes_before_scenarios_by_match_and_by_id() -> None:
    by_id = {
        "name": "by id",
        "select": "first_user_message",
        "steps": [{"turn": 1, "produce": {"text": "by id"}}],
    }
    playing = in_test_mode(scenario("s", says("by match"), priority=9), by_id)
    assert await said(playing) == "in band"
    assert await said(playing, headers={"x-mockllm-scenario": "by%20id"}) == "in band"
    assert await said(playing, headers={"x-mockllm-scenario": "nothing"}) == "in band"
    assert await said(playing, "Hello") == "by match"
    assert await said(playing, "by id") == "by id"


async def test_a_block_consumes_nothing() -> None:
    playing = in_test_mode(scenario("s", {"produce": {"text": "once"}}))
    assert await said(playing) == "in band"
    assert await said(playing, "Hello") == "once"


@pytest.mark.parametrize("model", ["test-llm", "test-llm/gpt-4o", "test-llm-2"])
async def test_a_test_llm_model_takes_no_block(model: str) -> None:
    answer = await said(in_test_mode(), model=model)
    assert answer == "Scenario validation failed."


async def test_blocks_may_be_switched_off() -> None:
    playing = in_test_mode(inband=False)
    assert (await said(playing)).endswith(HI)
    assert (await said(playing, BROKEN)).endswith(BROKEN)


async def test_a_block_is_answered_without_any_scenario() -> None:
    assert await said(Playing()) == "in band"


@pytest.mark.parametrize("wire", WIRES)
async def test_the_journal_says_that_the_request_answered_itself(wire: WireName) -> None:
    playing = in_test_mode()
    _, headers, _ = await playing.ask(asking(wire, HI, stream=True))
    (entry,) = playing.journal
    assert (entry.way, entry.matched, entry.fallback) == ("in_band", True, False)
    assert (entry.scenario, entry.step, entry.step_key) == ("", "hi", "")
    assert (entry.outcome, entry.near_misses, entry.violations) == ("complete", (), ())
    assert (headers["x-mockllm-scenario"], headers["x-mockllm-step"]) == ("", "hi")


async def test_a_blocks_id_is_percent_encoded_in_the_header() -> None:
    block = marked({"id": "größe/ 1", "messages": [{"text": "x"}]})
    _, headers, _ = await in_test_mode().ask(asking("openai", block, stream=False))
    assert headers["x-mockllm-step"] == "gr%C3%B6%C3%9Fe%2F%201"


async def test_a_wrong_block_is_journalled_as_what_it_was() -> None:
    playing = in_test_mode()
    await playing.ask(asking("openai", BROKEN, stream=False))
    (entry,) = playing.journal
    assert (entry.status, entry.matched, entry.scenario) == (400, False, "")


@pytest.mark.parametrize("wire", WIRES)
async def test_the_catch_all_answers_last_and_counts_as_unmatched(wire: WireName) -> None:
    wanted = says("sunny", match={"messages": [{"role": "user", "contains": "weather"}]})
    playing = in_test_mode(scenario("weather", wanted))
    status, headers, _ = await playing.ask(asking(wire, "Hello", stream=False))
    assert (status, headers["x-mockllm-scenario"]) == (200, "test-mode")
    (entry,) = playing.journal
    assert (entry.matched, entry.fallback, entry.outcome) == (True, True, "complete")
    near = entry.near_misses
    assert isinstance(near, list)
    assert near[0]["scenario"] == "weather"  # type: ignore[index, call-overload]
    await playing.ask(asking(wire, "the weather?", stream=False))
    assert (playing.journal[1].scenario, playing.journal[1].fallback) == ("weather", False)


async def test_an_empty_match_of_any_other_scenario_goes_before_the_catch_all() -> None:
    playing = in_test_mode(scenario("zzz", says("mine"), priority=-999))
    assert await said(playing, "Hello") == "mine"


async def test_the_catch_all_is_never_used_up() -> None:
    playing = in_test_mode(words_per_second=0)
    assert await said(playing, "Hello") == await said(playing, "Hello")
    state = await playing.state.read(KEY)
    assert state.consumed == ()


async def test_a_scenario_that_lost_the_name_answers_as_any_other() -> None:
    playing = Playing({**CATCH_ALL, "name": "mine"})
    assert (await said(playing, "Hello")).endswith(" Hello")
    assert (playing.journal[0].fallback, playing.journal[0].near_misses) == (False, ())


async def test_without_the_catch_all_a_request_is_unmatched() -> None:
    playing = Playing()
    status, _, body = await playing.ask(asking("openai", "Hello", stream=False))
    assert status == 404
    assert json.loads(body)["error"]["code"] == "no_scenario_matched"


@pytest.mark.parametrize("text", [HI, "Hello"])
async def test_explaining_shows_both_forms_and_moves_nothing(text: str) -> None:
    playing = in_test_mode(words_per_second=0, cancel_after_chunks=1)
    call = asking("openai", text, stream=False)
    found = await playing.explain(call)
    assert found.whole is not None and found.streamed is not None
    assert openai_whole(found.whole.body)[0].finish == "stop"
    assert b"[DONE]" not in found.streamed.body
    assert playing.journal == []
