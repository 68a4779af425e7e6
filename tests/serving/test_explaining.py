"""Explaining a call gives the same choice and bytes and changes no state."""

import json
from typing import Any

import pytest

from scenarios_app.engine.memory import MemoryState
from scenarios_app.engine.state import key_session, put_scenario
from scenarios_app.serving.explain import Explanation, explain
from scenarios_app.wire.base import Call
from tests.serving.pipelines import KEY, DocumentCatalog, Harness, chat, scenario, text_step

SESSION = {"x-mockllm-session": "s"}


async def explain_call(harness: Harness, call: Call, **keys: int) -> Explanation:
    return await harness.explain(call, **keys)


def winning_steps(explanation: Explanation) -> dict[str, bool]:
    return {f"{step.scenario}/{step.step}": step.wins for step in explanation.steps}


async def test_explained_bytes_are_those_of_the_next_answer() -> None:
    harness = Harness(scenario("s", text_step("Hi {{ request.model }}!")))
    await harness.ask(chat(headers=SESSION))
    for stream in (False, True):
        call = chat(headers=SESSION, stream=stream)
        explanation = await explain_call(harness, call)
        assert explanation.streamed and explanation.whole
        expected_form = explanation.streamed if stream else explanation.whole
        _, _, body = await harness.ask(call)
        assert body == explanation.reply.body == expected_form.body


async def test_explaining_changes_no_state() -> None:
    step = {
        "produce": {"text": "once"},
        "failures": {"times": 1},
        "side_effects": {"counter": "c", "assert": [{"model": "no"}]},
    }
    harness = Harness(scenario("s", step))
    before = await harness.state.read("s")
    first = await explain_call(harness, chat(headers=SESSION))
    assert first.reply.status == 500 and first.decision and first.decision.kind == "failure"
    await explain_call(harness, chat(headers=SESSION, temperature=1))
    assert await harness.state.read("s") == before
    assert harness.journal == []


async def test_step_succeeds_after_its_counted_failures() -> None:
    harness = Harness(scenario("s", text_step("fine", failures={"times": 1})))
    await harness.ask(chat(headers=SESSION))
    assert (await explain_call(harness, chat(headers=SESSION))).reply.status == 200


async def test_served_step_does_not_win_again_and_has_the_failed_condition() -> None:
    harness = Harness(scenario("s", {"produce": {"text": "once"}}, text_step("again")))
    assert winning_steps(await explain_call(harness, chat(headers=SESSION))) == {
        "s/1": True,
        "s/2": False,
    }
    await harness.ask(chat(headers=SESSION))
    explanation = await explain_call(harness, chat(headers=SESSION))
    assert winning_steps(explanation) == {"s/1": False, "s/2": True}
    (consume,) = explanation.steps[0].conditions
    assert (consume.field, consume.actual, consume.ok) == ("consume", "served", False)


async def test_each_condition_has_its_expected_and_actual_value() -> None:
    match = {"model": "other", "messages": [{"contains": "Hello"}]}
    harness = Harness(
        scenario("near", text_step("no", match=match)), scenario("far", text_step("yes"))
    )
    explanation = await explain_call(harness, chat(headers=SESSION))
    near = next(step for step in explanation.steps if step.scenario == "near")
    fields = {condition.field: condition.ok for condition in near.conditions}
    assert fields == {"match.model": False, "match.messages[0]": True}
    assert near.conditions[0].actual == '"gpt-4o"'


async def test_step_chosen_by_id_has_a_condition_on_the_name() -> None:
    step = {"turn": 1, "produce": {"text": "first"}}
    harness = Harness(scenario("by id", step, select="first_user_message"))
    explanation = await explain_call(harness, chat("Hello", headers=SESSION))
    select, turn = explanation.steps[0].conditions
    assert (select.expected, select.actual, select.ok) == ("by id", "Hello", False)
    assert (turn.field, turn.ok) == ("turn", True)
    assert explanation.reply.status == 404
    assert winning_steps(await explain_call(harness, chat("by id", headers=SESSION))) == {
        "by id/1": True
    }


def failed_conditions_of(explanation: Explanation) -> dict[str, list[tuple[str, str]]]:
    """Return the failed conditions of each other step with their actual values."""
    return {
        f"{step.scenario}/{step.step}": [(c.field, c.actual) for c in step.conditions if not c.ok]
        for step in explanation.steps
        if not step.wins
    }


RIVALS = [
    scenario(
        "urgent", text_step("used", consume=True), text_step("win"), text_step("third"), priority=5
    ),
    scenario("common", text_step("x", match={"messages": [{"contains": "Hello"}]})),
    scenario("vague", text_step("x"), priority=5),
    scenario("openai", text_step("x", match={"provider": "openai"}), priority=-5),
]


