"""Requirement 003's scripts through the pipeline: the selection of a turn, on every wire."""

import pytest

from scenarios_app.engine.state import put_scenario
from tests.engine.turn_scripts import script, text_response, tool_call_response, turn
from tests.serving.modes import WIRES, WireName
from tests.serving.pipelines import Harness, scenario
from tests.serving.turn_scripts.turns import (
    ERROR,
    FALLBACK,
    SESSION,
    is_failure,
    send_turn,
    turn_request,
    violations,
)

EVERY_WIRE = pytest.mark.parametrize("wire", WIRES)
TWO = script(turn(text_response("one")), turn(text_response("two"), 2), id="run-test-1")
RUN = "run-test-1"


@EVERY_WIRE
async def test_scenario_id_required_the_first_user_message_trimmed_is_it(wire: WireName) -> None:
    harness = Harness(TWO)
    assert (await send_turn(harness, wire, f" \n{RUN}\t")).text == "one"
    assert (await send_turn(harness, wire, RUN, turn=2)).text == "two"
    assert (await send_turn(harness, wire, RUN, model="gpt-4o")).text == "one"
    assert await violations(harness) == ()


@EVERY_WIRE
async def test_a_header_names_the_scenario_whatever_the_message(wire: WireName) -> None:
    harness = Harness(TWO, script(turn(text_response("other")), id="größe"))
    headers = {"x-mockllm-scenario": "gr%C3%B6%C3%9Fe"}
    assert (await send_turn(harness, wire, "Hello", headers=headers)).text == "other"
    assert (await send_turn(harness, wire, RUN, headers=headers)).text == "other"


@EVERY_WIRE
async def test_scenario_not_found_is_an_error_turn_for_a_test_model(wire: WireName) -> None:
    harness = Harness(TWO, scenario("any", {"produce": {"text": "matched"}}))
    for model in ("test-llm", "test-llm-x", "test-llm/gpt-4o"):
        answer = await send_turn(harness, wire, "nobody", model=model)
        assert is_failure(answer, ERROR, "Scenario not found: nobody")
    assert (await send_turn(harness, wire, "nobody", model="gpt-4o")).text == "matched"
    assert await violations(harness) == ("Scenario not found: nobody",) * 3
    assert [entry.outcome for entry in harness.journal] == ["complete"] * 4


@EVERY_WIRE
async def test_a_test_model_obeys_no_instruction_block(wire: WireName) -> None:
    block = '<|instruction_start|>{"messages": []}<|instruction_end|>'
    answer = await send_turn(Harness(TWO), wire, block)
    assert is_failure(answer, ERROR, f"Scenario not found: {block}")


@EVERY_WIRE
async def test_turn_computation_counts_every_assistant_message_and_one(wire: WireName) -> None:
    harness = Harness(TWO)
    messages = [
        {"role": "user", "content": RUN},
        {"role": "assistant", "content": "one"},
        {"role": "assistant", "content": "and more"},
        {"role": "user", "content": "go on"},
    ]
    answer = await send_turn(harness, wire, RUN, messages=messages, system="Be brief.")
    assert is_failure(answer, FALLBACK, f"No turn 3 in scenario {RUN}")
    assert await violations(harness) == (f"No turn 3 in scenario {RUN}",)


@EVERY_WIRE
async def test_a_turn_may_be_the_first_one_that_is_defined(wire: WireName) -> None:
    harness = Harness(script(turn(text_response("two"), 2)))
    assert (await send_turn(harness, wire, "script", turn=2)).text == "two"
    assert is_failure(
        await send_turn(harness, wire, "script"), FALLBACK, "No turn 1 in scenario script"
    )


@pytest.mark.parametrize("stream", [False, True])
@EVERY_WIRE
async def test_deterministic_responses_to_the_byte(wire: WireName, stream: bool) -> None:
    response = tool_call_response({"toolName": "f"}, assistantText="text", reasoningContent="Hm.")
    answers = [
        (await Harness(script(turn(response))).ask(turn_request(wire, "script", stream=stream)))[2]
        for _ in range(2)
    ]
    assert answers[0] == answers[1]


@EVERY_WIRE
async def test_a_scripts_answer_depends_on_nothing_else_in_the_request(wire: WireName) -> None:
    harness = Harness(TWO)
    plain = await send_turn(harness, wire, RUN)
    limit = {"max_tokens": 1} if wire == "anthropic" else {"max_tokens": 1, "seed": 7}
    fields = {"temperature": 0.3, "tools": ("a",), "system": "Be brief.", **limit}
    assert await send_turn(harness, wire, RUN, model="gpt-4o", **fields) == plain


@EVERY_WIRE
async def test_turn_answers_repeatedly_and_consumes_nothing(wire: WireName) -> None:
    harness = Harness(TWO)
    assert [(await send_turn(harness, wire, RUN)).text for _ in range(3)] == ["one"] * 3
    assert (await harness.state.read(SESSION)).consumed == ()


@EVERY_WIRE
async def test_script_of_a_session_overrides_the_common_one(wire: WireName) -> None:
    harness = Harness(TWO)
    own = script(turn(text_response("mine")), id=RUN)
    await put_scenario(harness.state, SESSION, RUN, own)
    assert (await send_turn(harness, wire, RUN)).text == "mine"
    headers = {"x-mockllm-session": "another"}
    assert (await send_turn(harness, wire, RUN, headers=headers)).text == "one"
