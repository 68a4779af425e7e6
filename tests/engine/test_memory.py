"""The behaviour that every StateStore must have; `STORES` makes the tested stores."""

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

STEP_1, STEP_2 = StepRef("weather", "k1", "1"), StepRef("weather", "k2", "call the tool")
OTHER_STEP = StepRef("sums", "k1", "1")


@pytest.fixture(params=STORES)
async def store(request: pytest.FixtureRequest) -> AsyncIterator[StateStore]:
    """Return an empty store, which is emptied afterwards."""
    store: StateStore = request.param()
    await store.reset(None, scenarios=True)
    yield store
    await store.reset(None, scenarios=True)


async def test_ordinals_count_per_session_from_1(store: StateStore) -> None:
    assert [(await store.arrive("a")).ordinal for _ in range(3)] == [1, 2, 3]
    assert (await store.arrive("b")).ordinal == 1
    assert (await store.read("a")).ordinal == 3


async def test_a_step_is_consumed_once_per_session(store: StateStore) -> None:
    assert await store.consume("a", STEP_1)
    assert not await store.consume("a", STEP_1)
    assert await store.consume("a", STEP_2)
    assert await store.consume("a", OTHER_STEP)
    assert await store.consume("b", STEP_1)
    assert (await store.read("a")).consumed == (STEP_1, STEP_2, OTHER_STEP)


async def test_a_step_stays_consumed_under_another_label(store: StateStore) -> None:
    assert await store.consume("a", STEP_1)
    assert not await store.consume("a", StepRef("weather", "k1", "renamed"))
    assert (await store.read("a")).consumed == (STEP_1,)


async def test_failing_attempts_are_counted_up_to_their_number(store: StateStore) -> None:
    attempt = AttemptRef(STEP_1, "openai")
    assert [await store.count_failure("a", attempt, times=2) for _ in range(4)] == [
        True,
        True,
        False,
        False,
    ]
    assert (await store.read("a")).attempts == ((attempt, 2),)


async def test_attempts_are_counted_per_session_step_and_provider(store: StateStore) -> None:
    attempts = (
        AttemptRef(STEP_1, "openai"),
        AttemptRef(STEP_1, "anthropic"),
        AttemptRef(STEP_2, "openai"),
    )
    for attempt in attempts:
        assert await store.count_failure("a", attempt, times=1)
    assert await store.count_failure("b", attempts[0], times=1)
    renamed = AttemptRef(StepRef("weather", "k1", "renamed"), "openai")
    assert not await store.count_failure("a", renamed, times=1)
    assert (await store.read("a")).attempts == tuple((attempt, 1) for attempt in attempts)


async def test_failure_with_zero_times_counts_nothing(store: StateStore) -> None:
    assert not await store.count_failure("a", AttemptRef(STEP_1, "openai"), times=0)
    assert await store.read("a") == SessionState("a")
    assert await store.sessions() == ()


async def test_counters_give_their_new_value(store: StateStore) -> None:
    assert [await store.increment("a", "calls") for _ in range(2)] == [1, 2]
    assert await store.increment("a", "other") == 1
    assert await store.increment("b", "calls") == 1
    counters = (await store.read("a")).counters
    assert list(counters.items()) == [("calls", 2), ("other", 1)]


async def test_all_violations_are_kept_in_order(store: StateStore) -> None:
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
    await store.consume("a", STEP_1)
    assert before == SessionState("a", counters={"calls": 1})


async def test_sessions_with_state_or_scenarios_are_listed_by_name(store: StateStore) -> None:
    await store.arrive("b")
    await put_scenario(store, "c", "weather", {})
    await store.add_violation("a", "text")
    assert await store.sessions() == ("a", "b", "c")


async def fill_session(store: StateStore, session: str) -> None:
    await store.arrive(session)
    await store.consume(session, STEP_1)
    await store.count_failure(session, AttemptRef(STEP_1, "openai"), times=1)
    await store.increment(session, "calls")
    await store.add_violation(session, "text")
    await put_scenario(store, session, "own", {"name": "own"})


async def test_resetting_a_session_leaves_others_and_its_scenarios(store: StateStore) -> None:
    await fill_session(store, "a")
    await fill_session(store, "b")
    await store.reset("a")
    assert await store.read("a") == SessionState("a")
    assert (await store.read("b")).ordinal == 1
    assert (await store.scenarios_of("a"))[1] == {"own": {"name": "own"}}
    assert await store.sessions() == ("a", "b")
    assert await store.consume("a", STEP_1)


async def test_resetting_a_session_with_its_scenarios(store: StateStore) -> None:
    await fill_session(store, "a")
    await fill_session(store, "b")
    await store.reset("a", scenarios=True)
    assert await store.scenarios_of("a") == (0, {})
    assert await store.sessions() == ("b",)


async def test_resetting_all_sessions(store: StateStore) -> None:
    await fill_session(store, "a")
    await fill_session(store, "b")
    await store.reset(None)
    assert await store.read("b") == SessionState("b")
    assert await store.sessions() == ("a", "b")
    await store.reset(None, scenarios=True)
    assert await store.sessions() == ()


async def test_a_replaced_scenario_is_forgotten_in_every_session(store: StateStore) -> None:
    for session in ("a", "b"):
        for step in (STEP_1, STEP_2, OTHER_STEP):
            await store.consume(session, step)
            await store.count_failure(session, AttemptRef(step, "openai"), times=1)
    await store.increment("a", "calls")
    await store.clear_scenario("weather")
    for session in ("a", "b"):
        state = await store.read(session)
        assert state.consumed == (OTHER_STEP,)
        assert state.attempts == ((AttemptRef(OTHER_STEP, "openai"), 1),)
    assert (await store.read("a")).counters == {"calls": 1}
    assert await store.consume("a", STEP_1)


