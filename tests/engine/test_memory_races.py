"""Concurrent requests for the state of one session."""

from collections.abc import Mapping

from scenarios_app.engine.canonical import Json
from scenarios_app.engine.memory import MemoryState
from scenarios_app.engine.state import StepRef, drop_scenario, put_scenario

STEP_1, STEP_2 = StepRef("s", "1", "one"), StepRef("s", "2", "two")


async def test_first_free_step_is_consumed() -> None:
    store = MemoryState()
    assert await store.consume("a", STEP_1)
    assert await store.consume_first("a", [STEP_1, STEP_2]) == 1
    assert await store.consume_first("a", [STEP_1, STEP_2]) is None
    assert await store.consume_first("b", [STEP_1, STEP_2]) == 0


class RacedState(MemoryState):
    """Another caller stores a scenario just before the first attempt."""

    is_raced = False

    async def replace_scenarios(
        self, session: str, documents: Mapping[str, Json], *, revision: int
    ) -> bool:
        if not self.is_raced:
            self.is_raced = True
            _, current_documents = await self.scenarios_of(session)
            assert await super().replace_scenarios(
                session, {**current_documents, "theirs": {}}, revision=revision
            )
        return await super().replace_scenarios(session, documents, revision=revision)


async def test_concurrent_writes_lose_no_scenario() -> None:
    store = RacedState()
    assert await put_scenario(store, "a", "ours", {})
    assert sorted((await store.scenarios_of("a"))[1]) == ["ours", "theirs"]
    store.is_raced = False
    assert await drop_scenario(store, "a", "ours")
    assert sorted((await store.scenarios_of("a"))[1]) == ["theirs"]
    assert not await drop_scenario(store, "a", "ours")
