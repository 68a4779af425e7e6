"""A StateStore agrees with a naive model, in any order of operations and from threads."""

import asyncio
from concurrent.futures import ThreadPoolExecutor

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from scenarios_app.engine.memory import MemoryState
from scenarios_app.engine.state import AttemptRef, StateStore, StepRef, drop_scenario, put_scenario
from tests.support.hypothesis_profiles import example_count

SESSIONS = st.sampled_from(["a", "b"])
SCENARIOS = st.sampled_from(["x", "y"])
EVERY_STEP = [StepRef(name, key, "label") for name in ("x", "y") for key in ("k1", "k2")]
STEPS = st.sampled_from(EVERY_STEP)
ATTEMPTS = st.builds(AttemptRef, STEPS, st.sampled_from(["openai", "anthropic"]))
COUNTERS = st.sampled_from(["calls", "errors"])


class StoreMachine(RuleBasedStateMachine):
    """The model is a list of all events, which is searched for each result."""

    def __init__(self) -> None:
        super().__init__()
        self.runner = asyncio.Runner()
        self.store = self.make_store()
        self.events: list[tuple[str, str, object]] = []
        self.documents: dict[tuple[str, str], int] = {}

    def make_store(self) -> StateStore:
        return MemoryState()

    def teardown(self) -> None:
        self.runner.close()

    def values_of(self, session: str, kind: str) -> list[object]:
        return [value for s, w, value in self.events if (s, w) == (session, kind)]

    @rule(session=SESSIONS)
    def arrive(self, session: str) -> None:
        self.events.append((session, "ordinal", None))
        arrival = self.runner.run(self.store.arrive(session))
        assert arrival.ordinal == len(self.values_of(session, "ordinal"))
        consumed_steps = self.values_of(session, "consume")
        assert all(
            ((step.scenario, step.key) in arrival.consumed) is (step in consumed_steps)
            for step in EVERY_STEP
        )
        documents = {n: d for (s, n), d in self.documents.items() if s == session}
        assert arrival.documents == documents
        assert (arrival.revision, documents) == self.runner.run(self.store.scenarios_of(session))

    @rule(session=SESSIONS, step=STEPS)
    def consume(self, session: str, step: StepRef) -> None:
        is_free = step not in self.values_of(session, "consume")
        assert self.runner.run(self.store.consume(session, step)) is is_free
        if is_free:
            self.events.append((session, "consume", step))

    @rule(session=SESSIONS, attempt=ATTEMPTS, times=st.integers(0, 3))
    def fail(self, session: str, attempt: AttemptRef, times: int) -> None:
        counts = self.values_of(session, "fail").count(attempt) < times
        assert self.runner.run(self.store.count_failure(session, attempt, times=times)) is counts
        if counts:
            self.events.append((session, "fail", attempt))

    @rule(session=SESSIONS, counter=COUNTERS)
    def count(self, session: str, counter: str) -> None:
        self.events.append((session, "count", counter))
        value = self.runner.run(self.store.increment(session, counter))
        assert value == self.values_of(session, "count").count(counter)

    @rule(session=SESSIONS, text=st.sampled_from(["one", "two"]))
    def violate(self, session: str, text: str) -> None:
        self.events.append((session, "violate", text))
        self.runner.run(self.store.add_violation(session, text))

    @rule(session=SESSIONS | st.none(), scenarios=st.booleans())
    def reset(self, session: str | None, scenarios: bool) -> None:
        reset_sessions = ("a", "b") if session is None else (session,)
        self.events = [event for event in self.events if event[0] not in reset_sessions]
        if scenarios:
            self.documents = {k: v for k, v in self.documents.items() if k[0] not in reset_sessions}
        self.runner.run(self.store.reset(session, scenarios=scenarios))

    @rule(scenario=SCENARIOS)
    def clear_scenario(self, scenario: str) -> None:
        def of_it(value: object) -> bool:
            step = value.step if isinstance(value, AttemptRef) else value
            return isinstance(step, StepRef) and step.scenario == scenario

        self.events = [event for event in self.events if not of_it(event[2])]
        self.runner.run(self.store.clear_scenario(scenario))

    @rule(session=SESSIONS, name=SCENARIOS, document=st.integers(0, 2))
    def put_scenario(self, session: str, name: str, document: int) -> None:
        is_new = (session, name) not in self.documents
        self.documents[session, name] = document
        assert self.runner.run(put_scenario(self.store, session, name, document)) is is_new

    @rule(session=SESSIONS, name=SCENARIOS)
    def drop_scenario(self, session: str, name: str) -> None:
        exists = self.documents.pop((session, name), None) is not None
        assert self.runner.run(drop_scenario(self.store, session, name)) is exists

    @invariant()
    def every_session_reads_as_the_model_says(self) -> None:
        for session in ("a", "b"):
            state = self.runner.run(self.store.read(session))
            attempts = self.values_of(session, "fail")
            counters = self.values_of(session, "count")
            assert state.session == session
            assert state.ordinal == len(self.values_of(session, "ordinal"))
            assert list(state.consumed) == self.values_of(session, "consume")
            assert list(state.attempts) == [(a, attempts.count(a)) for a in dict.fromkeys(attempts)]
            assert dict(state.counters) == {c: counters.count(c) for c in counters}
            assert list(state.violations) == self.values_of(session, "violate")
            _, own = self.runner.run(self.store.scenarios_of(session))
            assert own == {n: d for (s, n), d in self.documents.items() if s == session}

    @invariant()
    def sessions_are_those_with_anything(self) -> None:
        expected = {event[0] for event in self.events} | {session for session, _ in self.documents}
        assert self.runner.run(self.store.sessions()) == tuple(sorted(expected))


StoreMachine.TestCase.settings = settings(
    max_examples=example_count(100), stateful_step_count=30, deadline=None
)
TestStore = StoreMachine.TestCase


def test_loops_in_several_threads_share_one_store() -> None:
    """200 callers on four event loops want 50 steps: each step goes to exactly one caller."""
    store = MemoryState()
    steps = [StepRef("s", str(n), str(n)) for n in range(50)]

    async def consume_all() -> tuple[list[str], list[int]]:
        consumed_keys = [step.key for step in steps if await store.consume("a", step)]
        return consumed_keys, [(await store.arrive("a")).ordinal]

    async def consume_concurrently() -> list[tuple[list[str], list[int]]]:
        return await asyncio.gather(*(consume_all() for _ in range(50)))

    with ThreadPoolExecutor(4) as threads:
        results = [
            result
            for results_of_thread in threads.map(
                lambda _: asyncio.run(consume_concurrently()), range(4)
            )
            for result in results_of_thread
        ]
    assert sorted(key for consumed_keys, _ in results for key in consumed_keys) == sorted(
        s.key for s in steps
    )
    assert sorted(ordinal for _, ordinals in results for ordinal in ordinals) == [*range(1, 201)]