async def test_session_without_state_is_not_listed(store: StateStore) -> None:
    await store.consume("a", STEP_1)
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


async def test_revision_of_own_scenarios_changes_with_them(store: StateStore) -> None:
    revisions = set()
    for version in range(3):
        await put_scenario(store, "a", "weather", {"v": version})
        revisions.add((await store.scenarios_of("a"))[0])
        await put_scenario(store, "a", "sums", {})
        revisions.add((await store.scenarios_of("a"))[0])
        await drop_scenario(store, "a", "sums")
        revisions.add((await store.scenarios_of("a"))[0])
        await store.reset("a", scenarios=True)
    assert len(revisions) == 9
    assert 0 not in revisions
    await put_scenario(store, "a", "weather", {})
    revision, _ = await store.scenarios_of("a")
    await store.arrive("a")
    assert (await store.scenarios_of("a"))[0] == revision


async def test_a_stored_document_is_a_copy(store: StateStore) -> None:
    document = {"steps": [1]}
    await put_scenario(store, "a", "weather", document)
    _, before = await store.scenarios_of("a")
    document["steps"].append(2)
    await put_scenario(store, "a", "sums", {})
    assert before == {"weather": {"steps": [1]}}


async def test_scenario_can_be_cleared_in_one_session(store: StateStore) -> None:
    for session in ("a", "b"):
        for step in (STEP_1, OTHER_STEP):
            await store.consume(session, step)
    await store.clear_scenario("weather", session="a")
    assert (await store.read("a")).consumed == (OTHER_STEP,)
    assert (await store.read("b")).consumed == (STEP_1, OTHER_STEP)


async def test_clearing_by_the_session_of_a_key_clears_the_key_too(store: StateStore) -> None:
    for session in ("sk-a", key_session("sk-a")):
        await store.consume(session, STEP_1)
    await store.clear_scenario("weather", session=key_session("sk-a"))
    assert await store.sessions() == ()


async def test_scenarios_of_a_key_are_found_by_its_session_name_and_by_the_key(
    store: StateStore,
) -> None:
    """The name of the session is not known when its scenarios are stored."""
    for stored_session in ("alpha", key_session("alpha")):
        await put_scenario(store, stored_session, "own", {"v": stored_session})
        for session in ("alpha", key_session("alpha")):
            assert (await store.scenarios_of(session))[1] == {"own": {"v": stored_session}}
        assert (await store.scenarios_of("beta"))[1] == {}
        await store.reset("alpha", scenarios=True)
        assert (await store.scenarios_of(key_session("alpha")))[1] == {}


async def test_session_of_a_key_is_listed_once_by_its_latest_name(store: StateStore) -> None:
    await put_scenario(store, key_session("alpha"), "own", {})
    assert await store.sessions() == (key_session("alpha"),)
    await store.arrive("alpha")
    assert await store.sessions() == ("alpha",)
    await put_scenario(store, "alpha", "own", {})
    await store.reset("alpha")
    assert await store.sessions() == (key_session("alpha"),)


def test_session_name_of_a_key_is_a_hash() -> None:
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


async def test_peek_returns_the_state_without_counting_a_request() -> None:
    state = MemoryState()
    assert state.peek("s").ordinal == 0
    assert await state.sessions() == ()
    await state.arrive("s")
    await state.consume("s", StepRef("a", "1", "1"))
    arrival = state.peek("s")
    assert (arrival.ordinal, ("a", "1") in arrival.consumed) == (1, True)
    await state.replace_scenarios("s", {"own": {}}, revision=0)
    assert state.peek("s").documents == {"own": {}}
    assert (await state.read("s")).ordinal == 1


async def test_arrive_and_consume_changes_nothing_if_the_step_is_consumed() -> None:
    state, step = MemoryState(), StepRef("a", "1", "1")
    assert state.arrive_and_consume("s", step) == 1
    assert state.arrive_and_consume("s", step) is None
    assert (await state.read("s")).ordinal == 1
    assert state.arrive_and_consume("s", None) == 2
    assert state.arrive_and_consume("other", step) == 1


async def test_copy_of_a_session_has_its_state_scenarios_and_responses_alone() -> None:
    original = MemoryState()
    await original.replace_scenarios("a", {"own": {"steps": []}}, revision=0)
    await original.arrive("a")
    await original.arrive("b")
    await original.consume("a", STEP_1)
    await original.count_failure("a", AttemptRef(STEP_2, "openai"), times=3)
    await original.increment("a", "counter")
    copied = MemoryState.of_session(
        await original.read("a"), await original.scenarios_of("a"), {"r1": b"one", "lost": None}
    )
    assert await copied.read("a") == await original.read("a")
    assert await copied.scenarios_of("a") == await original.scenarios_of("a")
    assert [await copied.recall_response("a", name) for name in ("r1", "lost")] == [b"one", None]
    await copied.arrive("a")
    assert ((await original.read("a")).ordinal, await copied.sessions()) == (1, ("a",))


async def test_copy_of_a_session_without_scenarios_has_none() -> None:
    copied = MemoryState.of_session(SessionState("a"), (0, {}), {})
    assert await copied.scenarios_of("a") == (0, {})
