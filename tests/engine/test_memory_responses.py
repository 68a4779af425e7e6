"""Answers that a session keeps: found under their names, the oldest given up first."""

from collections.abc import AsyncIterator

import pytest

from scenarios_app.engine import memory
from scenarios_app.engine.memory import MemoryState
from scenarios_app.engine.state import StateStore
from tests.engine.test_memory import STORES


@pytest.fixture(params=STORES, ids=lambda make: str(make.__name__))
async def store(request: pytest.FixtureRequest) -> AsyncIterator[StateStore]:
    store: StateStore = request.param()
    await store.reset(None, scenarios=True)
    yield store
    await store.reset(None, scenarios=True)


async def stored_responses(
    store: StateStore, *names: str, session: str = "a"
) -> list[bytes | None]:
    return [await store.recall_response(session, name) for name in names]


async def test_an_answer_is_found_under_its_name_in_its_session(store: StateStore) -> None:
    await store.remember_response("a", "r1", b"one")
    assert await stored_responses(store, "r1", "r2") == [b"one", None]
    assert await stored_responses(store, "r1", session="b") == [None]


async def test_a_name_is_kept_once(store: StateStore) -> None:
    await store.remember_response("a", "r1", b"one")
    await store.remember_response("a", "r1", b"another")
    assert await stored_responses(store, "r1") == [b"another"]


async def test_answers_are_found_by_how_their_names_begin(store: StateStore) -> None:
    assert await store.recall_responses("a", "r") == {}
    for name in ("r1", "s1", "r2"):
        await store.remember_response("a", name, name.encode())
    assert await store.recall_responses("a", "r") == {"r1": b"r1", "r2": b"r2"}
    assert await store.recall_responses("b", "r") == {}


async def test_an_answer_is_forgotten(store: StateStore) -> None:
    await store.remember_response("a", "r1", b"one")
    for name in ("r1", "r1", "never"):
        await store.forget_response("a", name)
    await store.forget_response("nobody", "r1")
    assert await stored_responses(store, "r1") == [None]


async def test_looking_for_one_makes_no_session(store: StateStore) -> None:
    await stored_responses(store, "r1")
    await store.forget_response("a", "r1")
    assert await store.sessions() == ()


async def test_a_session_that_keeps_something_is_listed(store: StateStore) -> None:
    await store.remember_response("a", "r1", b"one")
    assert await store.sessions() == ("a",)


@pytest.mark.parametrize("session", ["a", None])
async def test_a_reset_forgets_them(store: StateStore, session: str | None) -> None:
    await store.remember_response("a", "r1", b"one")
    await store.remember_response("b", "r1", b"one")
    await store.reset(session)
    assert await stored_responses(store, "r1") == [None]
    assert await stored_responses(store, "r1", session="b") == [b"one" if session else None]


async def test_the_oldest_go_when_there_are_too_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "MAX_RESPONSES", 2)
    store = MemoryState()
    for name in ("r1", "r2", "r1", "r3"):
        await store.remember_response("a", name, b"x")
    assert await stored_responses(store, "r1", "r2", "r3") == [b"x", None, b"x"]


async def test_the_oldest_go_when_they_are_too_large(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "MAX_RESPONSE_BYTES", 10)
    store = MemoryState()
    for name in ("r1", "r2", "r3"):
        await store.remember_response("a", name, b"1234")
    assert await stored_responses(store, "r1", "r2", "r3") == [None, b"1234", b"1234"]
    await store.forget_response("a", "r2")
    await store.remember_response("a", "r4", b"123456")
    assert await stored_responses(store, "r3", "r4") == [b"1234", b"123456"]


async def test_the_newest_stays_however_large(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "MAX_RESPONSE_BYTES", 10)
    store = MemoryState()
    await store.remember_response("a", "r1", b"1")
    await store.remember_response("a", "r2", b"x" * 11)
    assert await stored_responses(store, "r1", "r2") == [None, b"x" * 11]


async def test_replacing_a_scenario_leaves_them(store: StateStore) -> None:
    await store.remember_response("a", "r1", b"one")
    await store.clear_scenario("weather")
    assert await stored_responses(store, "r1") == [b"one"]