async def test_explanation_shows_why_a_matching_step_does_not_answer() -> None:
    harness = Harness(*RIVALS)
    await harness.ask(chat(headers=SESSION))
    explanation = await explain_call(harness, chat(headers=SESSION))
    assert failed_conditions_of(explanation) == {
        "urgent/1": [("consume", "served")],
        "urgent/3": [("order", "step “2” is that step")],
        "common/1": [("priority", "step “2” of “urgent” of priority 5")],
        "vague/1": [("name", "step “2” of “urgent”: its name comes first")],
        "openai/1": [("priority", "step “2” of “urgent” of priority 5")],
    }


async def test_explanation_shows_a_more_particular_step() -> None:
    harness = Harness(
        scenario("a", text_step("x"), text_step("y", match={"model": "gpt-4o"})),
        scenario("b", text_step("x", match={"provider": "openai"})),
    )
    assert failed_conditions_of(await explain_call(harness, chat())) == {
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
    ("call", "failed_conditions"),
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
async def test_explanation_shows_why_other_steps_are_skipped(
    call: Call, failed_conditions: dict[str, list[tuple[str, str]]]
) -> None:
    explanation = await explain_call(Harness(BY_ID, scenario("match", text_step("x"))), call)
    assert failed_conditions_of(explanation) == failed_conditions
    for step in explanation.steps:
        assert step.wins is all(condition.ok for condition in step.conditions)


async def test_a_step_that_names_a_helpers_path_answers_it() -> None:
    embeddings_step = text_step(
        "x", match={"path": "/v1/embeddings"}, produce={"raw": {"body": "{}"}}
    )
    harness = Harness(
        scenario("a", text_step("x"), embeddings_step, embeddings_step),
        scenario("b", embeddings_step),
    )
    explanation = await explain_call(harness, EMBEDDINGS)
    assert winning_steps(explanation) == {"a/1": False, "a/2": True, "a/3": False, "b/1": False}
    assert failed_conditions_of(explanation)["a/3"] == [("order", "step “2” is that step")]
    assert [field for field, _ in failed_conditions_of(explanation)["b/1"]] == ["name"]


@pytest.mark.parametrize("produce", [{"text": "Hi"}, {"generate": {"kind": "auto"}}])
async def test_step_whose_answer_its_endpoint_cannot_send_is_named(produce: Any) -> None:
    step = text_step("x", name="vectors", match={"path": "/v1/embeddings"}, produce=produce)
    harness = Harness(scenario("s", step))
    explanation = await explain_call(harness, EMBEDDINGS)
    status, _, body = await harness.ask(EMBEDDINGS)
    assert (status, body) == (500, explanation.reply.body)
    assert json.loads(body)["error"]["message"] == (
        "Step “vectors” of scenario “s” answers this request with a message, which POST "
        "/v1/embeddings cannot send. Give the step a `raw` answer."
    )
    assert winning_steps(explanation) == {"s/vectors": True}


async def test_counted_failures_remain_after_the_step_is_renamed() -> None:
    failures = {"times": 1, "fault": {"kind": "rate_limit"}}
    harness = Harness(scenario("s", text_step("x", name="one", failures=failures)))
    assert (await harness.ask(chat()))[0] == 429
    renamed_catalog = DocumentCatalog(scenario("s", text_step("x", name="two", failures=failures)))
    state = MemoryState.of_session(await harness.state.read(key_session(KEY)), (0, {}), {})
    explanation = await explain(
        chat(), catalog=renamed_catalog, state=state, options=harness.options
    )
    assert explanation.reply.status == 200


async def test_refused_call_is_explained_by_its_error() -> None:
    harness = Harness(scenario("s", text_step("Hi!")))
    explanation = await explain_call(harness, Call("POST", "/v1/chat/completions", {}, {}, b"{}"))
    assert explanation.reply.status == 401
    assert (explanation.decision, explanation.whole, explanation.steps) == (None, None, ())


async def test_a_computed_answer_is_explained_too() -> None:
    call = Call("GET", "/v1/models", {}, {"authorization": "Bearer k"}, b"")
    explanation = await explain_call(Harness(), call)
    assert json.loads(explanation.reply.body)["object"] == "list"
    assert explanation.decision is None


async def test_number_of_explained_steps_is_limited() -> None:
    harness = Harness(scenario("s", *[text_step(str(i)) for i in range(5)]))
    assert len((await explain_call(harness, chat(), max_steps=3)).steps) == 3


async def test_a_sessions_own_scenarios_are_explained() -> None:
    harness = Harness()
    await put_scenario(harness.state, "s", "own", scenario("own", text_step("mine")))
    assert winning_steps(await explain_call(harness, chat(headers=SESSION))) == {"own/1": True}
