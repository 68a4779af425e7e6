"""Templates of answers that depend on the request's body, and the stored responses they make."""

import json
from typing import Any

import pytest

from scenarios_app.serving.exchange import RequestHead, head_of
from scenarios_app.serving.reply import RenderedFrames
from scenarios_app.wire.base import Call
from tests.serving.pipelines import Harness, chat, responses, scenario, text_step

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


async def play_answer(
    harness: Harness, call: Call, head: RequestHead | None
) -> tuple[Any, bytes, type]:
    """Return status, headers and stored response of an answer, its bytes and the type of its
    frames."""
    answer = await harness.pipeline.answer(call, head)
    reply = answer.reply
    headers = [header for header in reply.headers if header[0] != "x-mockllm-request"]
    body = b"".join([piece async for piece in answer.pieces()])
    return (reply.status, headers, reply.stored), body, type(reply.frames)


SAMPLE_CALLS = [
    responses("Hello"),
    responses("Hello", stream=True),
    responses("Hello", stream=True, metadata={"a": "b"}, instructions="Be brief."),
    responses("Hello", store=False),
    generate("Hello", stream=False),
    generate("Hello"),
]


@pytest.mark.parametrize("step", [TEXT_STEP, TOOL_STEP], ids=["says", "calls"])
@pytest.mark.parametrize("call", SAMPLE_CALLS, ids=range(len(SAMPLE_CALLS)))
async def test_template_answers_equal_newly_encoded_ones(step: dict[str, Any], call: Call) -> None:
    cached_harness, fresh_harness = Harness(scenario("s", step)), Harness(scenario("s", step))
    head, kinds = head_of(call), []
    for _ in range(6):
        *actual, kind = await play_answer(cached_harness, call, head)
        *expected, _ = await play_answer(fresh_harness, call, None)
        assert actual == expected
        kinds.append(kind)
    assert kinds == [tuple, tuple, *[RenderedFrames] * 4]
    for name, state in cached_harness.state._states.items():
        assert state.responses == fresh_harness.state._states[name].responses


async def test_another_request_of_the_same_length_has_its_own_answer() -> None:
    harness, first, second = (
        Harness(scenario("s", TEXT_STEP)),
        responses("Hello"),
        responses("Jello"),
    )
    head = head_of(first)
    for _ in range(5):
        await play_answer(harness, first, head)
        _, body, _ = await play_answer(harness, second, head)
        response_id = json.loads(body)["id"]
        stored_response = await harness.state.recall_response(head.session, response_id)
        assert stored_response is not None
        assert b"Jello" in stored_response
        assert b"Hello" not in stored_response


async def test_template_answer_can_be_continued() -> None:
    harness, call = Harness(scenario("s", TEXT_STEP)), responses("Hello")
    head = head_of(call)
    for _ in range(5):
        _, body, kind = await play_answer(harness, call, head)
        next_call = responses("More", previous_response_id=json.loads(body)["id"])
        status, _, _ = (await play_answer(harness, next_call, None))[0]
        assert status == 200
    assert kind is RenderedFrames


async def test_response_in_a_conversation_is_encoded_each_time() -> None:
    harness = Harness(scenario("s", TEXT_STEP))
    _, body, _ = await play_answer(harness, responses("Hello"), None)
    next_call = responses("More", previous_response_id=json.loads(body)["id"])
    head = head_of(next_call)
    assert [(await play_answer(harness, next_call, head))[2] for _ in range(6)] == [tuple] * 6


async def test_response_that_transforms_an_id_is_encoded_each_time() -> None:
    cached_harness, fresh_harness = (
        Harness(scenario("s", REASONING_STEP)),
        Harness(scenario("s", REASONING_STEP)),
    )
    call = responses("Hello", include=["reasoning.encrypted_content"])
    head = head_of(call)
    for _ in range(6):
        *actual, kind = await play_answer(cached_harness, call, head)
        *expected, _ = await play_answer(fresh_harness, call, None)
        assert actual == expected
        assert kind is tuple
