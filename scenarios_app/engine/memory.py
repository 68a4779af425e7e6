"""What sessions remember, kept in this process's memory."""

from collections.abc import Mapping
from copy import deepcopy
from dataclasses import dataclass, field
from threading import Lock
from types import MappingProxyType

from scenarios_app.engine.canonical import Json
from scenarios_app.engine.state import (
    RESPONSE_BYTES,
    RESPONSES,
    AttemptRef,
    SessionState,
    StepRef,
    alias,
)


@dataclass(slots=True)
class _State:
    ordinal: int = 0
    consumed: dict[tuple[str, str], StepRef] = field(default_factory=dict)
    attempts: dict[tuple[str, str, str], tuple[AttemptRef, int]] = field(default_factory=dict)
    counters: dict[str, int] = field(default_factory=dict)
    violations: list[str] = field(default_factory=list)
    # The oldest first.
    responses: dict[str, bytes] = field(default_factory=dict)
    response_bytes: int = 0


@dataclass(frozen=True, slots=True)
class _Own:
    """A session's own scenarios, and the name that it was called by when it got the first."""

    session: str
    revision: int
    documents: Mapping[str, Json]


_NONE = _Own("", 0, MappingProxyType({}))


class MemoryState:
    """A StateStore. Several event loops in several threads may share one: each operation holds the
    lock from its first to its last line and awaits nothing."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._states: dict[str, _State] = {}
        # By the session's alias.
        self._own: dict[str, _Own] = {}
        self._revision = 0

    async def next_ordinal(self, session: str) -> int:
        with self._lock:
            state = self._state(session)
            state.ordinal += 1
            return state.ordinal

    async def consume(self, session: str, step: StepRef) -> bool:
        with self._lock:
            consumed = self._state(session).consumed
            free = (step.scenario, step.key) not in consumed
            if free:
                consumed[step.scenario, step.key] = step
            return free

    async def fail(self, session: str, attempt: AttemptRef, *, times: int) -> bool:
        key = (attempt.step.scenario, attempt.step.key, attempt.provider)
        with self._lock:
            attempts = self._state(session).attempts
            first, count = attempts.get(key, (attempt, 0))
            if count >= times:
                return False
            attempts[key] = (first, count + 1)
            return True

    async def count(self, session: str, counter: str) -> int:
        with self._lock:
            counters = self._state(session).counters
            counters[counter] = counters.get(counter, 0) + 1
            return counters[counter]

    async def violate(self, session: str, violation: str) -> None:
        with self._lock:
            self._state(session).violations.append(violation)

    async def read(self, session: str) -> SessionState:
        with self._lock:
            state = self._states.get(session, _State())
            return SessionState(
                session=session,
                ordinal=state.ordinal,
                consumed=tuple(state.consumed.values()),
                attempts=tuple(state.attempts.values()),
                counters=dict(state.counters),
                violations=tuple(state.violations),
            )

    async def sessions(self) -> tuple[str, ...]:
        with self._lock:
            names = {name for name, state in self._states.items() if state != _State()}
            known = {alias(name) for name in names} if self._own else ()
            names.update(own.session for key, own in self._own.items() if key not in known)
            return tuple(sorted(names))

    async def reset(self, session: str | None, *, scenarios: bool = False) -> None:
        with self._lock:
            if session is None:
                self._states.clear()
                if scenarios:
                    self._own.clear()
            else:
                self._states.pop(session, None)
                if scenarios:
                    self._own.pop(alias(session), None)

    async def clear_scenario(self, scenario: str, *, session: str | None = None) -> None:
        wanted = None if session is None else alias(session)
        with self._lock:
            for name, state in self._states.items():
                if wanted is None or alias(name) == wanted:
                    _forget(state, scenario)

    async def remember_response(self, session: str, name: str, data: bytes) -> None:
        with self._lock:
            state = self._state(session)
            _drop_response(state, name)
            state.responses[name] = data
            state.response_bytes += len(data)
            while len(state.responses) > 1 and (
                len(state.responses) > RESPONSES or state.response_bytes > RESPONSE_BYTES
            ):
                _drop_response(state, next(iter(state.responses)))

    async def recall_response(self, session: str, name: str) -> bytes | None:
        with self._lock:
            state = self._states.get(session)
            return state.responses.get(name) if state else None

    async def forget_response(self, session: str, name: str) -> None:
        with self._lock:
            if state := self._states.get(session):
                _drop_response(state, name)

    async def put_scenario(self, session: str, name: str, document: Json) -> bool:
        with self._lock:
            own = self._own.get(alias(session), _NONE)
            self._keep(session, {**own.documents, name: deepcopy(document)})
            return name not in own.documents

    async def drop_scenario(self, session: str, name: str) -> bool:
        with self._lock:
            own = self._own.get(alias(session), _NONE)
            if name not in own.documents:
                return False
            self._keep(session, {n: d for n, d in own.documents.items() if n != name})
            return True

    async def scenarios_of(self, session: str) -> tuple[int, Mapping[str, Json]]:
        with self._lock:
            own = self._own.get(alias(session), _NONE) if self._own else _NONE
            return own.revision, own.documents

    def _state(self, session: str) -> _State:
        return self._states.setdefault(session, _State())

    def _keep(self, session: str, documents: dict[str, Json]) -> None:
        """No number is used twice, so that equal numbers mean equal scenarios."""
        self._revision += 1
        key = alias(session)
        if documents:
            first = self._own.get(key, _NONE).session or session
            self._own[key] = _Own(first, self._revision, MappingProxyType(documents))
        else:
            del self._own[key]


def _forget(state: _State, scenario: str) -> None:
    """Forget a scenario's steps."""
    state.consumed = {k: v for k, v in state.consumed.items() if k[0] != scenario}
    state.attempts = {k: v for k, v in state.attempts.items() if k[0] != scenario}


def _drop_response(state: _State, name: str) -> None:
    state.response_bytes -= len(state.responses.pop(name, b""))
