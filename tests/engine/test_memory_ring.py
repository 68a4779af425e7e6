"""Sessions are evicted least recently used first, with all their state."""

import asyncio
from collections import OrderedDict

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scenarios_app.engine import memory
from scenarios_app.engine.memory import MemoryState
from scenarios_app.engine.state import AttemptRef, SessionState, StepRef, key_session, put_scenario
from tests.support.hypothesis_profiles import example_count

STEP = StepRef("weather", "k1", "1")
DOCUMENT = {"name": "own"}


async def use_sessions(store: MemoryState, *sessions: str) -> None:
    for session in sessions:
        await store.arrive(session)


async def test_least_recently_used_session_is_evicted() -> None:
    store = MemoryState(2)
    await use_sessions(store, "a", "b", "a", "c")
    assert (await store.sessions(), store.session_count, store.evicted_count) == (("a", "c"), 2, 1)
    assert (await store.read("a")).ordinal == 2


async def test_evicted_session_leaves_no_state() -> None:
    store = MemoryState(1)
    await use_sessions(store, "a")
    await store.consume("a", STEP)
    await store.count_failure("a", AttemptRef(STEP, "openai"), times=1)
    await store.increment("a", "calls")
    await store.add_violation("a", "It should not.")
    await store.remember_response("a", "r1", b"one")
    await put_scenario(store, "a", "own", DOCUMENT)
    await use_sessions(store, "b")
    assert await store.read("a") == SessionState("a")
    assert await store.recall_response("a", "r1") is None
    assert await store.scenarios_of("a") == (0, {})
    assert await store.consume("a", STEP)


async def test_reading_a_session_does_not_use_it() -> None:
    store = MemoryState(2)
    await use_sessions(store, "a", "b")
    await store.read("a")
    await store.recall_response("a", "r1")
    await store.sessions()
    await use_sessions(store, "c")
    assert await store.sessions() == ("b", "c")


async def test_session_with_only_scenarios_is_evicted_too() -> None:
    store = MemoryState(2)
    for session in ("a", "b", "c"):
        await put_scenario(store, session, "own", DOCUMENT)
    assert (await store.sessions(), store.session_count) == (("b", "c"), 2)
    await store.reset(None)
    await store.reset("c")
    await use_sessions(store, "d")
    assert await store.sessions() == ("c", "d")
    await store.reset(None, scenarios=True)
    assert (await store.sessions(), store.session_count) == ((), 0)


@pytest.mark.parametrize("first", ["secret", key_session("secret")])
async def test_scenarios_stay_while_a_session_of_their_key_is_used(first: str) -> None:
    """Scenarios are stored under one name of the session; requests come under the other."""
    other_name = {"secret": key_session("secret"), key_session("secret"): "secret"}[first]
    store = MemoryState(2)
    await put_scenario(store, first, "own", DOCUMENT)
    for session in ("b", "c", "d"):
        await use_sessions(store, other_name)
        assert (await store.scenarios_of(other_name))[1] == {"own": DOCUMENT}
        await use_sessions(store, session)
    await use_sessions(store, "e")
    assert (await store.scenarios_of(other_name))[1] == {}


@pytest.mark.parametrize("again", ["secret", key_session("secret")])
async def test_changed_scenarios_stay_while_any_of_their_names_is_in_use(
    again: str,
) -> None:
    store = MemoryState(2)
    await put_scenario(store, "secret", "own", DOCUMENT)
    await put_scenario(store, again, "more", DOCUMENT)
    await use_sessions(store, key_session("secret"), "secret", "b")
    assert set((await store.scenarios_of("secret"))[1]) == {"own", "more"}
    await use_sessions(store, "c")
    assert (await store.scenarios_of("secret"))[1] == {}


async def test_scenarios_stay_with_the_name_that_they_were_stored_under() -> None:
    store = MemoryState(2)
    await use_sessions(store, key_session("secret"))
    assert await store.replace_scenarios("secret", {"own": DOCUMENT}, revision=0)
    await use_sessions(store, "b")
    assert (await store.scenarios_of("secret"))[1] == {"own": DOCUMENT}


async def test_reset_of_a_session_uses_it_if_it_has_scenarios() -> None:
    store = MemoryState(2)
    await put_scenario(store, "own", "own", DOCUMENT)
    await use_sessions(store, "a")
    await store.reset("a")
    assert (await store.sessions(), store.session_count) == (("own",), 1)
    await use_sessions(store, "b")
    await store.reset("own")
    await use_sessions(store, "c")
    assert (await store.scenarios_of("own"))[1] == {"own": DOCUMENT}
    assert await store.sessions() == ("c", "own")
    await use_sessions(store, "d")
    assert await store.sessions() == ("c", "d")


async def test_a_session_without_scenarios_can_be_reset_with_its_scenarios() -> None:
    store = MemoryState()
    await use_sessions(store, "a")
    await store.reset("a", scenarios=True)
    assert await store.sessions() == ()


async def test_latest_violations_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    store = MemoryState()
    for number in range(memory.MAX_VIOLATIONS + 1):
        await store.add_violation("a", f"{number}")
    violations = (await store.read("a")).violations
    assert (len(violations), violations[0], violations[-1]) == (1_000, "1", "1000")


def test_default_number_of_sessions_is_100000() -> None:
    assert MemoryState().max_sessions == 100_000


@settings(max_examples=example_count(300))
@given(
    max_sessions=st.integers(1, 4),
    sessions=st.lists(st.sampled_from("abcdefg"), min_size=1, max_size=40),
)
def test_eviction_agrees_with_an_ordered_dict(max_sessions: int, sessions: list[str]) -> None:
    store = MemoryState(max_sessions)
    ring: OrderedDict[str, int] = OrderedDict()
    evicted_count = 0

    async def use_all() -> None:
        nonlocal evicted_count
        for session in sessions:
            count = ring.pop(session, 0) + 1
            ring[session] = count
            if len(ring) > max_sessions:
                ring.popitem(last=False)
                evicted_count += 1
            assert (await store.arrive(session)).ordinal == count
        assert await store.sessions() == tuple(sorted(ring))

    asyncio.run(use_all())
    assert (store.session_count, store.evicted_count) == (len(ring), evicted_count)
