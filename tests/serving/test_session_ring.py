"""A session that is evicted during a request: its answer is completed, and the next request of that
name starts a new session."""

import json

from scenarios_app.wire.base import Call
from tests.serving.pipelines import Harness, chat, scenario, text_step

DOCUMENT = scenario("s", {"produce": {"text": "one two three"}}, text_step("Again."))


def session_call(session: str, **fields: object) -> Call:
    return chat(headers={"x-mockllm-session": session}, **fields)


async def fetch_text(harness: Harness, session: str) -> str:
    _, _, body = await harness.ask(session_call(session))
    return str(json.loads(body)["choices"][0]["message"]["content"])


async def test_stream_of_an_evicted_session_is_completed() -> None:
    harness = Harness(DOCUMENT)
    harness.state.max_sessions = 1
    whole_answer = await harness.ask(session_call("a", stream=True))
    await harness.state.reset(None)
    answer = await harness.pipeline.answer(session_call("a", stream=True))
    pieces = answer.pieces()
    first = await anext(pieces)
    assert await fetch_text(harness, "b") == "one two three"
    assert await harness.state.sessions() == ("b",)
    rest = b"".join([piece async for piece in pieces])
    assert first + rest == whole_answer[2]


async def test_step_is_chosen_for_a_session_evicted_meanwhile() -> None:
    """The session is evicted between its arrival and the consumption of the step."""
    harness = Harness(DOCUMENT)
    harness.state.max_sessions = 1
    state, consume = harness.state, harness.state.consume

    async def evict_then_consume(session: str, *args: object) -> bool:
        if session == "a":
            await state.arrive("b")
        return await consume(session, *args)

    state.consume = evict_then_consume
    assert await fetch_text(harness, "a") == "one two three"
    assert (await state.sessions(), state.evicted_count) == (("a",), 2)
    assert await fetch_text(harness, "a") == "Again."


async def test_stored_responses_of_an_evicted_session_are_unknown() -> None:
    harness = Harness(scenario("s", text_step("Hi.")))
    harness.state.max_sessions = 1
    headers = {"authorization": "Bearer k", "x-mockllm-session": "a"}
    create_call = Call(
        "POST", "/v1/responses", {}, headers, b'{"model": "gpt-4o", "input": "Hello"}'
    )
    status, _, body = await harness.ask(create_call)
    fetch_call = Call("GET", f"/v1/responses/{json.loads(body)['id']}", {}, headers, b"")
    assert (status, (await harness.ask(fetch_call))[0]) == (200, 200)
    await harness.ask(session_call("b"))
    assert (await harness.ask(fetch_call))[0] == 404
