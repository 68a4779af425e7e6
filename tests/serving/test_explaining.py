"""Explaining a call: the same choice and the same bytes, with nothing moved."""

import json

from scenarios_app.serving.explaining import Explanation, explain
from scenarios_app.wire.base import Call
from tests.serving.pipelines import Playing, chat, says, scenario

SESSION = {"x-mockllm-session": "s"}


async def explained(playing: Playing, call: Call, **keys: int) -> Explanation:
    return await explain(
        call, catalog=playing.catalog, state=playing.state, options=playing.options, **keys
    )


def told(explanation: Explanation) -> dict[str, bool]:
    return {f"{step.scenario}/{step.step}": step.wins for step in explanation.steps}


async def test_the_bytes_are_those_that_the_call_gets_next() -> None:
    playing = Playing(scenario("s", says("Hi {{ request.model }}!")))
    await playing.ask(chat(headers=SESSION))
    for stream in (False, True):
        call = chat(headers=SESSION, stream=stream)
        explanation = await explained(playing, call)
        assert explanation.streamed and explanation.whole
        either = explanation.streamed if stream else explanation.whole
        _, _, body = await playing.ask(call)
        assert body == explanation.reply.body == either.body


async def test_nothing_moves() -> None:
    step = {
        "produce": {"text": "once"},
        "failures": {"times": 1},
        "side_effects": {"counter": "c", "assert": [{"model": "no"}]},
    }
    playing = Playing(scenario("s", step))
    before = await playing.state.read("s")
    first = await explained(playing, chat(headers=SESSION))
    assert first.reply.status == 500 and first.chosen and first.chosen.kind == "failure"
    await explained(playing, chat(headers=SESSION, temperature=1))
    assert await playing.state.read("s") == before
    assert playing.journal == []


async def test_failures_are_over_as_soon_as_they_were_counted() -> None:
    playing = Playing(scenario("s", says("fine", failures={"times": 1})))
    await playing.ask(chat(headers=SESSION))
    assert (await explained(playing, chat(headers=SESSION))).reply.status == 200


async def test_a_served_step_does_not_win_again_and_says_so() -> None:
    playing = Playing(scenario("s", {"produce": {"text": "once"}}, says("again")))
    assert told(await explained(playing, chat(headers=SESSION))) == {"s/1": True, "s/2": False}
    await playing.ask(chat(headers=SESSION))
    explanation = await explained(playing, chat(headers=SESSION))
    assert told(explanation) == {"s/1": False, "s/2": True}
    (consume,) = explanation.steps[0].conditions
    assert (consume.field, consume.actual, consume.ok) == ("consume", "served", False)


async def test_every_condition_is_told_with_what_it_wanted_and_got() -> None:
    match = {"model": "other", "messages": [{"contains": "Hello"}]}
    playing = Playing(scenario("near", says("no", match=match)), scenario("far", says("yes")))
    explanation = await explained(playing, chat(headers=SESSION))
    near = next(step for step in explanation.steps if step.scenario == "near")
    fields = {condition.field: condition.ok for condition in near.conditions}
    assert fields == {"match.model": False, "match.messages[0]": True}
    assert near.conditions[0].actual == '"gpt-4o"'


async def test_a_step_chosen_by_id_tells_of_the_name() -> None:
    step = {"turn": 1, "produce": {"text": "first"}}
    playing = Playing(scenario("by id", step, select="first_user_message"))
    explanation = await explained(playing, chat("Hello", headers=SESSION))
    select, turn = explanation.steps[0].conditions
    assert (select.expected, select.actual, select.ok) == ("by id", "Hello", False)
    assert (turn.field, turn.ok) == ("turn", True)
    assert explanation.reply.status == 404
    assert told(await explained(playing, chat("by id", headers=SESSION))) == {"by id/1": True}


async def test_a_refused_call_gets_its_refusal() -> None:
    playing = Playing(scenario("s", says("Hi!")))
    explanation = await explained(playing, Call("POST", "/v1/chat/completions", {}, {}, b"{}"))
    assert explanation.reply.status == 401
    assert (explanation.chosen, explanation.whole, explanation.steps) == (None, None, ())


async def test_a_computed_answer_is_explained_too() -> None:
    call = Call("GET", "/v1/models", {}, {"authorization": "Bearer k"}, b"")
    explanation = await explained(Playing(), call)
    assert json.loads(explanation.reply.body)["object"] == "list"
    assert explanation.chosen is None


async def test_only_so_many_steps_are_explained() -> None:
    playing = Playing(scenario("s", *[says(str(i)) for i in range(5)]))
    assert len((await explained(playing, chat(), most=3)).steps) == 3


async def test_a_sessions_own_scenarios_are_explained() -> None:
    playing = Playing()
    await playing.state.put_scenario("s", "own", scenario("own", says("mine")))
    assert told(await explained(playing, chat(headers=SESSION))) == {"own/1": True}
