"""A StateStore in this process's memory with a limited number of sessions."""

from collections import OrderedDict, deque
from collections.abc import Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from threading import Lock
from types import MappingProxyType

from scenarios_app.engine.canonical import Json
from scenarios_app.engine.state import (
    MAX_RESPONSE_BYTES,
    MAX_RESPONSES,
    MAX_SESSIONS,
    MAX_VIOLATIONS,
    Arrival,
    AttemptRef,
    SessionState,
    StepRef,
    alias,
)


@dataclass(slots=True)
class _State:
    """The stored state of one session."""

    ordinal: int = 0
    consumed: dict[tuple[str, str], StepRef] = field(default_factory=dict)
    attempts: dict[tuple[str, str, str], tuple[AttemptRef, int]] = field(default_factory=dict)
    counters: dict[str, int] = field(default_factory=dict)
    violations: deque[str] = field(default_factory=lambda: deque(maxlen=MAX_VIOLATIONS))
    # Oldest first.
    responses: dict[str, bytes] = field(default_factory=dict)
    response_bytes: int = 0


@dataclass(frozen=True, slots=True)
class _SessionScenarios:
    """The scenarios of one `alias`, the session that stored them first, and all that used them."""

    session: str
    revision: int
    documents: Mapping[str, Json]
    names: set[str] = field(default_factory=set)


# What sessions without state and scenarios have; nothing changes it.
_NO_STATE = _State()
_NO_SCENARIOS = _SessionScenarios("", 0, MappingProxyType({}))


