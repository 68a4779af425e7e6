"""Stored responses of a session: found by name, the oldest evicted first."""

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


async def test_stored_response_is_found_by_name_in_its_session(store: StateStore) -> None:
    await store.remember_response("a", "r1", b"one")
    assert await stored_responses(store, "r1", "r2") == [b"one", None]
    assert await stored_responses(store, "r1", session="b") == [None]


async def test_stored_response_of_the_same_name_is_replaced(store: StateStore) -> None:
    await store.remember_response("a", "r1", b"one")
    await store.remember_response("a", "r1", b"another")
    assert await stored_responses(store, "r1") == [b"another"]


async def test_stored_responses_are_found_by_prefix(store: StateStore) -> None:
    assert await store.recall_responses("a", "r") == {}
    for name in ("r1", "s1", "r2"):
        await store.remember_response("a", name, name.encode())
    assert await store.recall_responses("a", "r") == {"r1": b"r1", "r2": b"r2"}
    assert await store.recall_responses("b", "r") == {}


async def test_stored_response_is_deleted(store: StateStore) -> None:
    await store.remember_response("a", "r1", b"one")
    for name in ("r1", "r1", "never"):
        await store.forget_response("a", name)
    await store.forget_response("nobody", "r1")
    assert await stored_responses(store, "r1") == [None]


async def test_recalling_a_response_creates_no_session(store: StateStore) -> None:
    await stored_responses(store, "r1")
    await store.forget_response("a", "r1")
    assert await store.sessions() == ()


async def test_session_with_a_stored_response_is_listed(store: StateStore) -> None:
    await store.remember_response("a", "r1", b"one")
    assert await store.sessions() == ("a",)


@pytest.mark.parametrize("session", ["a", None])
async def test_reset_deletes_stored_responses(store: StateStore, session: str | None) -> None:
    await store.remember_response("a", "r1", b"one")
    await store.remember_response("b", "r1", b"one")
    await store.reset(session)
    assert await stored_responses(store, "r1") == [None]
    assert await stored_responses(store, "r1", session="b") == [b"one" if session else None]


async def test_oldest_responses_are_evicted_by_number(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "MAX_RESPONSES", 2)
    store = MemoryState()
    for name in ("r1", "r2", "r1", "r3"):
        await store.remember_response("a", name, b"x")
    assert await stored_responses(store, "r1", "r2", "r3") == [b"x", None, b"x"]


async def test_oldest_responses_are_evicted_by_size(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "MAX_RESPONSE_BYTES", 10)
    store = MemoryState()
    for name in ("r1", "r2", "r3"):
        await store.remember_response("a", name, b"1234")
    assert await stored_responses(store, "r1", "r2", "r3") == [None, b"1234", b"1234"]
    await store.forget_response("a", "r2")
    await store.remember_response("a", "r4", b"123456")
    assert await stored_responses(store, "r3", "r4") == [b"1234", b"123456"]


async def test_newest_response_is_kept_even_if_too_large(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "MAX_RESPONSE_BYTES", 10)
    store = MemoryState()
    await store.remember_response("a", "r1", b"1")
    await store.remember_response("a", "r2", b"x" * 11)
    assert await stored_responses(store, "r1", "r2") == [None, b"x" * 11]


async def test_replacing_a_scenario_keeps_stored_responses(store: StateStore) -> None:
    await store.remember_response("a", "r1", b"one")
    await store.clear_scenario("weather")
    assert await stored_responses(store, "r1") == [b"one"]
