"""What every StateStore must do, as far as one caller sees it. `STORES` makes the stores tested."""

from collections.abc import AsyncIterator, Callable

import pytest

from scenarios_app.engine.memory import MemoryState
from scenarios_app.engine.state import (
    AttemptRef,
    SessionState,
    StateStore,
    StepRef,
    alias,
    drop_scenario,
    key_session,
    put_scenario,
)

STORES: tuple[Callable[[], StateStore], ...] = (MemoryState,)

ONE, TWO = StepRef("weather", "k1", "1"), StepRef("weather", "k2", "call the tool")
ELSEWHERE = StepRef("sums", "k1", "1")


@pytest.fixture(params=STORES)
async def store(request: pytest.FixtureRequest) -> AsyncIterator[StateStore]:
    """An empty store."""
    store: StateStore = request.param()
    await store.reset(None, scenarios=True)
    yield store
    await store.reset(None, scenarios=True)


async def test_ordinals_count_per_session_from_1(store: StateStore) -> None:
    assert [(await store.arrive("a")).ordinal for _ in range(3)] == [1, 2, 3]
    assert (await store.arrive("b")).ordinal == 1
    assert (await store.read("a")).ordinal == 3


async def test_a_step_is_consumed_once_per_session(store: StateStore) -> None:
    assert await store.consume("a", ONE)
    assert not await store.consume("a", ONE)
    assert await store.consume("a", TWO)
    assert await store.consume("a", ELSEWHERE)
    assert await store.consume("b", ONE)
    assert (await store.read("a")).consumed == (ONE, TWO, ELSEWHERE)


async def test_a_step_stays_consumed_under_another_label(store: StateStore) -> None:
    assert await store.consume("a", ONE)
    assert not await store.consume("a", StepRef("weather", "k1", "renamed"))
    assert (await store.read("a")).consumed == (ONE,)


async def test_failing_attempts_are_counted_up_to_their_number(store: StateStore) -> None:
    attempt = AttemptRef(ONE, "openai")
    assert [await store.count_failure("a", attempt, times=2) for _ in range(4)] == [
        True,
        True,
        False,
        False,
    ]
    assert (await store.read("a")).attempts == ((attempt, 2),)


async def test_attempts_are_counted_per_session_step_and_provider(store: StateStore) -> None:
    attempts = AttemptRef(ONE, "openai"), AttemptRef(ONE, "anthropic"), AttemptRef(TWO, "openai")
    for attempt in attempts:
        assert await store.count_failure("a", attempt, times=1)
    assert await store.count_failure("b", attempts[0], times=1)
    renamed = AttemptRef(StepRef("weather", "k1", "renamed"), "openai")
    assert not await store.count_failure("a", renamed, times=1)
    assert (await store.read("a")).attempts == tuple((attempt, 1) for attempt in attempts)


async def test_a_failure_that_never_happens_counts_nothing(store: StateStore) -> None:
    assert not await store.count_failure("a", AttemptRef(ONE, "openai"), times=0)
    assert await store.read("a") == SessionState("a")
    assert await store.sessions() == ()


async def test_counters_give_their_new_value(store: StateStore) -> None:
    assert [await store.increment("a", "calls") for _ in range(2)] == [1, 2]
    assert await store.increment("a", "other") == 1
    assert await store.increment("b", "calls") == 1
    counters = (await store.read("a")).counters
    assert list(counters.items()) == [("calls", 2), ("other", 1)]


async def test_violations_are_kept_in_order_and_all_of_them(store: StateStore) -> None:
    for text in ("b", "a", "b"):
        await store.add_violation("a", text)
    assert (await store.read("a")).violations == ("b", "a", "b")


async def test_an_unknown_session_is_empty_and_stays_unknown(store: StateStore) -> None:
    assert await store.read("nobody") == SessionState("nobody")
    assert await store.scenarios_of("nobody") == (0, {})
    assert not await drop_scenario(store, "nobody", "weather")
    await store.reset("nobody")
    assert await store.sessions() == ()


async def test_session_state_that_was_read_is_a_copy(store: StateStore) -> None:
    await store.increment("a", "calls")
    before = await store.read("a")
    await store.increment("a", "calls")
    await store.consume("a", ONE)
    assert before == SessionState("a", counters={"calls": 1})


