"""The state that sessions keep between requests, as protocols that memory and Redis implement."""

import hashlib
import re
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import NamedTuple, Protocol

from scenarios_app.engine.canonical import Json

# Limits of the answers stored in a session for APIs that return them again.
MAX_RESPONSES = 1_000
MAX_RESPONSE_BYTES = 33_554_432
# Only the latest violations are kept; the journal has all with their requests.
MAX_VIOLATIONS = 1_000
# Default number of sessions that a process keeps.
MAX_SESSIONS = 100_000

_KEY_SESSION = re.compile(r"key-[0-9a-f]{12}")


@lru_cache(maxsize=1024)
def key_session(key: str) -> str:
    """Return the name of an API key's session: `key-` and 12 hex digits of the key's SHA-256."""
    return "key-" + hashlib.sha256(key.encode("utf-8", "surrogatepass")).hexdigest()[:12]


def is_key_session(name: str) -> bool:
    """Return True if a session's name has the form of those by `key_session`."""
    return _KEY_SESSION.fullmatch(name) is not None


def alias(session: str) -> str:
    """Return the key of a session's own scenarios: a name by `key_session` unchanged, else
    `key_session(session)`. So an API key's session shares them with one named by the key's text."""
    return session if is_key_session(session) else key_session(session)


@dataclass(frozen=True, slots=True)
class StepRef:
    """A step as sessions store it. Scenario and `key` identify it; `label` is for people."""

    scenario: str
    key: str
    label: str


@dataclass(frozen=True, slots=True)
class AttemptRef:
    """The key by which a session counts a step's scripted failures, for each provider apart."""

    step: StepRef
    provider: str


@dataclass(frozen=True, slots=True)
class SessionState:
    """A copy of one session's state without stored responses: its latest request's number, consumed
    steps, failed attempts with their counts, counters and violations, in order of occurrence."""

    session: str
    ordinal: int = 0
    consumed: tuple[StepRef, ...] = ()
    attempts: tuple[tuple[AttemptRef, int], ...] = ()
    counters: Mapping[str, int] = field(default_factory=dict)
    violations: tuple[str, ...] = ()


class Arrival(NamedTuple):
    """The session state that a request finds on arrival.

    `ordinal` is the request's number from 1, or a random negative number while the store cannot be
    reached. `consumed` holds scenario and key of every consumed step and may still grow.
    `documents` are the session's own scenarios by name with their `revision`, 0 if there are none.
    `changes` identifies the latest change of the common scenarios, 0 without other processes.
    """

    ordinal: int
    consumed: Container[tuple[str, str]]
    revision: int
    documents: Mapping[str, Json]
    changes: int = 0


class StateUnavailable(Exception):
    """The state of sessions cannot be reached; the message is for clients."""


class SessionReader(Protocol):
    """Reads the state of sessions and raises StateUnavailable if it cannot be reached."""

    async def read(self, session: str) -> SessionState:
        """Return the session's current state; that of an unknown session is empty."""

    async def recall_response(self, session: str, name: str) -> bytes | None:
        """Return the bytes stored under a name by `remember_response`, or None."""

    async def recall_responses(self, session: str, prefix: str) -> Mapping[str, bytes]:
        """Return all stored responses whose names start with `prefix`, by name, oldest first."""

    async def scenarios_of(self, session: str) -> tuple[int, Mapping[str, Json]]:
        """Return the session's own scenarios: their revision (0: none) and documents by name."""


class AnswerState(SessionReader, Protocol):
    """The operations on a session's state that answer a request. Each is atomic and raises
    StateUnavailable if the state cannot be reached; counts are never taken back."""

    async def arrive(self, session: str) -> Arrival:
        """Count a request in its session and return the state that it finds. A store may answer
        from its cache, without counting, if the state cannot be reached."""

    async def consume(self, session: str, step: StepRef) -> bool:
        """Consume a step; return False if the session has consumed it already."""

    async def consume_first(self, session: str, steps: Sequence[StepRef]) -> int | None:
        """Consume the first step that is not consumed; return its index, or None if all are."""

    async def count_failure(self, session: str, attempt: AttemptRef, *, times: int) -> bool:
        """Count a failed attempt and return True; False, uncounted, if `times` are counted."""

    async def increment(self, session: str, counter: str) -> int:
        """Increment a counter, at first 0, and return its new value."""

    async def add_violation(self, session: str, violation: str) -> None:
        """Store the text of a violated expectation; only the latest MAX_VIOLATIONS are kept."""

    async def remember_response(self, session: str, name: str, data: bytes) -> None:
        """Store a response under a name, in place of an older one, for APIs that return it again.
        Beyond MAX_RESPONSES or MAX_RESPONSE_BYTES the oldest are evicted, but never the newest."""

    async def forget_response(self, session: str, name: str) -> None:
        """Delete a stored response, if there is one of this name."""


class StateStore(AnswerState, Protocol):
    """All state of sessions, of one process or several.

    The number of sessions is limited: the least recently used one is evicted with its scenarios. A
    request under way in an evicted session continues in a new session of its name.
    """

    async def sessions(self) -> tuple[str, ...]:
        """Return the names of all sessions with state or own scenarios, sorted."""

    async def reset(self, session: str | None, *, scenarios: bool = False) -> None:
        """Delete a session's state (all sessions' for None), with `scenarios` its scenarios too."""

    async def clear_scenario(self, scenario: str, *, session: str | None = None) -> None:
        """Delete consumption and attempts of a scenario's steps, in all sessions (None) or in those
        that share a session's scenarios."""

    async def replace_scenarios(
        self, session: str, documents: Mapping[str, Json], *, revision: int
    ) -> bool:
        """Replace a session's own scenarios, by name, if `revision` is still theirs (0: there are
        none); return False, without a change, if not. No documents delete them. Sessions with the
        same `alias` share their scenarios."""


async def put_scenario(store: StateStore, session: str, name: str, document: Json) -> bool:
    """Add a document to a session's own scenarios; return False if it replaced one of its name."""
    while True:
        revision, documents = await store.scenarios_of(session)
        if await store.replace_scenarios(session, {**documents, name: document}, revision=revision):
            return name not in documents


async def drop_scenario(store: StateStore, session: str, name: str) -> bool:
    """Remove a session's own scenario by its name; return False if there is none."""
    while True:
        revision, documents = await store.scenarios_of(session)
        if name not in documents:
            return False
        remaining = {other: document for other, document in documents.items() if other != name}
        if await store.replace_scenarios(session, remaining, revision=revision):
            return True
