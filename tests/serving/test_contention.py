"""Concurrent requests for the same steps: a request that loses a step gets the next free one."""

from collections.abc import Sequence

from scenarios_app.engine.matching.index import build_index
from scenarios_app.engine.matching.select import Decision
from scenarios_app.engine.memory import MemoryState
from scenarios_app.engine.scenario import Failures, Step
from scenarios_app.engine.state import AttemptRef, StepRef
from scenarios_app.serving.choose import CLAIM_BATCH, StepSelection
from tests.engine.match_builders import chat_request, scenario, step


class CountingState(MemoryState):
    """Counts the steps of each attempt to consume the first free one."""

    def __init__(self) -> None:
        super().__init__()
        self.batch_sizes: list[int] = []

    async def consume(self, session: str, step: StepRef) -> bool:
        return await super().consume_first(session, [step]) is not None

    async def consume_first(self, session: str, steps: Sequence[StepRef]) -> int | None:
        self.batch_sizes.append(len(steps))
        return await super().consume_first(session, steps)


async def choose_step(state: MemoryState, *steps: Step, others: int = 0) -> Decision:
    """Return the decision for a session whose first `others` steps are consumed by other
    requests."""
    for taken_step in steps[:others]:
        assert await state.consume("a", StepRef("s", taken_step.key, taken_step.label))
    index = build_index([scenario("s", *steps)])
    return await StepSelection(index, chat_request("hi"), "a", frozenset(), state).choose()


async def consumed_labels(state: MemoryState, session: str = "a") -> list[str]:
    return [ref.label for ref in (await state.read(session)).consumed]


async def test_the_next_free_step_answers() -> None:
    state = CountingState()
    decision = await choose_step(state, *(step(key=f"{number}") for number in range(5)), others=3)
    assert decision.step and (decision.kind, decision.way, decision.step.key) == (
        "step",
        "match",
        "3",
    )
    assert decision.attempt == 0
    assert await consumed_labels(state) == ["0", "1", "2", "3"]
    assert state.batch_sizes == [4]


async def test_free_steps_are_claimed_in_batches() -> None:
    state = CountingState()
    steps = [step(key=f"{number}") for number in range(CLAIM_BATCH + 10)]
    decision = await choose_step(state, *steps, others=CLAIM_BATCH + 5)
    assert decision.step and decision.step.key == f"{CLAIM_BATCH + 5}"
    # One step alone, then a batch, then one alone again before the rest.
    assert state.batch_sizes == [CLAIM_BATCH, 8]


async def test_step_with_failures_is_tried_alone() -> None:
    state = MemoryState()
    fails = step(key="fails", failures=Failures(times=1))
    steps = step(key="0"), step(key="1"), fails, step(key="last")
    decision = await choose_step(state, *steps, others=2)
    assert decision.step and (decision.kind, decision.step.key, decision.attempt) == (
        "failure",
        "fails",
        1,
    )
    assert await consumed_labels(state) == ["0", "1"]


async def test_step_that_is_not_consumed_is_tried_alone() -> None:
    state = CountingState()
    steps = step(key="0"), step(key="1"), step(key="stays", consume=False), step(key="last")
    decision = await choose_step(state, *steps, others=2)
    assert decision.step and decision.step.key == "stays"
    assert await consumed_labels(state) == ["0", "1"] and state.batch_sizes == [1]


async def test_attempts_are_counted_for_each_provider() -> None:
    state = MemoryState()
    fails = step(key="fails", failures=Failures(times=2))
    other = AttemptRef(StepRef("s", "fails", "fails"), "gemini")
    assert await state.count_failure("a", other, times=2)
    decision = await choose_step(state, fails)
    assert (decision.kind, decision.attempt) == ("failure", 1)


async def test_request_without_a_free_step_is_unmatched() -> None:
    state = MemoryState()
    decision = await choose_step(state, step(key="0"), step(key="1"), others=2)
    assert decision.kind == "unmatched"
