"""Explaining a call: the same choice and the same bytes, with nothing moved."""

import json
from typing import Any

import pytest

from scenarios_app.engine.state import key_session, put_scenario
from scenarios_app.serving.explain import Explanation, StateSnapshot, explain
from scenarios_app.wire.base import Call
from tests.serving.pipelines import KEY, Documents, Playing, chat, says, scenario

SESSION = {"x-mockllm-session": "s"}


async def explained(playing: Playing, call: Call, **keys: int) -> Explanation:
    return await playing.explain(call, **keys)


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
    assert first.reply.status == 500 and first.decision and first.decision.kind == "failure"
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


def kept_from(explanation: Explanation) -> dict[str, list[tuple[str, str]]]:
    """Of each step that does not answer, the conditions that do not hold, with what they got."""
    return {
        f"{step.scenario}/{step.step}": [(c.field, c.actual) for c in step.conditions if not c.ok]
        for step in explanation.steps
        if not step.wins
    }


RIVALS = [
    scenario("urgent", says("used", consume=True), says("win"), says("third"), priority=5),
    scenario("common", says("x", match={"messages": [{"contains": "Hello"}]})),
    scenario("vague", says("x"), priority=5),
    scenario("openai", says("x", match={"provider": "openai"}), priority=-5),
]


async def test_explain_says_why_a_matching_step_does_not_answer() -> None:
    playing = Playing(*RIVALS)
    await playing.ask(chat(headers=SESSION))
    explanation = await explained(playing, chat(headers=SESSION))
    assert kept_from(explanation) == {
        "urgent/1": [("consume", "served")],
        "urgent/3": [("order", "step “2” is that step")],
        "common/1": [("priority", "step “2” of “urgent” of priority 5")],
        "vague/1": [("name", "step “2” of “urgent”: its name comes first")],
        "openai/1": [("priority", "step “2” of “urgent” of priority 5")],
    }


async def test_a_more_particular_offer_is_told() -> None:
    playing = Playing(
        scenario("a", says("x"), says("y", match={"model": "gpt-4o"})),
        scenario("b", says("x", match={"provider": "openai"})),
    )
    assert kept_from(await explained(playing, chat())) == {
        "a/1": [("particularity", "step “1” of “b”, which holds nothing but provider or path")],
        "a/2": [("order", "step “1” is that step")],
    }


BY_ID = scenario("by id", {"turn": 1, "produce": {"text": "x"}}, select="first_user_message")
BLOCK = '<|instruction_start|>{"messages": [{"text": "x"}]}<|instruction_end|>'
EMBEDDINGS = Call(
    "POST",
    "/v1/embeddings",
    {},
    {"authorization": "Bearer k"},
    b'{"model": "text-embedding-3-small", "input": "x"}',
)


@pytest.mark.parametrize(
    ("call", "kept"),
    [
        (chat("by id"), {"match/1": [("select", "“by id”, asked for by id")]}),
        (
            chat(headers={"x-mockllm-scenario": "by%20id"}),
            {"match/1": [("select", "“by id”, asked for by id")]},
        ),
        (
            chat(model="test-llm"),
            {
                "by id/1": [("select", "Hello")],
                "match/1": [("select", "“Hello”, asked for by id")],
            },
        ),
        (chat(headers={"x-mockllm-scenario": "match"}), {"by id/1": [("select", "match")]}),
        (
            chat(headers={"x-mockllm-scenario": "none"}),
            {"by id/1": [("select", "none")], "match/1": [("select", "none")]},
        ),
        (
            chat(BLOCK),
            {
                name: [("select", "an instruction block, which answers before any scenario")]
                for name in ("by id/1", "match/1")
            },
        ),
        (
            EMBEDDINGS,
            {
                name: [("match.path", "no path in this step's match")]
                for name in ("by id/1", "match/1")
            },
        ),
        (
            Call("GET", "/v1/chat/completions", {}, {"authorization": "Bearer k"}, b""),
            {
                name: [("select", "one whose answer is always computed")]
                for name in ("by id/1", "match/1")
            },
        ),
    ],
)
async def test_the_way_that_a_request_takes_is_told(
    call: Call, kept: dict[str, list[tuple[str, str]]]
) -> None:
    explanation = await explained(Playing(BY_ID, scenario("match", says("x"))), call)
    assert kept_from(explanation) == kept
    for step in explanation.steps:
        assert step.wins is all(condition.ok for condition in step.conditions)


async def test_a_step_that_names_a_helpers_path_answers_it() -> None:
    named = says("x", match={"path": "/v1/embeddings"}, produce={"raw": {"body": "{}"}})
    playing = Playing(scenario("a", says("x"), named, named), scenario("b", named))
    explanation = await explained(playing, EMBEDDINGS)
    assert told(explanation) == {"a/1": False, "a/2": True, "a/3": False, "b/1": False}
    assert kept_from(explanation)["a/3"] == [("order", "step “2” is that step")]
    assert [field for field, _ in kept_from(explanation)["b/1"]] == ["name"]


@pytest.mark.parametrize("produce", [{"text": "Hi"}, {"generate": {"kind": "auto"}}])
async def test_step_whose_answer_its_endpoint_cannot_send_is_named(produce: Any) -> None:
    step = says("x", name="vectors", match={"path": "/v1/embeddings"}, produce=produce)
    playing = Playing(scenario("s", step))
    explanation = await explained(playing, EMBEDDINGS)
    status, _, body = await playing.ask(EMBEDDINGS)
    assert (status, body) == (500, explanation.reply.body)
    assert json.loads(body)["error"]["message"] == (
        "Step “vectors” of scenario “s” answers this request with a message, which POST "
        "/v1/embeddings cannot send. Give the step a `raw` answer."
    )
    assert told(explanation) == {"s/vectors": True}


async def test_failures_that_are_counted_stay_so_under_another_name_of_the_step() -> None:
    failures = {"times": 1, "fault": {"kind": "rate_limit"}}
    playing = Playing(scenario("s", says("x", name="one", failures=failures)))
    assert (await playing.ask(chat()))[0] == 429
    renamed = Documents(scenario("s", says("x", name="two", failures=failures)))
    state = StateSnapshot(await playing.state.read(key_session(KEY)), (0, {}), {})
    explanation = await explain(chat(), catalog=renamed, state=state, options=playing.options)
    assert explanation.reply.status == 200


async def test_a_refused_call_gets_its_refusal() -> None:
    playing = Playing(scenario("s", says("Hi!")))
    explanation = await explained(playing, Call("POST", "/v1/chat/completions", {}, {}, b"{}"))
    assert explanation.reply.status == 401
    assert (explanation.decision, explanation.whole, explanation.steps) == (None, None, ())


async def test_a_computed_answer_is_explained_too() -> None:
    call = Call("GET", "/v1/models", {}, {"authorization": "Bearer k"}, b"")
    explanation = await explained(Playing(), call)
    assert json.loads(explanation.reply.body)["object"] == "list"
    assert explanation.decision is None


async def test_only_so_many_steps_are_explained() -> None:
    playing = Playing(scenario("s", *[says(str(i)) for i in range(5)]))
    assert len((await explained(playing, chat(), most=3)).steps) == 3


async def test_a_sessions_own_scenarios_are_explained() -> None:
    playing = Playing()
    await put_scenario(playing.state, "s", "own", scenario("own", says("mine")))
    assert told(await explained(playing, chat(headers=SESSION))) == {"own/1": True}
