"""The cache of Redis state in a process: what it reads again, and its use while Redis is away."""

import json
import random
from collections.abc import Iterable
from typing import Any, cast

import pytest

from scenarios_app.cluster import scripts
from scenarios_app.cluster import state as shared
from scenarios_app.cluster.connections import Connections
from scenarios_app.cluster.state import RedisState
from scenarios_app.engine.state import Arrival, StateUnavailable, StepRef, alias

SESSION = "s"
ALIAS = alias(SESSION)
OWN_SCENARIOS = {"one": {"steps": []}}


class FakeConnections:
    """Fake connections that record calls and return the given results."""

    channel = b"bus"
    moment = 0

    def __init__(self, *answers: Any) -> None:
        self.answers = list(answers)
        self.calls: list[tuple[Any, tuple[Any, ...]]] = []

    async def run(self, script: Any, *arguments: Any) -> Any:
        self.calls.append((script, arguments))
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer


def make_state(*answers: Any) -> tuple[RedisState, FakeConnections]:
    connections = FakeConnections(*answers)
    return RedisState(cast(Connections, connections), 5), connections


def entry(key: str) -> bytes:
    return b"1:w%d:%blabel" % (len(key), key.encode())


def arrival(
    epoch: int = 7,
    start: int = 0,
    keys: Iterable[str] = "",
    revision: int = 0,
    own_scenarios: Any = None,
) -> list[Any]:
    """Return the result of Redis for an arrival."""
    documents = b"" if own_scenarios is None else json.dumps(own_scenarios).encode()
    entries = [entry(key) for key in keys]
    return [1, b"%d" % epoch, start, entries, b"%d" % revision, documents, b"4", 99, 2, b"3"]


def consumed_keys(arrival: Arrival) -> list[str]:
    return [key for _, key in cast(Iterable[tuple[str, str]], arrival.consumed)]


def unavailable_error() -> StateUnavailable:
    return StateUnavailable("away")


async def test_cache_is_empty_before_the_first_answer() -> None:
    state, connections = make_state(arrival())
    assert (state.session_count, state.evicted_count) == (0, 0)
    result = await state.arrive(SESSION)
    assert connections.calls == [(scripts.ARRIVE, (b"s", ALIAS.encode(), 5, 0, 0, 0))]
    assert result == Arrival(1, {}.keys(), 0, {}, 4)
    assert (state.session_count, state.evicted_count, connections.moment) == (2, 3, 99)


async def test_consume_first_works_without_cached_state() -> None:
    state, connections = make_state([1, b"7", 0, [entry("a")]], [0, b"7", 1, [entry("b")]])
    assert await state.consume(SESSION, StepRef("w", "a", "label"))
    assert not await state.consume(SESSION, StepRef("w", "b", "label"))
    assert [arguments[3:5] for _, arguments in connections.calls] == [(0, 0), (7, 1)]


async def test_cached_state_is_not_read_again() -> None:
    state, connections = make_state(
        arrival(keys="ab", revision=6, own_scenarios=OWN_SCENARIOS), arrival(start=2, revision=6)
    )
    first = await state.arrive(SESSION)
    assert (first.revision, first.documents, consumed_keys(first)) == (6, OWN_SCENARIOS, ["a", "b"])
    second = await state.arrive(SESSION)
    assert connections.calls[1][1][3:] == (7, 2, 6)
    assert (second.revision, second.documents, consumed_keys(second)) == (
        6,
        OWN_SCENARIOS,
        ["a", "b"],
    )


async def test_deleted_scenarios_leave_the_cache() -> None:
    state, connections = make_state(
        arrival(revision=6, own_scenarios=OWN_SCENARIOS), arrival(), arrival()
    )
    await state.arrive(SESSION)
    assert (await state.arrive(SESSION))[2:4] == (0, {})
    await state.arrive(SESSION)
    assert connections.calls[2][1][5] == 0


@pytest.mark.parametrize("dropped_session", [ALIAS, None])
async def test_dropped_scenarios_are_read_again(dropped_session: str | None) -> None:
    state, connections = make_state(
        *(arrival(revision=6, own_scenarios=OWN_SCENARIOS) for _ in range(3))
    )
    await state.arrive(SESSION)
    state.drop_cached_scenarios("another")
    await state.arrive(SESSION)
    state.drop_cached_scenarios(dropped_session)
    await state.arrive(SESSION)
    assert [arguments[5] for _, arguments in connections.calls] == [0, 6, 0]


async def test_out_of_order_answers_are_merged() -> None:
    state, _ = make_state(
        arrival(keys="ab"),
        # An answer to a request from before the others were known.
        arrival(start=1, keys="bc"),
        # An answer that begins after steps that this process does not know.
        arrival(start=5, keys="z"),
        # A list of an earlier epoch.
        arrival(epoch=6, keys="xyz"),
    )
    keys_after_each = [consumed_keys(await state.arrive(SESSION)) for _ in range(4)]
    assert keys_after_each == [["a", "b"], *[["a", "b", "c"]] * 3]


async def test_list_of_a_later_epoch_replaces_the_cached_one() -> None:
    state, _ = make_state(arrival(keys="ab"), arrival(epoch=8, keys="c"))
    await state.arrive(SESSION)
    assert consumed_keys(await state.arrive(SESSION)) == ["c"]


async def test_cached_session_arrives_while_redis_is_away(monkeypatch: pytest.MonkeyPatch) -> None:
    state, _ = make_state(
        arrival(keys="a", revision=6, own_scenarios=OWN_SCENARIOS), unavailable_error()
    )
    await state.arrive(SESSION)
    # Ordinals use no more bits than a JSON number has.
    monkeypatch.setattr(random, "getrandbits", lambda bits: bits)
    assert await state.arrive(SESSION) == Arrival(-54, frozenset(), 6, OWN_SCENARIOS)


async def test_unknown_session_cannot_arrive_while_redis_is_away() -> None:
    state, _ = make_state(unavailable_error())
    with pytest.raises(StateUnavailable):
        await state.arrive(SESSION)


async def test_latest_sessions_are_cached(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shared, "MAX_CACHED_SESSIONS", 2)
    state, connections = make_state(*(arrival() for _ in range(6)))
    for session in ("a", "b", "c", "b", "c", "a"):
        await state.arrive(session)
    assert [arguments[3] for _, arguments in connections.calls] == [0, 0, 0, 7, 7, 0]


async def test_reset_of_many_sessions_is_batched() -> None:
    names = [b"%d" % number for number in range(450)]
    state, connections = make_state(names, *[None] * 4)
    await state.reset(None, scenarios=True)
    assert connections.calls[0] == (scripts.NAMES, ())
    resets = [arguments for script, arguments in connections.calls if script is scripts.RESET]
    assert [len(arguments) for arguments in resets] == [2 + 2 * 200, 2 + 2 * 200, 2 + 2 * 50]
    assert all(arguments[:2] == (5, 1) for arguments in resets)
    assert [name for arguments in resets for name in arguments[2::2]] == names
    assert connections.calls[-1] == (scripts.RESET_OWN, (5, 1))


async def test_reset_of_one_session_keeps_other_scenarios() -> None:
    state, connections = make_state(None)
    await state.reset(SESSION)
    assert connections.calls == [(scripts.RESET, (5, 0, b"s", ALIAS.encode()))]
