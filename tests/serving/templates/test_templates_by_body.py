"""Answers that say more of their request than its form: prepared for the bytes that asked for them,
with what is stored of them."""

import json
from typing import Any

import pytest

from scenarios_app.serving.exchange import RequestHead, head_of
from scenarios_app.serving.reply import RenderedFrames
from scenarios_app.wire.base import Call
from tests.serving.pipelines import Playing, chat, responses, says, scenario

SAYS = says("Hi there! " * 9)
THINKS = says("Hi there!")
THINKS["produce"]["reasoning"] = "Hm."
CALLS = {
    "consume": False,
    "produce": {"tool_calls": [{"name": "get_weather", "arguments": {"city": "Paris"}}] * 2},
}


def generate(text: str, **fields: Any) -> Call:
    body = {"model": "llama3.2", "prompt": text, **fields}
    return Call("POST", "/api/generate", {}, chat().headers, json.dumps(body).encode())


async def asked(playing: Playing, call: Call, head: RequestHead | None) -> tuple[Any, bytes, type]:
    """What an answer promises, its bytes, and how they were made."""
    answer = await playing.pipeline.answer(call, head)
    reply = answer.reply
    headers = [header for header in reply.headers if header[0] != "x-mockllm-request"]
    body = b"".join([piece async for piece in answer.pieces()])
    return (reply.status, headers, reply.stored), body, type(reply.frames)


CALLED = [
    responses("Hello"),
    responses("Hello", stream=True),
    responses("Hello", stream=True, metadata={"a": "b"}, instructions="Be brief."),
    responses("Hello", store=False),
    generate("Hello", stream=False),
    generate("Hello"),
]


@pytest.mark.parametrize("step", [SAYS, CALLS], ids=["says", "calls"])
@pytest.mark.parametrize("call", CALLED, ids=range(len(CALLED)))
async def test_answers_are_those_that_are_encoded_each_time(
    step: dict[str, Any], call: Call
) -> None:
    known, fresh = Playing(scenario("s", step)), Playing(scenario("s", step))
    head, kinds = head_of(call), []
    for _ in range(6):
        *got, kind = await asked(known, call, head)
        *wanted, _ = await asked(fresh, call, None)
        assert got == wanted
        kinds.append(kind)
    assert kinds == [tuple, tuple, *[RenderedFrames] * 4]
    for name, state in known.state._states.items():
        assert state.responses == fresh.state._states[name].responses


async def test_another_request_of_the_same_length_has_its_own_answer() -> None:
    playing, first, second = Playing(scenario("s", SAYS)), responses("Hello"), responses("Jello")
    head = head_of(first)
    for _ in range(5):
        await asked(playing, first, head)
        _, body, _ = await asked(playing, second, head)
        name = json.loads(body)["id"]
        stored = await playing.state.recall_response(head.session, name)
        assert stored is not None
        assert b"Jello" in stored
        assert b"Hello" not in stored


async def test_a_prepared_answer_can_be_gone_on_with() -> None:
    playing, call = Playing(scenario("s", SAYS)), responses("Hello")
    head = head_of(call)
    for _ in range(5):
        _, body, kind = await asked(playing, call, head)
        again = responses("More", previous_response_id=json.loads(body)["id"])
        status, _, _ = (await asked(playing, again, None))[0]
        assert status == 200
    assert kind is RenderedFrames


async def test_response_in_a_conversation_is_encoded_each_time() -> None:
    playing = Playing(scenario("s", SAYS))
    _, body, _ = await asked(playing, responses("Hello"), None)
    again = responses("More", previous_response_id=json.loads(body)["id"])
    head = head_of(again)
    assert [(await asked(playing, again, head))[2] for _ in range(6)] == [tuple] * 6


async def test_response_that_transforms_an_id_is_encoded_each_time() -> None:
    known, fresh = Playing(scenario("s", THINKS)), Playing(scenario("s", THINKS))
    call = responses("Hello", include=["reasoning.encrypted_content"])
    head = head_of(call)
    for _ in range(6):
        *got, kind = await asked(known, call, head)
        *wanted, _ = await asked(fresh, call, None)
        assert got == wanted
        assert kind is tuple
