"""What a decision says of itself, and what is told of a call in its place."""

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
from tests.serving.modes import marked

STRICT = Expect(temperature=0.2)
BY_ID: Any = {"select": "first_user_message"}
CHECKOUT = scenario("checkout", *(step(key=str(n), turn=n, consume=False) for n in (2, 3)), **BY_ID)


async def decided(
    *scenarios: Scenario, state: MemoryState | None = None, said: str = "hi", **fields: Any
) -> Decision:
    index = build_index(scenarios)
    choosing = StepSelection(
        index, chat_request(said, **fields), "a", frozenset(), state or MemoryState()
    )
    return await choosing.choose()


def named(decision: Decision) -> list[str]:
    return [f"{miss.scenario.name}/{miss.step.key}" for miss in decision.near_misses]


async def test_a_step_without_failures_counts_no_attempt_and_gives_what_it_captured() -> None:
    match = user_text_match(regex="(?P<city>Paris|Rome)")
    found = await decided(scenario("s", step(match)), said="in Rome")
    assert (found.kind, found.attempt, found.groups) == ("step", 0, {"city": "Rome"})


async def test_a_failing_attempt_gives_what_its_step_captured_too() -> None:
    match = user_text_match(regex="(?P<city>Paris|Rome)")
    found = await decided(scenario("s", step(match, failures=Failures(times=1))), said="in Rome")
    assert (found.kind, found.way, found.attempt) == ("failure", "match", 1)
    assert found.groups == {"city": "Rome"}


async def test_a_scenario_that_a_header_names_answers_alone() -> None:
    own, other = scenario("own", step(key="own")), scenario("other", step(), priority=5)
    found = await decided(own, other, headers={"x-mockllm-scenario": "own"})
    assert found.scenario is own
    nothing = scenario("own", step(user_text_match(equals="never"), key="own"))
    found = await decided(nothing, other, headers={"x-mockllm-scenario": "own"})
    assert (found.kind, found.way) == ("unmatched", "match")


def test_a_stream_breaks_off_where_the_settings_say_if_its_answer_is_generated() -> None:
    generated = Produce(GeneratedAnswer("lorem"), GeneratedAnswer("lorem"))
    decision = Decision("step", "match", scenario("s"), step(produce=generated))
    assert with_cancel(decision, Options(cancel_after_chunks=2)).cancel_after_chunks == 2
    assert with_cancel(decision, Options()) == decision
    for other in (decision._replace(kind="failure"), decision._replace(step=None)):
        assert with_cancel(other, Options(cancel_after_chunks=2)) == other


async def test_a_violation_tells_its_way_and_how_often_its_step_has_failed() -> None:
    state = MemoryState()
    strict = step(expect=STRICT, failures=Failures(times=2))
    await state.count_failure("a", AttemptRef(StepRef("s", "k", "k"), "openai"), times=2)
    await state.count_failure("a", AttemptRef(StepRef("s", "k", "k"), "openai"), times=2)
    found = await decided(scenario("s", strict), state=state)
    assert (found.kind, found.way, found.attempt) == ("violation", "match", 2)
    assert len(found.violations) == 1


async def test_a_violation_by_id_is_an_error_turn() -> None:
    strict = scenario("s", step(expect=STRICT, turn=1), **BY_ID)
    found = await decided(strict, said="s")
    assert (found.kind, found.way, found.attempt) == ("error_turn", "by_id", 0)
    assert (found.text,) == found.violations


async def test_a_missing_turn_is_told_with_the_turns_that_there_are() -> None:
    other = scenario("checkouts", step(turn=2), **BY_ID)
    found = await decided(CHECKOUT, other, said="checkout")
    assert found.kind == "fallback_step" and found.violations == (found.text,)
    assert named(found) == ["checkout/2", "checkout/3"]


async def test_an_unknown_id_is_told_with_the_names_like_it() -> None:
    found = await decided(CHECKOUT, said="checkour", model="test-llm")
    assert found.kind == "error_turn" and named(found) == ["checkout/2"]


