"""The state store in Redis has the behaviour that every StateStore must have."""

from collections.abc import AsyncIterator, Callable

import pytest

from scenarios_app.cluster import state as shared
from scenarios_app.cluster.state import RedisState
from scenarios_app.engine.state import (
    AttemptRef,
    StepRef,
    drop_scenario,
    key_session,
    put_scenario,
)
from tests.cluster.stores import delete_keys, fresh_state, state_of_other_process, stored_keys
from tests.engine.test_memory import *  # noqa: F403  (its tests, with the stores of this module)
from tests.engine.test_memory_responses import *  # noqa: F403

STEP = StepRef("weather", "k1", "1")


def make_empty_state() -> RedisState:
    state = fresh_state()
    delete_keys(state)
    return state


@pytest.fixture(params=["threads", "loop", "two"])
async def store(request: pytest.FixtureRequest) -> AsyncIterator[RedisState]:
    """Return a store as used by threads, by an event loop, or alternately by two processes."""
    store = fresh_state()
    if request.param == "loop":
        store._connections.use_running_loop()
    if request.param == "two":
        store = AlternatingState(store)
    yield store
    delete_keys(store)
    await store._connections.release_loop()


class AlternatingState(RedisState):
    """Each operation is done by the other of two processes."""

    def __init__(self, state: RedisState) -> None:
        super().__init__(state._connections, state.max_sessions)
        self._processes = [state_of_other_process(state), state_of_other_process(state)]

    def __getattribute__(self, name: str) -> object:
        if name.startswith("_") or name == "most":
            return super().__getattribute__(name)
        self._processes.reverse()
        return getattr(self._processes[0], name)


async def test_reset_store_leaves_only_its_clock(store: RedisState) -> None:
    for session in ("a", "b"):
        await store.arrive(session)
        await store.consume(session, STEP)
        await store.count_failure(session, AttemptRef(STEP, "openai"), times=1)
        await store.increment(session, "calls")
        await store.add_violation(session, "It should not.")
        await store.remember_response(session, "r1", b"one")
        await put_scenario(store, session, "own", {})
    await store.reset("a", scenarios=True)
    await store.clear_scenario("weather")
    await drop_scenario(store, "b", "own")
    await store.reset(None, scenarios=True)
    assert [key.rpartition(b":")[2] for key in stored_keys(store)] == [b"clock"]


async def test_evicted_session_leaves_no_keys() -> None:
    ring = fresh_state(1)
    for session in ("a", "b"):
        await ring.arrive(session)
        await ring.consume(session, STEP)
        await put_scenario(ring, session, "own", {})
    prefix = ring._connections.prefix
    key_names = {key.removeprefix(prefix) for key in stored_keys(ring)}
    keys_of_b = {kind + b":b" for kind in (b"s", b"c", b"m", b"z")}
    own_scenario_keys = {kind + key_session("b").encode() for kind in (b"w:", b"n:")}
    assert (
        key_names
        == {b"clock", b"sessions", b"left", b"own", b"x:weather"} | keys_of_b | own_scenario_keys
    )
    assert await ring.sessions() == ("b",) and (await ring.arrive("b")).ordinal == 2
    assert (ring.session_count, ring.evicted_count) == (1, 1)
    delete_keys(ring)


async def test_scenarios_are_replaced_only_at_their_revision(store: RedisState) -> None:
    assert await store.replace_scenarios("a", {"one": 1}, revision=0)
    assert not await store.replace_scenarios("a", {"two": 2}, revision=0)
    revision, _ = await store.scenarios_of("a")
    assert await store.replace_scenarios("a", {}, revision=revision)
    assert await store.scenarios_of("a") == (0, {})


async def test_step_consumed_by_another_process_is_seen_on_arrival() -> None:
    state = fresh_state()
    other_state = state_of_other_process(state)
    await state.arrive("a")
    await other_state.consume("a", STEP)
    assert ("weather", "k1") in (await state.arrive("a")).consumed
    await other_state.clear_scenario("weather")
    assert ("weather", "k1") not in (await state.arrive("a")).consumed
    delete_keys(state)


async def test_failed_consume_updates_all_consumed_steps() -> None:
    """Otherwise hundreds of concurrent requests would each try hundreds of steps."""
    state = fresh_state()
    other_state = state_of_other_process(state)
    steps = [StepRef("weather", f"k{number}", "") for number in range(5)]
    consumed = (await state.arrive("a")).consumed
    for step in steps:
        await other_state.consume("a", step)
    assert not await state.consume("a", steps[0])
    assert all((step.scenario, step.key) in consumed for step in steps)
    delete_keys(state)


async def test_text_of_any_kind_is_kept(store: RedisState) -> None:
    unusual_step = StepRef("1:2:ü\n", "12:\0 😀", "3:\ud800")
    assert await store.consume(unusual_step.label, unusual_step)
    assert await store.count_failure(unusual_step.label, AttemptRef(unusual_step, ":"), times=1)
    state = await store.read(unusual_step.label)
    assert state.consumed == (unusual_step,) and state.attempts == (
        (AttemptRef(unusual_step, ":"), 1),
    )


async def test_cached_sessions_are_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shared, "MAX_CACHED_SESSIONS", 2)
    state = fresh_state()
    for session in ("a", "b", "c"):
        await state.arrive(session)
    assert len(state._consumed) == len(state._own) == 2
    assert (await state.arrive("a")).ordinal == 2
    delete_keys(state)


STORES: tuple[Callable[[], RedisState], ...] = (make_empty_state,)
