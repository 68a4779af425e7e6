"""Many ask for the same steps at once: who comes too late for one gets the next that is free."""

from collections.abc import Sequence

from scenarios_app.engine.matching.index import build_index
from scenarios_app.engine.matching.select import Decision
from scenarios_app.engine.memory import MemoryState
from scenarios_app.engine.scenario import Failures, Step
from scenarios_app.engine.state import AttemptRef, StepRef
from scenarios_app.serving.choose import CLAIM_BATCH, StepSelection
from tests.engine.match_builders import chat_request, scenario, step


class Watched(MemoryState):
    """Notes how many steps are asked for at once."""

    def __init__(self) -> None:
        super().__init__()
        self.at_once: list[int] = []

    async def consume(self, session: str, step: StepRef) -> bool:
        return await super().consume_first(session, [step]) is not None

    async def consume_first(self, session: str, steps: Sequence[StepRef]) -> int | None:
        self.at_once.append(len(steps))
        return await super().consume_first(session, steps)


async def chosen(state: MemoryState, *steps: Step, others: int = 0) -> Decision:
    """What answers a session that has seen nothing yet of the first steps' being taken."""
    for one in steps[:others]:
        assert await state.consume("a", StepRef("s", one.key, one.label))
    index = build_index([scenario("s", *steps)])
    return await StepSelection(index, chat_request("hi"), "a", frozenset(), state).choose()


async def taken(state: MemoryState, session: str = "a") -> list[str]:
    return [ref.label for ref in (await state.read(session)).consumed]


async def test_the_next_free_step_answers() -> None:
    state = Watched()
    found = await chosen(state, *(step(key=f"{number}") for number in range(5)), others=3)
    assert found.step and (found.kind, found.way, found.step.key) == ("step", "match", "3")
    assert found.attempt == 0
    assert await taken(state) == ["0", "1", "2", "3"]
    assert state.at_once == [4]


async def test_free_steps_are_claimed_in_batches() -> None:
    state = Watched()
    steps = [step(key=f"{number}") for number in range(CLAIM_BATCH + 10)]
    found = await chosen(state, *steps, others=CLAIM_BATCH + 5)
    assert found.step and found.step.key == f"{CLAIM_BATCH + 5}"
    # One step alone, then a batch, then one alone again before the rest.
    assert state.at_once == [CLAIM_BATCH, 8]


async def test_a_step_that_fails_first_is_tried_by_itself() -> None:
    state = MemoryState()
    fails = step(key="fails", failures=Failures(times=1))
    steps = step(key="0"), step(key="1"), fails, step(key="last")
    found = await chosen(state, *steps, others=2)
    assert found.step and (found.kind, found.step.key, found.attempt) == ("failure", "fails", 1)
    assert await taken(state) == ["0", "1"]


async def test_a_step_that_stays_is_tried_by_itself() -> None:
    state = Watched()
    steps = step(key="0"), step(key="1"), step(key="stays", consume=False), step(key="last")
    found = await chosen(state, *steps, others=2)
    assert found.step and found.step.key == "stays"
    assert await taken(state) == ["0", "1"] and state.at_once == [1]


async def test_attempts_through_another_provider_are_its_own() -> None:
    state = MemoryState()
    fails = step(key="fails", failures=Failures(times=2))
    other = AttemptRef(StepRef("s", "fails", "fails"), "gemini")
    assert await state.count_failure("a", other, times=2)
    found = await chosen(state, fails)
    assert (found.kind, found.attempt) == ("failure", 1)


async def test_nothing_is_left() -> None:
    state = MemoryState()
    found = await chosen(state, step(key="0"), step(key="1"), others=2)
    assert found.kind == "unmatched"
