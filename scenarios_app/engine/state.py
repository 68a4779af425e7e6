"""What a session remembers between requests, behind a protocol that memory and Redis can keep."""

import hashlib
import re
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import NamedTuple, Protocol

from scenarios_app.engine.canonical import Json

# What a session keeps of its answers, where a wire's API hands them out again.
RESPONSES = 1_000
RESPONSE_BYTES = 33_554_432
# The latest of what was violated; the journal has each with its request.
VIOLATIONS = 1_000
# What a process remembers sessions of, unless it is told otherwise.
SESSIONS = 100_000

_OF_A_KEY = re.compile(r"key-[0-9a-f]{12}")


@lru_cache(maxsize=1024)
def key_session(key: str) -> str:
    """The name under which a key's session is stored and shown, from which none gets the key."""
    return "key-" + hashlib.sha256(key.encode("utf-8", "surrogatepass")).hexdigest()[:12]


def is_key_session(name: str) -> bool:
    """Whether a session has the name that stands for some API key."""
    return _OF_A_KEY.fullmatch(name) is not None


def alias(session: str) -> str:
    """One name for the session called so and for the session of the key that reads so: a
    client that is given one of them before its first request cannot know which is meant."""
    return session if is_key_session(session) else key_session(session)


@dataclass(frozen=True, slots=True)
class StepRef:
    """A step as the state knows it. `key` identifies it; `label` is what people read."""

    scenario: str
    key: str
    label: str


@dataclass(frozen=True, slots=True)
class AttemptRef:
    """What failing attempts are counted by, within a session."""

    step: StepRef
    provider: str


@dataclass(frozen=True, slots=True)
class SessionState:
    """A copy of one session's state, in the order in which it came about."""

    session: str
    ordinal: int = 0
    consumed: tuple[StepRef, ...] = ()
    attempts: tuple[tuple[AttemptRef, int], ...] = ()
    counters: Mapping[str, int] = field(default_factory=dict)
    violations: tuple[str, ...] = ()


class Arrival(NamedTuple):
    """What a request finds in its session when it arrives.

    `ordinal` is its number there, from 1; below 0 it is one that nothing else has, where the number
    cannot be had. `consumed` holds scenario and key of every step that is taken, and may go on to
    grow. `documents` are the session's own scenarios, and `revision` is a number that changes with
    them. `changes` names the latest change of the common ones, 0 where no other process has any.
    """

    ordinal: int
    consumed: Container[tuple[str, str]]
    revision: int
    documents: Mapping[str, Json]
    changes: int = 0


class StateUnavailable(Exception):
    """What is remembered of sessions cannot be reached now; the message says so to clients."""


class SessionReader(Protocol):
    """What can be read of sessions; nothing moves by it."""

    async def read(self, session: str) -> SessionState:
        """The session's state as it is now; an unknown session is an empty one."""

    async def recall_response(self, session: str, name: str) -> bytes | None:
        """An answer that the session keeps, None where there is none of that name."""

    async def recall_responses(self, session: str, prefix: str) -> Mapping[str, bytes]:
        """All that the session keeps under names that begin so, in the order of their coming."""

    async def scenarios_of(self, session: str) -> tuple[int, Mapping[str, Json]]:
        """The session's own documents by name, and a number that changes with them."""


class AnswerState(SessionReader, Protocol):
    """What the answer to a request moves in its session. Operations are atomic. Nothing that was
    counted is ever given back. Each raises StateUnavailable where that cannot be known."""

    async def arrive(self, session: str) -> Arrival:
        """Count a request in its session."""

    async def consume(self, session: str, step: StepRef) -> bool:
        """Take a step; true for exactly one caller per session."""

    async def consume_first(self, session: str, steps: Sequence[StepRef]) -> int | None:
        """Take the first of these that is not taken: its place among them, None if all are."""

    async def fail(self, session: str, attempt: AttemptRef, *, times: int) -> bool:
        """Count a failing attempt while fewer than `times` are counted; true if it was counted."""

    async def count(self, session: str, counter: str) -> int:
        """Add one to a counter and give its new value."""

    async def violate(self, session: str, violation: str) -> None:
        """Remember a violated expectation; of a session the latest `VIOLATIONS` are known."""

    async def remember_response(self, session: str, name: str, data: bytes) -> None:
        """Keep an answer under its name, in place of an older one of that name. Of a session's
        answers the latest `RESPONSES` are kept, and of these no more than `RESPONSE_BYTES` hold;
        the newest always is."""

    async def forget_response(self, session: str, name: str) -> None:
        """Keep an answer no longer."""


class StateStore(AnswerState, Protocol):
    """All that a process, or several of them, remember of sessions.

    It keeps a limited number of sessions: one beyond it takes the place of the one that was used
    longest ago, of which nothing is known any more, its own scenarios neither. A
    request of that one that is under way goes on in a new session of its name.
    """

    async def sessions(self) -> tuple[str, ...]:
        """Every session that has state or scenarios, by name."""

    async def reset(self, session: str | None, *, scenarios: bool = False) -> None:
        """Forget a session's state (every session's for `None`), and its own scenarios if asked."""

    async def clear_scenario(self, scenario: str, *, session: str | None = None) -> None:
        """Forget what every session, or just this one, knows of a scenario's steps: it was
        replaced."""

    async def keep_scenarios(
        self, session: str, documents: Mapping[str, Json], *, was: int
    ) -> bool:
        """Keep scenario documents by name for one session alone, in place of those of revision
        `was`, 0 where it has none; false, and nothing is kept, if they are of another one by now.
        Sessions with one `alias` have their own scenarios in common."""


async def put_scenario(store: StateStore, session: str, name: str, document: Json) -> bool:
    """Keep one more document for a session alone; false if it replaced one of its name."""
    while True:
        revision, kept = await store.scenarios_of(session)
        if await store.keep_scenarios(session, {**kept, name: document}, was=revision):
            return name not in kept


async def drop_scenario(store: StateStore, session: str, name: str) -> bool:
    """Drop a session's own scenario; false if there was none."""
    while True:
        revision, kept = await store.scenarios_of(session)
        if name not in kept:
            return False
        left = {other: document for other, document in kept.items() if other != name}
        if await store.keep_scenarios(session, left, was=revision):
            return True