class MemoryState:
    """A StateStore that event loops in several threads can share: each operation holds the lock
    from start to end and awaits nothing. It keeps the `max_sessions` sessions used last."""

    def __init__(self, max_sessions: int = MAX_SESSIONS) -> None:
        self.max_sessions = max_sessions
        self.evicted_count = 0
        self._lock = Lock()
        # Least recently used first.
        self._states: OrderedDict[str, _State] = OrderedDict()
        # By the session's alias.
        self._scenarios: dict[str, _SessionScenarios] = {}
        self._revision = 0

    @classmethod
    def of_session(
        cls,
        state: SessionState,
        own: tuple[int, Mapping[str, Json]],
        responses: Mapping[str, bytes | None],
    ) -> "MemoryState":
        """Return a store with copies of one session's state, scenarios (after their revision) and
        responses."""
        store = cls()
        store._states[state.session] = _State(
            ordinal=state.ordinal,
            consumed={(step.scenario, step.key): step for step in state.consumed},
            attempts={
                (attempt.step.scenario, attempt.step.key, attempt.provider): (attempt, count)
                for attempt, count in state.attempts
            },
            counters=dict(state.counters),
            responses={name: data for name, data in responses.items() if data is not None},
        )
        if any(own):
            copy = _SessionScenarios(state.session, *own, {state.session})
            store._scenarios[alias(state.session)] = copy
        return store

    @property
    def session_count(self) -> int:
        """Number of sessions in memory."""
        return len(self._states)

    async def arrive(self, session: str) -> Arrival:
        """Count a request in its session and return the state that it finds."""
        with self._lock:
            state = self._state(session)
            state.ordinal += 1
            own = self._scenarios_for(session)
            return Arrival(state.ordinal, state.consumed.keys(), own.revision, own.documents)

    def peek(self, session: str) -> Arrival:
        """Return the state that a request of this session would find, without counting it: the
        `ordinal` is the latest request's, 0 for none."""
        with self._lock:
            state = self._states.get(session, _NO_STATE)
            own = self._scenarios_for(session)
            return Arrival(state.ordinal, state.consumed.keys(), own.revision, own.documents)

    def arrive_and_consume(self, session: str, step: StepRef | None) -> int | None:
        """Count a request in its session, consume the step, if any, and return the request's
        number. Return None, without counting, if the step is consumed already."""
        with self._lock:
            state = self._state(session)
            if step is not None:
                ref = step.scenario, step.key
                if ref in state.consumed:
                    return None
                state.consumed[ref] = step
            state.ordinal += 1
            return state.ordinal

    async def consume(self, session: str, step: StepRef) -> bool:
        """Consume a step; return False if the session has consumed it already."""
        return await self.consume_first(session, [step]) is not None

    async def consume_first(self, session: str, steps: Sequence[StepRef]) -> int | None:
        """Consume the first step that is not consumed; return its index, or None if all are."""
        with self._lock:
            consumed = self._state(session).consumed
            for place, step in enumerate(steps):
                if (step.scenario, step.key) not in consumed:
                    consumed[step.scenario, step.key] = step
                    return place
            return None

    async def count_failure(self, session: str, attempt: AttemptRef, *, times: int) -> bool:
        """Count a failed attempt and return True; False, uncounted, if `times` are counted."""
        key = (attempt.step.scenario, attempt.step.key, attempt.provider)
        with self._lock:
            attempts = self._state(session).attempts
            first, count = attempts.get(key, (attempt, 0))
            if count >= times:
                return False
            attempts[key] = (first, count + 1)
            return True

    async def increment(self, session: str, counter: str) -> int:
        with self._lock:
            counters = self._state(session).counters
            counters[counter] = counters.get(counter, 0) + 1
            return counters[counter]

    async def add_violation(self, session: str, violation: str) -> None:
        with self._lock:
            self._state(session).violations.append(violation)

    async def read(self, session: str) -> SessionState:
        with self._lock:
            state = self._states.get(session, _NO_STATE)
            return SessionState(
                session=session,
                ordinal=state.ordinal,
                consumed=tuple(state.consumed.values()),
                attempts=tuple(state.attempts.values()),
                counters=dict(state.counters),
                violations=tuple(state.violations),
            )

    async def sessions(self) -> tuple[str, ...]:
        """Return the names of all sessions with state or own scenarios, sorted."""
        with self._lock:
            names = {name for name, state in self._states.items() if state != _NO_STATE}
            with_state = {alias(name) for name in names} if self._scenarios else ()
            names |= {own.session for key, own in self._scenarios.items() if key not in with_state}
            return tuple(sorted(names))

    async def reset(self, session: str | None, *, scenarios: bool = False) -> None:
        """Delete a session's state (all sessions' for None), with `scenarios` its scenarios too."""
        with self._lock:
            if session is None:
                self._states.clear()
                if scenarios:
                    self._scenarios.clear()
                for own in tuple(self._scenarios.values()):
                    self._state(own.session)
            else:
                self._states.pop(session, None)
                if scenarios:
                    self._scenarios.pop(alias(session), None)
                elif alias(session) in self._scenarios:
                    self._state(session)

    async def clear_scenario(self, scenario: str, *, session: str | None = None) -> None:
        """Delete consumption and attempts of a scenario's steps, in all sessions (None) or in those
        that share a session's scenarios."""
        wanted = None if session is None else alias(session)
        with self._lock:
            for name, state in self._states.items():
                if wanted is None or alias(name) == wanted:
                    state.consumed = {k: v for k, v in state.consumed.items() if k[0] != scenario}
                    state.attempts = {k: v for k, v in state.attempts.items() if k[0] != scenario}

    async def remember_response(self, session: str, name: str, data: bytes) -> None:
        self.store_response(session, name, data)

    def store_response(self, session: str, name: str, data: bytes) -> None:
        """Store a response under a name and evict the oldest beyond the limits. This is
        `remember_response` for callers that cannot await."""
        with self._lock:
            state = self._state(session)
            _drop_response(state, name)
            state.responses[name] = data
            state.response_bytes += len(data)
            while len(state.responses) > 1 and (
                len(state.responses) > MAX_RESPONSES or state.response_bytes > MAX_RESPONSE_BYTES
            ):
                _drop_response(state, next(iter(state.responses)))

    async def recall_response(self, session: str, name: str) -> bytes | None:
        """Return the response that was stored under a name, or None."""
        with self._lock:
            return self._states.get(session, _NO_STATE).responses.get(name)

    async def recall_responses(self, session: str, prefix: str) -> dict[str, bytes]:
        with self._lock:
            responses = self._states.get(session, _NO_STATE).responses
            return {name: data for name, data in responses.items() if name.startswith(prefix)}

    async def forget_response(self, session: str, name: str) -> None:
        with self._lock:
            if state := self._states.get(session):
                _drop_response(state, name)

    async def replace_scenarios(
        self, session: str, documents: Mapping[str, Json], *, revision: int
    ) -> bool:
        """Replace the session's own scenarios and return True; False if `revision` is not theirs.
        Equal revisions mean equal scenarios."""
        with self._lock:
            if documents:
                self._state(session)
            own = self._scenarios.get(key := alias(session), _NO_SCENARIOS)
            if own.revision != revision:
                return False
            self._revision += 1
            if documents:
                self._scenarios[key] = _SessionScenarios(
                    own.session or session,
                    self._revision,
                    MappingProxyType(deepcopy(dict(documents))),
                    own.names | {session},
                )
            else:
                self._scenarios.pop(key, None)
            return True

    async def scenarios_of(self, session: str) -> tuple[int, Mapping[str, Json]]:
        """Return the revision (0: none) and the documents of the session's own scenarios."""
        with self._lock:
            own = self._scenarios_for(session)
            return own.revision, own.documents

    def drop_cached_scenarios(self, key: str | None = None) -> None:
        """Do nothing: unlike a store for several processes, this one caches no scenarios."""

    def _scenarios_for(self, session: str) -> _SessionScenarios:
        """Return the session's own scenarios and add it to their `names`; _NO_SCENARIOS if none."""
        own = self._scenarios.get(alias(session)) if self._scenarios else None
        if own is not None:
            own.names.add(session)
        return own or _NO_SCENARIOS

    def _state(self, session: str) -> _State:
        """Return the session's state and mark it as used now. If it is missing, create it and evict
        the least recently used session if there are more than `max_sessions`."""
        if (state := self._states.get(session)) is not None:
            self._states.move_to_end(session)
            return state
        state = self._states[session] = _State()
        if len(self._states) > self.max_sessions:
            name, _ = self._states.popitem(last=False)
            self.evicted_count += 1
            own = self._scenarios.get(key := alias(name)) if self._scenarios else None
            # Other sessions that have used its scenarios keep them.
            if own is not None and own.names.isdisjoint(self._states):
                del self._scenarios[key]
        return state


def _drop_response(state: _State, name: str) -> None:
    """Delete the response of this name, if any, and subtract its bytes."""
    state.response_bytes -= len(state.responses.pop(name, b""))