@pytest.mark.parametrize("catch_all", [False, True])
async def test_in_a_scenario_that_a_header_names_its_own_steps_alone_are_near(
    catch_all: bool,
) -> None:
    near = step(user_text_match(contains="hello"), key="near")
    rest = [step(key="rest")] if catch_all else []
    one = scenario("one", near, *rest, catch_all=catch_all)
    other = scenario("other", step(user_text_match(contains="hi!"), key="nearer"))
    found = await decided(one, other, headers={"x-mockllm-scenario": "one"})
    assert named(found) == ["one/near"]
    assert found.fallback is catch_all
    assert "other/nearer" in named(await decided(one, other))


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
    assert (await decided(strict, state=state)).kind == "violation"
    assert [ref.key for ref in (await state.read("a")).consumed] == ["0"]


async def test_after_a_step_that_others_have_taken_and_that_may_fail_comes_the_next() -> None:
    state = MemoryState()
    steps = step(key="0"), step(key="1"), step(key="2", failures=Failures(times=1)), step(key="3")
    for key in "012":
        await state.consume("a", StepRef("s", key, key))
    found = await decided(scenario("s", *steps), state=state)
    assert found.step is not None and found.step.key == "3"


async def test_a_step_is_the_same_under_another_label_and_another_one_in_another_scenario() -> None:
    state = MemoryState()
    await state.consume("a", StepRef("s", "k", "once named so"))
    await state.consume("a", StepRef("t", "k", "k"))
    fails = step(failures=Failures(times=1))
    assert (await decided(scenario("s", fails), state=state)).kind == "unmatched"
    assert (await decided(scenario("u", fails), state=state)).kind == "failure"
    another = step(key="l", failures=Failures(times=1))
    assert (await decided(scenario("s", another), state=state)).kind == "failure"


def call(**fields: Any) -> Call:
    given: dict[str, Any] = {"method": "POST", "path": "/v1/x", "query": {}, "headers": {}}
    return Call(**{**given, "body": b'{"a": 1}', **fields})


def test_a_call_is_told_as_it_came() -> None:
    told = to_received(call(query={"a": "b c"}, raw_query="a=b%20c", headers={"x-a": "1"}))
    assert (told.url, told.headers, told.body) == ("/v1/x?a=b%20c", {"x-a": "1"}, {"a": 1})
    assert to_received(call()).url == "/v1/x"


def test_a_block_in_a_request_is_answered_with_the_call_that_brought_it() -> None:
    request = chat_request(marked({"messages": [{"request_url_echo": {}}]}))
    found = choose_in_band(call(raw_query="a=b"), request, Options(inband=True))
    assert found is not None and found.scripted is not None and found.way == "in_band"
    (choice,) = found.scripted.choices
    assert choice.parts == (TextPart("/v1/x?a=b"),)


def test_a_wrong_block_is_refused_by_its_place() -> None:
    request = chat_request(marked({"messages": [{"text": 5}]}))
    with pytest.raises(WireError) as refused:
        choose_in_band(call(), request, Options(inband=True))
    error = refused.value.answer
    assert (error.status, error.param) == (400, "messages")


def test_a_secret_of_any_form_is_told_nowhere() -> None:
    headers = {"authorization": "Bearer open sesame 1234", "x-note": "of open sesame 1234"}
    told = to_received(
        call(headers=headers, query={"key": "abracadabra"}, raw_query="key=abracadabra")
    )
    assert "sesame" not in f"{told.url}{json.dumps(dict(told.headers))}"
    assert "abracadabra" not in told.url
    noted = to_received(call(query={"key": "abracadabra"}, headers={"x-note": "abracadabra"}))
    assert "abracadabra" not in noted.headers["x-note"]


def test_a_call_is_told_without_its_secrets() -> None:
    headers = {"authorization": "Bearer sk-hidden-1234", "x-note": "sent with sk-hidden-1234"}
    query = {"key": "AIza-hidden-5678", "alt": "sse"}
    told = to_received(call(query=query, raw_query="key=AIza-hidden-5678&alt=sse", headers=headers))
    assert "hidden" not in f"{told.url}{json.dumps(dict(told.headers))}"
    assert told.url == "/v1/x?key=***5678&alt=sse"
    assert list(told.headers) == ["authorization", "x-note"]
    assert told.headers["x-note"] == "sent with sk***1234"
