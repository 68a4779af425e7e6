"""Templates of answers that depend on the request's body, and the stored responses they make."""

import json
from typing import Any

import pytest

from scenarios_app.serving.exchange import head_of
from scenarios_app.wire.base import Call
from tests.serving.pipelines import FastAnswer, Harness, chat, responses, scenario, text_step

TEXT_STEP = text_step("Hi there! " * 9)
REASONING_STEP = text_step("Hi there!")
REASONING_STEP["produce"]["reasoning"] = "Hm."
TOOL_STEP = {
    "consume": False,
    "produce": {"tool_calls": [{"name": "get_weather", "arguments": {"city": "Paris"}}] * 2},
}


def generate(text: str, **fields: Any) -> Call:
    body = {"model": "llama3.2", "prompt": text, **fields}
    return Call("POST", "/api/generate", {}, chat().headers, json.dumps(body).encode())


SAMPLE_CALLS = [
    responses("Hello"),
    responses("Hello", stream=True),
    responses("Hello", stream=True, metadata={"a": "b"}, instructions="Be brief."),
    responses("Hello", store=False),
    generate("Hello", stream=False),
    generate("Hello"),
]


def comparable(answer: FastAnswer) -> tuple[Any, ...]:
    reply = answer.reply
    headers = [header for header in reply.headers if header[0] != "x-mockllm-request"]
    return reply.status, headers, answer.body


async def encode_anew(harness: Harness, call: Call) -> FastAnswer:
    """Play the answer of the pipeline to a call."""
    answer = await harness.pipeline.answer(call)
    body = b"".join([piece async for piece in answer.pieces()])
    return FastAnswer(answer.reply, body, "pipeline")


@pytest.mark.parametrize("step", [TEXT_STEP, TOOL_STEP], ids=["says", "calls"])
@pytest.mark.parametrize("call", SAMPLE_CALLS, ids=range(len(SAMPLE_CALLS)))
async def test_template_answers_equal_newly_encoded_ones(step: dict[str, Any], call: Call) -> None:
    fast_harness, fresh_harness = Harness(scenario("s", step)), Harness(scenario("s", step))
    answers = [await fast_harness.ask_fast(call) for _ in range(6)]
    assert [answer.way for answer in answers] == ["short path", *["template"] * 5]
    expected = [await encode_anew(fresh_harness, call) for _ in range(6)]
    assert list(map(comparable, answers)) == list(map(comparable, expected))
    for name, state in fast_harness.state._states.items():
        assert state.responses == fresh_harness.state._states[name].responses


async def test_another_request_of_the_same_length_has_its_own_answer() -> None:
    harness, first, second = (
        Harness(scenario("s", TEXT_STEP)),
        responses("Hello"),
        responses("Jello"),
    )
    for _ in range(5):
        await harness.ask_fast(first)
        body = (await harness.ask_fast(second)).body
        response_id = json.loads(body)["id"]
        session = head_of(first).session
        stored_response = await harness.state.recall_response(session, response_id)
        assert stored_response is not None
        assert b"Jello" in stored_response
        assert b"Hello" not in stored_response


async def test_template_answer_can_be_continued() -> None:
    harness = Harness(scenario("s", TEXT_STEP))
    for _ in range(5):
        answer = await harness.ask_fast(responses("Hello"))
        response_id = json.loads(answer.body)["id"]
        continued = await harness.ask_fast(responses("More", previous_response_id=response_id))
        assert continued.reply.status == 200
    assert answer.way == "template"


async def test_response_in_a_conversation_is_encoded_each_time() -> None:
    harness = Harness(scenario("s", TEXT_STEP))
    response_id = json.loads((await harness.ask_fast(responses("Hello"))).body)["id"]
    next_call = responses("More", previous_response_id=response_id)
    assert [(await harness.ask_fast(next_call)).way for _ in range(6)] == ["pipeline"] * 6


async def test_response_that_transforms_an_id_is_encoded_each_time() -> None:
    step = scenario("s", REASONING_STEP)
    fast_harness, fresh_harness = Harness(step), Harness(step)
    call = responses("Hello", include=["reasoning.encrypted_content"])
    answers = [await fast_harness.ask_fast(call) for _ in range(6)]
    assert [answer.way for answer in answers] == ["short path", *["pipeline"] * 5]
    expected = [await encode_anew(fresh_harness, call) for _ in range(6)]
    assert list(map(comparable, answers)) == list(map(comparable, expected))
