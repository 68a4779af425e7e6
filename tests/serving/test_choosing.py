"""Decisions for requests, and the received call that echoes are made from."""

import json
from typing import Any

import pytest

from scenarios_app.engine.matching.index import build_index
from scenarios_app.engine.matching.select import Decision
from scenarios_app.engine.memory import MemoryState
from scenarios_app.engine.parts import TextPart
from scenarios_app.engine.scenario import (
    Expect,
    Failures,
    GeneratedAnswer,
    Produce,
    Scenario,
)
from scenarios_app.engine.state import AttemptRef, StepRef
from scenarios_app.serving.choose import StepSelection, choose_in_band, to_received, with_cancel
from scenarios_app.serving.options import Options
from scenarios_app.wire.base import Call
from scenarios_app.wire.errors import WireError
from tests.engine.match_builders import chat_request, scenario, step, user_text_match
from tests.serving.modes import with_marks

STRICT = Expect(temperature=0.2)
BY_ID: Any = {"select": "first_user_message"}
CHECKOUT = scenario("checkout", *(step(key=str(n), turn=n, consume=False) for n in (2, 3)), **BY_ID)


async def choose_step(
    *scenarios: Scenario, state: MemoryState | None = None, text: str = "hi", **fields: Any
) -> Decision:
    index = build_index(scenarios)
    selection = StepSelection(
        index, chat_request(text, **fields), "a", frozenset(), state or MemoryState()
    )
    return await selection.choose()


def near_steps(decision: Decision) -> list[str]:
    return [f"{miss.scenario.name}/{miss.step.key}" for miss in decision.near_misses]


async def test_step_without_failures_counts_no_attempt_and_returns_its_groups() -> None:
    match = user_text_match(regex="(?P<city>Paris|Rome)")
    decision = await choose_step(scenario("s", step(match)), text="in Rome")
    assert (decision.kind, decision.attempt, decision.groups) == ("step", 0, {"city": "Rome"})


async def test_failing_attempt_returns_the_groups_of_its_step() -> None:
    match = user_text_match(regex="(?P<city>Paris|Rome)")
    decision = await choose_step(
        scenario("s", step(match, failures=Failures(times=1))), text="in Rome"
    )
    assert (decision.kind, decision.way, decision.attempt) == ("failure", "match", 1)
    assert decision.groups == {"city": "Rome"}


async def test_a_scenario_that_a_header_names_answers_alone() -> None:
    own, other = scenario("own", step(key="own")), scenario("other", step(), priority=5)
    decision = await choose_step(own, other, headers={"x-mockllm-scenario": "own"})
    assert decision.scenario is own
    unmatched_scenario = scenario("own", step(user_text_match(equals="never"), key="own"))
    decision = await choose_step(unmatched_scenario, other, headers={"x-mockllm-scenario": "own"})
    assert (decision.kind, decision.way) == ("unmatched", "match")


def test_cancel_setting_applies_to_generated_answers() -> None:
    generated = Produce(GeneratedAnswer("lorem"), GeneratedAnswer("lorem"))
    decision = Decision("step", "match", scenario("s"), step(produce=generated))
    assert with_cancel(decision, Options(cancel_after_chunks=2)).cancel_after_chunks == 2
    assert with_cancel(decision, Options()) == decision
    for other in (decision._replace(kind="failure"), decision._replace(step=None)):
        assert with_cancel(other, Options(cancel_after_chunks=2)) == other


async def test_violation_has_its_way_and_the_failures_of_its_step() -> None:
    state = MemoryState()
    strict = step(expect=STRICT, failures=Failures(times=2))
    await state.count_failure("a", AttemptRef(StepRef("s", "k", "k"), "openai"), times=2)
    await state.count_failure("a", AttemptRef(StepRef("s", "k", "k"), "openai"), times=2)
    decision = await choose_step(scenario("s", strict), state=state)
    assert (decision.kind, decision.way, decision.attempt) == ("violation", "match", 2)
    assert len(decision.violations) == 1


async def test_a_violation_by_id_is_an_error_turn() -> None:
    strict = scenario("s", step(expect=STRICT, turn=1), **BY_ID)
    decision = await choose_step(strict, text="s")
    assert (decision.kind, decision.way, decision.attempt) == ("error_turn", "by_id", 0)
    assert (decision.text,) == decision.violations


async def test_missing_turn_has_the_existing_turns_as_near_misses() -> None:
    other = scenario("checkouts", step(turn=2), **BY_ID)
    decision = await choose_step(CHECKOUT, other, text="checkout")
    assert decision.kind == "fallback_step" and decision.violations == (decision.text,)
    assert near_steps(decision) == ["checkout/2", "checkout/3"]


async def test_unknown_id_has_similar_names_as_near_misses() -> None:
    decision = await choose_step(CHECKOUT, text="checkour", model="test-llm")
    assert decision.kind == "error_turn" and near_steps(decision) == ["checkout/2"]


