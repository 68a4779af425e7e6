"""Requirement 003's scripts through the pipeline: how a turn is found, on every wire."""

import pytest

from scenarios_app.engine.state import put_scenario
from tests.engine.turn_scripts import script, text_response, tool_call_response, turn
from tests.serving.modes import WIRES, WireName
from tests.serving.pipelines import Playing, scenario
from tests.serving.turn_scripts.turns import (
    ERROR,
    FALLBACK,
    SESSION,
    hear,
    is_failure,
    talk,
    violations,
)

EVERY_WIRE = pytest.mark.parametrize("wire", WIRES)
TWO = script(turn(text_response("one")), turn(text_response("two"), 2), id="run-test-1")
RUN = "run-test-1"


@EVERY_WIRE
async def test_scenario_id_required_the_first_user_message_trimmed_is_it(wire: WireName) -> None:
    playing = Playing(TWO)
    assert (await hear(playing, wire, f" \n{RUN}\t")).text == "one"
    assert (await hear(playing, wire, RUN, turn=2)).text == "two"
    assert (await hear(playing, wire, RUN, model="gpt-4o")).text == "one"
    assert await violations(playing) == ()


@EVERY_WIRE
async def test_a_header_names_the_scenario_whatever_is_said(wire: WireName) -> None:
    playing = Playing(TWO, script(turn(text_response("other")), id="größe"))
    headers = {"x-mockllm-scenario": "gr%C3%B6%C3%9Fe"}
    assert (await hear(playing, wire, "Hello", headers=headers)).text == "other"
    assert (await hear(playing, wire, RUN, headers=headers)).text == "other"


@EVERY_WIRE
async def test_scenario_not_found_is_an_error_turn_for_a_test_model(wire: WireName) -> None:
    playing = Playing(TWO, scenario("any", {"produce": {"text": "matched"}}))
    for model in ("test-llm", "test-llm-x", "test-llm/gpt-4o"):
        answer = await hear(playing, wire, "nobody", model=model)
        assert is_failure(answer, ERROR, "Scenario not found: nobody")
    assert (await hear(playing, wire, "nobody", model="gpt-4o")).text == "matched"
    assert await violations(playing) == ("Scenario not found: nobody",) * 3
    assert [entry.outcome for entry in playing.journal] == ["complete"] * 4


@EVERY_WIRE
async def test_a_test_model_obeys_no_instruction_block(wire: WireName) -> None:
    block = '<|instruction_start|>{"messages": []}<|instruction_end|>'
    answer = await hear(Playing(TWO), wire, block)
    assert is_failure(answer, ERROR, f"Scenario not found: {block}")


@EVERY_WIRE
async def test_turn_computation_counts_every_assistant_message_and_one(wire: WireName) -> None:
    playing = Playing(TWO)
    messages = [
        {"role": "user", "content": RUN},
        {"role": "assistant", "content": "one"},
        {"role": "assistant", "content": "and more"},
        {"role": "user", "content": "go on"},
    ]
    answer = await hear(playing, wire, RUN, messages=messages, system="Be brief.")
    assert is_failure(answer, FALLBACK, f"No turn 3 in scenario {RUN}")
    assert await violations(playing) == (f"No turn 3 in scenario {RUN}",)


@EVERY_WIRE
async def test_a_turn_may_be_the_first_one_that_is_defined(wire: WireName) -> None:
    playing = Playing(script(turn(text_response("two"), 2)))
    assert (await hear(playing, wire, "script", turn=2)).text == "two"
    assert is_failure(await hear(playing, wire, "script"), FALLBACK, "No turn 1 in scenario script")


@pytest.mark.parametrize("stream", [False, True])
@EVERY_WIRE
async def test_deterministic_responses_to_the_byte(wire: WireName, stream: bool) -> None:
    response = tool_call_response({"toolName": "f"}, assistantText="text", reasoningContent="Hm.")
    answers = [
        (await Playing(script(turn(response))).ask(talk(wire, "script", stream=stream)))[2]
        for _ in range(2)
    ]
    assert answers[0] == answers[1]


@EVERY_WIRE
async def test_a_scripts_answer_depends_on_nothing_else_in_the_request(wire: WireName) -> None:
    playing = Playing(TWO)
    plain = await hear(playing, wire, RUN)
    limit = {"max_tokens": 1} if wire == "anthropic" else {"max_tokens": 1, "seed": 7}
    asked = {"temperature": 0.3, "tools": ("a",), "system": "Be brief.", **limit}
    assert await hear(playing, wire, RUN, model="gpt-4o", **asked) == plain


@EVERY_WIRE
async def test_a_turn_answers_again_and_again_and_consumes_nothing(wire: WireName) -> None:
    playing = Playing(TWO)
    assert [(await hear(playing, wire, RUN)).text for _ in range(3)] == ["one"] * 3
    assert (await playing.state.read(SESSION)).consumed == ()


@EVERY_WIRE
async def test_a_sessions_own_script_is_the_one_that_it_gets(wire: WireName) -> None:
    playing = Playing(TWO)
    own = script(turn(text_response("mine")), id=RUN)
    await put_scenario(playing.state, SESSION, RUN, own)
    assert (await hear(playing, wire, RUN)).text == "mine"
    headers = {"x-mockllm-session": "another"}
    assert (await hear(playing, wire, RUN, headers=headers)).text == "one"