async def test_sessions_with_state_or_scenarios_are_listed_by_name(store: StateStore) -> None:
    await store.arrive("b")
    await put_scenario(store, "c", "weather", {})
    await store.add_violation("a", "text")
    assert await store.sessions() == ("a", "b", "c")


async def fill(store: StateStore, session: str) -> None:
    await store.arrive(session)
    await store.consume(session, ONE)
    await store.count_failure(session, AttemptRef(ONE, "openai"), times=1)
    await store.increment(session, "calls")
    await store.add_violation(session, "text")
    await put_scenario(store, session, "own", {"name": "own"})


async def test_resetting_a_session_leaves_others_and_its_scenarios(store: StateStore) -> None:
    await fill(store, "a")
    await fill(store, "b")
    await store.reset("a")
    assert await store.read("a") == SessionState("a")
    assert (await store.read("b")).ordinal == 1
    assert (await store.scenarios_of("a"))[1] == {"own": {"name": "own"}}
    assert await store.sessions() == ("a", "b")
    assert await store.consume("a", ONE)


async def test_resetting_a_session_with_its_scenarios(store: StateStore) -> None:
    await fill(store, "a")
    await fill(store, "b")
    await store.reset("a", scenarios=True)
    assert await store.scenarios_of("a") == (0, {})
    assert await store.sessions() == ("b",)


async def test_resetting_all_sessions(store: StateStore) -> None:
    await fill(store, "a")
    await fill(store, "b")
    await store.reset(None)
    assert await store.read("b") == SessionState("b")
    assert await store.sessions() == ("a", "b")
    await store.reset(None, scenarios=True)
    assert await store.sessions() == ()


async def test_a_replaced_scenario_is_forgotten_in_every_session(store: StateStore) -> None:
    for session in ("a", "b"):
        for one in (ONE, TWO, ELSEWHERE):
            await store.consume(session, one)
            await store.count_failure(session, AttemptRef(one, "openai"), times=1)
    await store.increment("a", "calls")
    await store.clear_scenario("weather")
    for session in ("a", "b"):
        state = await store.read(session)
        assert state.consumed == (ELSEWHERE,)
        assert state.attempts == ((AttemptRef(ELSEWHERE, "openai"), 1),)
    assert (await store.read("a")).counters == {"calls": 1}
    assert await store.consume("a", ONE)


async def test_a_session_of_which_nothing_is_left_is_not_listed(store: StateStore) -> None:
    await store.consume("a", ONE)
    await store.clear_scenario("weather")
    assert await store.sessions() == ()


async def test_own_scenarios_are_put_replaced_and_dropped(store: StateStore) -> None:
    assert await put_scenario(store, "a", "weather", {"v": 1})
    assert not await put_scenario(store, "a", "weather", {"v": 2})
    assert await put_scenario(store, "b", "weather", {"v": 3})
    assert (await store.scenarios_of("a"))[1] == {"weather": {"v": 2}}
    assert await drop_scenario(store, "a", "weather")
    assert not await drop_scenario(store, "a", "weather")
    assert (await store.scenarios_of("a"))[1] == {}
    assert (await store.scenarios_of("b"))[1] == {"weather": {"v": 3}}


async def test_the_number_of_own_scenarios_changes_with_them(store: StateStore) -> None:
    seen = set()
    for version in range(3):
        await put_scenario(store, "a", "weather", {"v": version})
        seen.add((await store.scenarios_of("a"))[0])
        await put_scenario(store, "a", "sums", {})
        seen.add((await store.scenarios_of("a"))[0])
        await drop_scenario(store, "a", "sums")
        seen.add((await store.scenarios_of("a"))[0])
        await store.reset("a", scenarios=True)
    assert len(seen) == 9
    assert 0 not in seen
    await put_scenario(store, "a", "weather", {})
    number, _ = await store.scenarios_of("a")
    await store.arrive("a")
    assert (await store.scenarios_of("a"))[0] == number


