"""What several requests ask of a session's state at the same moment."""

from collections.abc import Mapping

from scenarios_app.engine.canonical import Json
from scenarios_app.engine.memory import MemoryState
from scenarios_app.engine.state import StepRef, drop_scenario, put_scenario

ONE, TWO = StepRef("s", "1", "one"), StepRef("s", "2", "two")


async def test_the_first_of_several_steps_that_is_free_is_taken() -> None:
    store = MemoryState()
    assert await store.consume("a", ONE)
    assert await store.consume_first("a", [ONE, TWO]) == 1
    assert await store.consume_first("a", [ONE, TWO]) is None
    assert await store.consume_first("b", [ONE, TWO]) == 0


class Raced(MemoryState):
    """Somebody else keeps a scenario just before the first attempt to."""

    raced = False

    async def replace_scenarios(
        self, session: str, documents: Mapping[str, Json], *, revision: int
    ) -> bool:
        if not self.raced:
            self.raced = True
            _, documents_now = await self.scenarios_of(session)
            assert await super().replace_scenarios(
                session, {**documents_now, "theirs": {}}, revision=revision
            )
        return await super().replace_scenarios(session, documents, revision=revision)


async def test_nobodys_scenario_is_lost_to_a_race() -> None:
    store = Raced()
    assert await put_scenario(store, "a", "ours", {})
    assert sorted((await store.scenarios_of("a"))[1]) == ["ours", "theirs"]
    store.raced = False
    assert await drop_scenario(store, "a", "ours")
    assert sorted((await store.scenarios_of("a"))[1]) == ["theirs"]
    assert not await drop_scenario(store, "a", "ours")
