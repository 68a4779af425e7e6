"""Sessions are a ring: one that comes when there are too many takes the place of the one that was
used longest ago, of which nothing is left."""

import asyncio
from collections import OrderedDict

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scenarios_app.engine import memory
from scenarios_app.engine.memory import MemoryState
from scenarios_app.engine.state import AttemptRef, SessionState, StepRef, key_session, put_scenario
from tests.support.hypothesis_profiles import often

STEP = StepRef("weather", "k1", "1")
DOCUMENT = {"name": "own"}


async def used(store: MemoryState, *sessions: str) -> None:
    for session in sessions:
        await store.arrive(session)


async def test_the_one_used_longest_ago_leaves() -> None:
    store = MemoryState(2)
    await used(store, "a", "b", "a", "c")
    assert (await store.sessions(), store.session_count, store.evicted_count) == (("a", "c"), 2, 1)
    assert (await store.read("a")).ordinal == 2


async def test_nothing_of_it_is_left() -> None:
    store = MemoryState(1)
    await used(store, "a")
    await store.consume("a", STEP)
    await store.count_failure("a", AttemptRef(STEP, "openai"), times=1)
    await store.increment("a", "calls")
    await store.add_violation("a", "It should not.")
    await store.remember_response("a", "r1", b"one")
    await put_scenario(store, "a", "own", DOCUMENT)
    await used(store, "b")
    assert await store.read("a") == SessionState("a")
    assert await store.recall_response("a", "r1") is None
    assert await store.scenarios_of("a") == (0, {})
    assert await store.consume("a", STEP)


async def test_looking_at_a_session_does_not_use_it() -> None:
    store = MemoryState(2)
    await used(store, "a", "b")
    await store.read("a")
    await store.recall_response("a", "r1")
    await store.sessions()
    await used(store, "c")
    assert await store.sessions() == ("b", "c")


async def test_a_session_with_nothing_but_scenarios_leaves_too() -> None:
    store = MemoryState(2)
    for session in ("a", "b", "c"):
        await put_scenario(store, session, "own", DOCUMENT)
    assert (await store.sessions(), store.session_count) == (("b", "c"), 2)
    await store.reset(None)
    await store.reset("c")
    await used(store, "d")
    assert await store.sessions() == ("c", "d")
    await store.reset(None, scenarios=True)
    assert (await store.sessions(), store.session_count) == ((), 0)


@pytest.mark.parametrize("first", ["secret", key_session("secret")])
async def test_scenarios_stay_while_a_session_of_their_key_is_used(first: str) -> None:
    """They are pushed under one of its names, and it asks under the other."""
    other = {"secret": key_session("secret"), key_session("secret"): "secret"}[first]
    store = MemoryState(2)
    await put_scenario(store, first, "own", DOCUMENT)
    for session in ("b", "c", "d"):
        await used(store, other)
        assert (await store.scenarios_of(other))[1] == {"own": DOCUMENT}
        await used(store, session)
    await used(store, "e")
    assert (await store.scenarios_of(other))[1] == {}


@pytest.mark.parametrize("again", ["secret", key_session("secret")])
async def test_scenarios_that_change_stay_while_any_of_their_names_is_remembered(
    again: str,
) -> None:
    store = MemoryState(2)
    await put_scenario(store, "secret", "own", DOCUMENT)
    await put_scenario(store, again, "more", DOCUMENT)
    await used(store, key_session("secret"), "secret", "b")
    assert set((await store.scenarios_of("secret"))[1]) == {"own", "more"}
    await used(store, "c")
    assert (await store.scenarios_of("secret"))[1] == {}


async def test_scenarios_stay_with_the_name_that_they_were_kept_under() -> None:
    store = MemoryState(2)
    await used(store, key_session("secret"))
    assert await store.replace_scenarios("secret", {"own": DOCUMENT}, revision=0)
    await used(store, "b")
    assert (await store.scenarios_of("secret"))[1] == {"own": DOCUMENT}


async def test_a_reset_of_a_session_uses_it_where_it_has_scenarios_and_forgets_it_else() -> None:
    store = MemoryState(2)
    await put_scenario(store, "own", "own", DOCUMENT)
    await used(store, "a")
    await store.reset("a")
    assert (await store.sessions(), store.session_count) == (("own",), 1)
    await used(store, "b")
    await store.reset("own")
    await used(store, "c")
    assert (await store.scenarios_of("own"))[1] == {"own": DOCUMENT}
    assert await store.sessions() == ("c", "own")
    await used(store, "d")
    assert await store.sessions() == ("c", "d")


async def test_a_session_without_scenarios_can_be_reset_with_its_scenarios() -> None:
    store = MemoryState()
    await used(store, "a")
    await store.reset("a", scenarios=True)
    assert await store.sessions() == ()


async def test_of_violations_the_latest_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    store = MemoryState()
    for number in range(memory.MAX_VIOLATIONS + 1):
        await store.add_violation("a", f"{number}")
    violations = (await store.read("a")).violations
    assert (len(violations), violations[0], violations[-1]) == (1_000, "1", "1000")


def test_a_ring_holds_as_many_as_it_is_told_to() -> None:
    assert MemoryState().most == 100_000


@settings(max_examples=often(300))
@given(
    most=st.integers(1, 4), sessions=st.lists(st.sampled_from("abcdefg"), min_size=1, max_size=40)
)
def test_a_ring_is_what_a_list_of_the_latest_is(most: int, sessions: list[str]) -> None:
    store = MemoryState(most)
    ring: OrderedDict[str, int] = OrderedDict()
    left = 0

    async def use() -> None:
        nonlocal left
        for session in sessions:
            count = ring.pop(session, 0) + 1
            ring[session] = count
            if len(ring) > most:
                ring.popitem(last=False)
                left += 1
            assert (await store.arrive(session)).ordinal == count
        assert await store.sessions() == tuple(sorted(ring))

    asyncio.run(use())
    assert (store.session_count, store.evicted_count) == (len(ring), left)
