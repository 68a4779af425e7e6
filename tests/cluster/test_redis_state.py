"""A StateStore in Redis does what every StateStore must do."""

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
from tests.cluster.stores import forget, fresh_state, keys, same_state
from tests.engine.test_memory import *  # noqa: F403  (its tests, with the stores of this module)
from tests.engine.test_memory_responses import *  # noqa: F403

STEP = StepRef("weather", "k1", "1")


def empty() -> RedisState:
    state = fresh_state()
    forget(state)
    return state


@pytest.fixture(params=["threads", "loop", "two"])
async def store(request: pytest.FixtureRequest) -> AsyncIterator[RedisState]:
    """As threads reach it, as the event loop that stays does, and as two processes do by turns."""
    store = fresh_state()
    if request.param == "loop":
        store._connections.use_running_loop()
    if request.param == "two":
        store = Turns(store)
    yield store
    forget(store)
    await store._connections.release_loop()


class Turns(RedisState):
    """Each operation is another process's."""

    def __init__(self, one: RedisState) -> None:
        super().__init__(one._connections, one.most)
        self._both = [same_state(one), same_state(one)]

    def __getattribute__(self, name: str) -> object:
        if name.startswith("_") or name in ("most", "kept", "left"):
            return super().__getattribute__(name)
        self._both.reverse()
        return getattr(self._both[0], name)


async def test_nothing_is_left_of_what_is_forgotten(store: RedisState) -> None:
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
    assert [key.rpartition(b":")[2] for key in keys(store)] == [b"clock"]


async def test_one_that_leaves_leaves_nothing() -> None:
    ring = fresh_state(1)
    for session in ("a", "b"):
        await ring.arrive(session)
        await ring.consume(session, STEP)
        await put_scenario(ring, session, "own", {})
    prefix = ring._connections.prefix
    named = {key.removeprefix(prefix) for key in keys(ring)}
    of_b = {kind + b":b" for kind in (b"s", b"c", b"m", b"z")}
    own = {kind + key_session("b").encode() for kind in (b"w:", b"n:")}
    assert named == {b"clock", b"sessions", b"left", b"own", b"x:weather"} | of_b | own
    assert await ring.sessions() == ("b",) and (await ring.arrive("b")).ordinal == 2
    assert (ring.session_count, ring.evicted_count) == (1, 1)
    forget(ring)


async def test_scenarios_change_only_from_what_they_were(store: RedisState) -> None:
    assert await store.replace_scenarios("a", {"one": 1}, revision=0)
    assert not await store.replace_scenarios("a", {"two": 2}, revision=0)
    revision, _ = await store.scenarios_of("a")
    assert await store.replace_scenarios("a", {}, revision=revision)
    assert await store.scenarios_of("a") == (0, {})


async def test_step_consumed_by_another_process_is_seen_on_arrival() -> None:
    one = fresh_state()
    other = same_state(one)
    await one.arrive("a")
    await other.consume("a", STEP)
    assert ("weather", "k1") in (await one.arrive("a")).consumed
    await other.clear_scenario("weather")
    assert ("weather", "k1") not in (await one.arrive("a")).consumed
    forget(one)


async def test_a_step_that_cannot_be_had_any_more_tells_of_all_that_cannot() -> None:
    """Or else hundreds of requests that arrive at once would try hundreds of steps each."""
    one = fresh_state()
    other = same_state(one)
    steps = [StepRef("weather", f"k{number}", "") for number in range(5)]
    consumed = (await one.arrive("a")).consumed
    for step in steps:
        await other.consume("a", step)
    assert not await one.consume("a", steps[0])
    assert all((step.scenario, step.key) in consumed for step in steps)
    forget(one)


async def test_text_of_any_kind_is_kept(store: RedisState) -> None:
    odd = StepRef("1:2:ü\n", "12:\0 😀", "3:\ud800")
    assert await store.consume(odd.label, odd)
    assert await store.count_failure(odd.label, AttemptRef(odd, ":"), times=1)
    state = await store.read(odd.label)
    assert state.consumed == (odd,) and state.attempts == ((AttemptRef(odd, ":"), 1),)


async def test_cached_sessions_are_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shared, "MAX_CACHED_SESSIONS", 2)
    state = fresh_state()
    for session in ("a", "b", "c"):
        await state.arrive(session)
    assert len(state._consumed) == len(state._own) == 2
    assert (await state.arrive("a")).ordinal == 2
    forget(state)


STORES: tuple[Callable[[], RedisState], ...] = (empty,)
