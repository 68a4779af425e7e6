"""Sessions of a recording get their cassettes once, also concurrently and after an outage."""

import asyncio
from collections.abc import Mapping

import pytest

from scenarios_app.engine.canonical import Json
from scenarios_app.engine.memory import MemoryState
from scenarios_app.engine.state import StateUnavailable
from scenarios_app.serving.recorder.recordings import Recording
from tests.serving.pipelines import scenario, text_step


async def test_concurrent_requests_all_get_the_cassettes_of_their_session() -> None:
    class SlowState(MemoryState):
        async def scenarios_of(self, session: str) -> tuple[int, Mapping[str, Json]]:
            await asyncio.sleep(0.01)
            return await super().scenarios_of(session)

    state = SlowState()
    recording = Recording(None, "none", cassettes=(scenario("c", text_step("Hi!")),), state=state)

    async def give_cassettes() -> list[str]:
        await recording.give_cassettes("s")
        return [*(await MemoryState.scenarios_of(state, "s"))[1]]

    assert await asyncio.gather(give_cassettes(), give_cassettes()) == [["c"], ["c"]]


async def test_cassettes_are_added_after_an_outage() -> None:
    class FailingState(MemoryState):
        is_down = True

        async def scenarios_of(self, session: str) -> tuple[int, Mapping[str, Json]]:
            if self.is_down:
                raise StateUnavailable("no Redis")
            return await super().scenarios_of(session)

    state = FailingState()
    recording = Recording(None, "none", cassettes=(scenario("c", text_step("Hi!")),), state=state)
    with pytest.raises(StateUnavailable):
        await recording.give_cassettes("s")
    state.is_down = False
    await recording.give_cassettes("s")
    assert [*(await state.scenarios_of("s"))[1]] == ["c"]