async def test_a_stored_document_is_a_copy(store: StateStore) -> None:
    document = {"steps": [1]}
    await put_scenario(store, "a", "weather", document)  # type: ignore[arg-type]
    _, before = await store.scenarios_of("a")
    document["steps"].append(2)
    await put_scenario(store, "a", "sums", {})
    assert before == {"weather": {"steps": [1]}}


async def test_a_session_may_be_told_to_forget_a_scenario_alone(store: StateStore) -> None:
    for session in ("a", "b"):
        for one in (ONE, ELSEWHERE):
            await store.consume(session, one)
    await store.clear_scenario("weather", session="a")
    assert (await store.read("a")).consumed == (ELSEWHERE,)
    assert (await store.read("b")).consumed == (ONE, ELSEWHERE)


async def test_a_keys_session_forgets_by_the_key_too(store: StateStore) -> None:
    for session in ("sk-a", key_session("sk-a")):
        await store.consume(session, ONE)
    await store.clear_scenario("weather", session=key_session("sk-a"))
    assert await store.sessions() == ()


async def test_scenarios_kept_for_a_key_are_found_by_its_name_and_by_its_text(
    store: StateStore,
) -> None:
    """Whoever keeps them may not know yet which of the two the session will be."""
    for given in ("alpha", key_session("alpha")):
        await put_scenario(store, given, "own", {"v": given})
        for session in ("alpha", key_session("alpha")):
            assert (await store.scenarios_of(session))[1] == {"own": {"v": given}}
        assert (await store.scenarios_of("beta"))[1] == {}
        await store.reset("alpha", scenarios=True)
        assert (await store.scenarios_of(key_session("alpha")))[1] == {}


async def test_a_session_is_listed_once_under_the_name_it_goes_by(store: StateStore) -> None:
    await put_scenario(store, key_session("alpha"), "own", {})
    assert await store.sessions() == (key_session("alpha"),)
    await store.arrive("alpha")
    assert await store.sessions() == ("alpha",)
    await put_scenario(store, "alpha", "own", {})
    await store.reset("alpha")
    assert await store.sessions() == (key_session("alpha"),)


def test_the_name_of_a_keys_session_gives_nothing_of_the_key_away() -> None:
    assert key_session("Hello") == "key-185f8db32271"
    assert alias("Hello") == alias("key-185f8db32271") == "key-185f8db32271"
    assert alias("key-185F8DB32271") != "key-185F8DB32271"


async def test_consumed_step_is_listed_by_its_label(store: StateStore) -> None:
    steps = [StepRef("s", f"k{number}", f"step {number}") for number in range(3)]
    assert await store.consume("a", steps[0])
    assert await store.consume_first("a", steps) == 1
    assert (await store.read("a")).consumed == tuple(steps[:2])


async def test_session_without_scenarios_can_store_none(store: StateStore) -> None:
    assert await store.replace_scenarios("a", {}, revision=0)
    assert await store.scenarios_of("a") == (0, {})


async def test_arrival_has_the_revision_of_the_sessions_scenarios(store: StateStore) -> None:
    assert (await store.arrive("a")).revision == 0
    await put_scenario(store, "a", "own", {})
    arrival = await store.arrive("a")
    assert (arrival.revision, arrival.documents) == await store.scenarios_of("a")
    assert arrival.revision != 0


async def test_peek_shows_what_a_request_would_find_without_counting_it() -> None:
    state = MemoryState()
    assert state.peek("s").ordinal == 0
    assert await state.sessions() == ()
    await state.arrive("s")
    await state.consume("s", StepRef("a", "1", "1"))
    found = state.peek("s")
    assert (found.ordinal, ("a", "1") in found.consumed) == (1, True)
    await state.replace_scenarios("s", {"own": {}}, revision=0)
    assert state.peek("s").documents == {"own": {}}
    assert (await state.read("s")).ordinal == 1


async def test_step_is_consumed_with_the_request_that_it_answers_or_nothing_changes() -> None:
    state, step = MemoryState(), StepRef("a", "1", "1")
    assert state.arrive_and_consume("s", step) == 1
    assert state.arrive_and_consume("s", step) is None
    assert (await state.read("s")).ordinal == 1
    assert state.arrive_and_consume("s", None) == 2
    assert state.arrive_and_consume("other", step) == 1
