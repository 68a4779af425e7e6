"""A session that has to leave in the middle of a request breaks nothing: the answer ends as it
would have, and the next request of that name is the first of a session."""

import json

from scenarios_app.wire.base import Call
from tests.serving.pipelines import Playing, chat, says, scenario

ONCE = scenario("s", {"produce": {"text": "one two three"}}, says("Again."))


def asking(session: str, **fields: object) -> Call:
    return chat(headers={"x-mockllm-session": session}, **fields)


async def said(playing: Playing, session: str) -> str:
    _, _, body = await playing.ask(asking(session))
    return str(json.loads(body)["choices"][0]["message"]["content"])


async def test_a_stream_goes_on_whose_session_leaves() -> None:
    playing = Playing(ONCE)
    playing.state.most = 1
    whole = await playing.ask(asking("a", stream=True))
    await playing.state.reset(None)
    answer = await playing.pipeline.answer(asking("a", stream=True))
    pieces = answer.pieces()
    first = await anext(pieces)
    assert await said(playing, "b") == "one two three"
    assert await playing.state.sessions() == ("b",)
    rest = b"".join([piece async for piece in pieces])
    assert first + rest == whole[2]


async def test_a_step_is_chosen_whose_session_leaves_meanwhile() -> None:
    """It has its number, and leaves before it consumes the step."""
    playing = Playing(ONCE)
    playing.state.most = 1
    state, consume = playing.state, playing.state.consume

    async def later(session: str, *args: object) -> bool:
        if session == "a":
            await state.arrive("b")
        return await consume(session, *args)  # type: ignore[arg-type]

    state.consume = later  # type: ignore[method-assign]
    assert await said(playing, "a") == "one two three"
    assert (await state.sessions(), state.evicted_count) == (("a",), 2)
    assert await said(playing, "a") == "Again."


async def test_the_answers_that_it_had_kept_are_unknown() -> None:
    playing = Playing(scenario("s", says("Hi.")))
    playing.state.most = 1
    headers = {"authorization": "Bearer k", "x-mockllm-session": "a"}
    made = Call("POST", "/v1/responses", {}, headers, b'{"model": "gpt-4o", "input": "Hello"}')
    status, _, body = await playing.ask(made)
    kept = Call("GET", f"/v1/responses/{json.loads(body)['id']}", {}, headers, b"")
    assert (status, (await playing.ask(kept))[0]) == (200, 200)
    await playing.ask(asking("b"))
    assert (await playing.ask(kept))[0] == 404
