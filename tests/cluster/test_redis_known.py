"""What a process knows of what is in Redis: it asks for the rest alone, and answers of that while
Redis is away. What Redis would say is given."""

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
OWN = {"one": {"steps": []}}


class Said:
    """In place of connections: notes what is asked, and answers what it was told to."""

    channel = b"bus"
    moment = 0

    def __init__(self, *answers: Any) -> None:
        self.answers = list(answers)
        self.asked: list[tuple[Any, tuple[Any, ...]]] = []

    async def run(self, wanted: Any, *arguments: Any) -> Any:
        self.asked.append((wanted, arguments))
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer


def told(*answers: Any) -> tuple[RedisState, Said]:
    said = Said(*answers)
    return RedisState(cast(Connections, said), 5), said


def entry(key: str) -> bytes:
    return b"1:w%d:%blabel" % (len(key), key.encode())


def arrival(
    epoch: int = 7, start: int = 0, keys: Iterable[str] = "", revision: int = 0, own: Any = None
) -> list[Any]:
    """What Redis says of an arrival."""
    documents = b"" if own is None else json.dumps(own).encode()
    entries = [entry(key) for key in keys]
    return [1, b"%d" % epoch, start, entries, b"%d" % revision, documents, b"4", 99, 2, b"3"]


def keys(found: Arrival) -> list[str]:
    return [key for _, key in cast(Iterable[tuple[str, str]], found.consumed)]


def away() -> StateUnavailable:
    return StateUnavailable("away")


async def test_nothing_is_known_before_the_first_answer() -> None:
    state, said = told(arrival())
    assert (state.session_count, state.evicted_count) == (0, 0)
    found = await state.arrive(SESSION)
    assert said.asked == [(scripts.ARRIVE, (b"s", ALIAS.encode(), 5, 0, 0, 0))]
    assert found == Arrival(1, {}.keys(), 0, {}, 4)
    assert (state.session_count, state.evicted_count, said.moment) == (2, 3, 99)


async def test_consume_first_works_without_cached_state() -> None:
    state, said = told([1, b"7", 0, [entry("a")]], [0, b"7", 1, [entry("b")]])
    assert await state.consume(SESSION, StepRef("w", "a", "label"))
    assert not await state.consume(SESSION, StepRef("w", "b", "label"))
    assert [arguments[3:5] for _, arguments in said.asked] == [(0, 0), (7, 1)]


async def test_cached_state_is_not_read_again() -> None:
    state, said = told(arrival(keys="ab", revision=6, own=OWN), arrival(start=2, revision=6))
    first = await state.arrive(SESSION)
    assert (first.revision, first.documents, keys(first)) == (6, OWN, ["a", "b"])
    second = await state.arrive(SESSION)
    assert said.asked[1][1][3:] == (7, 2, 6)
    assert (second.revision, second.documents, keys(second)) == (6, OWN, ["a", "b"])


async def test_own_scenarios_that_are_gone_are_forgotten() -> None:
    state, said = told(arrival(revision=6, own=OWN), arrival(), arrival())
    await state.arrive(SESSION)
    assert (await state.arrive(SESSION))[2:4] == (0, {})
    await state.arrive(SESSION)
    assert said.asked[2][1][5] == 0


@pytest.mark.parametrize("changed", [ALIAS, None])
async def test_own_scenarios_that_may_have_changed_are_asked_for(changed: str | None) -> None:
    state, said = told(*(arrival(revision=6, own=OWN) for _ in range(3)))
    await state.arrive(SESSION)
    state.drop_cached_scenarios("another")
    await state.arrive(SESSION)
    state.drop_cached_scenarios(changed)
    await state.arrive(SESSION)
    assert [arguments[5] for _, arguments in said.asked] == [0, 6, 0]


async def test_answers_may_come_out_of_order() -> None:
    state, _ = told(
        arrival(keys="ab"),
        # An answer to a request from before the others were known.
        arrival(start=1, keys="bc"),
        # An answer that begins after steps that this process does not know.
        arrival(start=5, keys="z"),
        # A list of an earlier epoch.
        arrival(epoch=6, keys="xyz"),
    )
    known = [keys(await state.arrive(SESSION)) for _ in range(4)]
    assert known == [["a", "b"], *[["a", "b", "c"]] * 3]


async def test_a_later_list_takes_the_place_of_the_one_before() -> None:
    state, _ = told(arrival(keys="ab"), arrival(epoch=8, keys="c"))
    await state.arrive(SESSION)
    assert keys(await state.arrive(SESSION)) == ["c"]


async def test_while_redis_is_away_who_is_known_arrives(monkeypatch: pytest.MonkeyPatch) -> None:
    state, _ = told(arrival(keys="a", revision=6, own=OWN), away())
    await state.arrive(SESSION)
    # Ordinals use no more bits than a JSON number has.
    monkeypatch.setattr(random, "getrandbits", lambda bits: bits)
    assert await state.arrive(SESSION) == Arrival(-54, frozenset(), 6, OWN)


async def test_while_redis_is_away_nobody_else_arrives() -> None:
    state, _ = told(away())
    with pytest.raises(StateUnavailable):
        await state.arrive(SESSION)


async def test_the_sessions_that_came_last_are_known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shared, "MAX_CACHED_SESSIONS", 2)
    state, said = told(*(arrival() for _ in range(6)))
    for session in ("a", "b", "c", "b", "c", "a"):
        await state.arrive(session)
    assert [arguments[3] for _, arguments in said.asked] == [0, 0, 0, 7, 7, 0]


async def test_a_reset_of_many_goes_two_hundred_at_a_time() -> None:
    names = [b"%d" % number for number in range(450)]
    state, said = told(names, *[None] * 4)
    await state.reset(None, scenarios=True)
    assert said.asked[0] == (scripts.NAMES, ())
    resets = [arguments for wanted, arguments in said.asked if wanted is scripts.RESET]
    assert [len(arguments) for arguments in resets] == [2 + 2 * 200, 2 + 2 * 200, 2 + 2 * 50]
    assert all(arguments[:2] == (5, 1) for arguments in resets)
    assert [name for arguments in resets for name in arguments[2::2]] == names
    assert said.asked[-1] == (scripts.RESET_OWN, (5, 1))


async def test_a_reset_of_one_leaves_the_own_scenarios_of_all_others() -> None:
    state, said = told(None)
    await state.reset(SESSION)
    assert said.asked == [(scripts.RESET, (5, 0, b"s", ALIAS.encode()))]