@pytest.mark.parametrize("catch_all", [False, True])
async def test_scenario_named_by_header_has_only_its_own_near_misses(
    catch_all: bool,
) -> None:
    near_step = step(user_text_match(contains="hello"), key="near")
    catch_all_steps = [step(key="rest")] if catch_all else []
    named_scenario = scenario("one", near_step, *catch_all_steps, catch_all=catch_all)
    other_scenario = scenario("other", step(user_text_match(contains="hi!"), key="nearer"))
    decision = await choose_step(
        named_scenario, other_scenario, headers={"x-mockllm-scenario": "one"}
    )
    assert near_steps(decision) == ["one/near"]
    assert decision.fallback is catch_all
    assert "other/nearer" in near_steps(await choose_step(named_scenario, other_scenario))


@pytest.mark.parametrize(
    "strict",
    [
        scenario("s", step(key="0"), step(key="1", expect=STRICT)),
        scenario("s", step(key="0"), step(key="1"), system_prompt_must_include=("be brief",)),
    ],
)
async def test_step_expectations_are_checked_under_contention(
    strict: Scenario,
) -> None:
    state = MemoryState()
    await state.consume("a", StepRef("s", "0", "0"))
    assert (await choose_step(strict, state=state)).kind == "violation"
    assert [ref.key for ref in (await state.read("a")).consumed] == ["0"]


async def test_consumed_step_with_failures_is_followed_by_the_next_step() -> None:
    state = MemoryState()
    steps = step(key="0"), step(key="1"), step(key="2", failures=Failures(times=1)), step(key="3")
    for key in "012":
        await state.consume("a", StepRef("s", key, key))
    decision = await choose_step(scenario("s", *steps), state=state)
    assert decision.step is not None and decision.step.key == "3"


async def test_step_is_identified_by_scenario_and_key_not_by_label() -> None:
    state = MemoryState()
    await state.consume("a", StepRef("s", "k", "once named so"))
    await state.consume("a", StepRef("t", "k", "k"))
    failing_step = step(failures=Failures(times=1))
    assert (await choose_step(scenario("s", failing_step), state=state)).kind == "unmatched"
    assert (await choose_step(scenario("u", failing_step), state=state)).kind == "failure"
    other_step = step(key="l", failures=Failures(times=1))
    assert (await choose_step(scenario("s", other_step), state=state)).kind == "failure"


def call(**fields: Any) -> Call:
    defaults: dict[str, Any] = {"method": "POST", "path": "/v1/x", "query": {}, "headers": {}}
    return Call(**{**defaults, "body": b'{"a": 1}', **fields})


def test_received_call_has_url_headers_and_body() -> None:
    received = to_received(call(query={"a": "b c"}, raw_query="a=b%20c", headers={"x-a": "1"}))
    assert (received.url, received.headers, received.body) == (
        "/v1/x?a=b%20c",
        {"x-a": "1"},
        {"a": 1},
    )
    assert to_received(call()).url == "/v1/x"


def test_url_echo_of_a_block_is_the_url_of_its_call() -> None:
    request = chat_request(with_marks({"messages": [{"request_url_echo": {}}]}))
    decision = choose_in_band(call(raw_query="a=b"), request, Options(inband=True))
    assert decision is not None and decision.scripted is not None and decision.way == "in_band"
    (choice,) = decision.scripted.choices
    assert choice.parts == (TextPart("/v1/x?a=b"),)


def test_invalid_block_is_an_error_with_its_place() -> None:
    request = chat_request(with_marks({"messages": [{"text": 5}]}))
    with pytest.raises(WireError) as raised:
        choose_in_band(call(), request, Options(inband=True))
    error = raised.value.answer
    assert (error.status, error.param) == (400, "messages")


def test_received_call_masks_secrets_of_any_form() -> None:
    headers = {"authorization": "Bearer open sesame 1234", "x-note": "of open sesame 1234"}
    received = to_received(
        call(headers=headers, query={"key": "abracadabra"}, raw_query="key=abracadabra")
    )
    assert "sesame" not in f"{received.url}{json.dumps(dict(received.headers))}"
    assert "abracadabra" not in received.url
    received_with_note = to_received(
        call(query={"key": "abracadabra"}, headers={"x-note": "abracadabra"})
    )
    assert "abracadabra" not in received_with_note.headers["x-note"]


def test_received_call_masks_keys_of_url_and_headers() -> None:
    headers = {"authorization": "Bearer sk-hidden-1234", "x-note": "sent with sk-hidden-1234"}
    query = {"key": "AIza-hidden-5678", "alt": "sse"}
    received = to_received(
        call(query=query, raw_query="key=AIza-hidden-5678&alt=sse", headers=headers)
    )
    assert "hidden" not in f"{received.url}{json.dumps(dict(received.headers))}"
    assert received.url == "/v1/x?key=***5678&alt=sse"
    assert list(received.headers) == ["authorization", "x-note"]
    assert received.headers["x-note"] == "sent with sk***1234"
