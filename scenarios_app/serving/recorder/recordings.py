"""Holds the active recordings: their sessions, modes and interactions."""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from threading import Condition, RLock
from typing import Final, Literal, TypeAlias

from scenarios_app.engine.canonical import Json
from scenarios_app.engine.state import StateStore, alias, put_scenario
from scenarios_app.recording import Interaction, RecordedRequest

Mode: TypeAlias = Literal["none", "new", "all"]
MODES: Final[tuple[Mode, ...]] = ("none", "new", "all")
# Limit of recorded interactions and requests in one recording.
MAX_INTERACTIONS: Final = 10_000
# The end of a recording waits this long for running answers.
END_SECONDS: Final = 5.0


@dataclass(frozen=True, slots=True)
class MissedRequest:
    """A request without secrets that no recording answers."""

    provider: str
    request: RecordedRequest


@dataclass(frozen=True, slots=True)
class RecordedSession:
    """The result of a recording. `interactions` are in the order of their requests; `problems` say
    what could not be kept."""

    interactions: tuple[Interaction, ...]
    missed: tuple[MissedRequest, ...]
    served: frozenset[tuple[str, str]]
    problems: tuple[str, ...]


@dataclass
class Recording:
    """The recording of one session, or with session None of every session that has none.

    In mode `none` only recordings answer, in `new` unanswered requests go upstream, in `all` every
    request does. `upstreams` maps providers to base URLs; if it is empty, those of the settings are
    used. `keys` are real API keys by provider that replace the session's key; an empty one keeps
    it. The recording answers nothing after `ends_at` seconds of `time.monotonic`. `cassettes` are
    scenario documents that each of its sessions gets in `state`.

    Event loops write it and other threads read it.
    """

    session: str | None
    mode: Mode
    name: str = ""
    keys: Mapping[str, str] = field(default_factory=dict, repr=False)
    cassettes: tuple[dict[str, Json], ...] = field(default=(), repr=False)
    state: StateStore | None = field(default=None, repr=False)
    upstreams: Mapping[str, str] = field(default_factory=dict)
    ends_at: float | None = None
    _sessions: set[str] = field(default_factory=set)
    _slots: list[Interaction | None] = field(default_factory=list)
    _open: int = 0
    _missed: list[MissedRequest] = field(default_factory=list)
    _served: set[tuple[str, str]] = field(default_factory=set)
    _problems: list[str] = field(default_factory=list)
    _changed: Condition = field(default_factory=lambda: Condition(RLock()), repr=False)

    @property
    def records(self) -> bool:
        """Return whether unanswered requests are forwarded."""
        return self.mode != "none"

    def is_over(self, now: float) -> bool:
        """Return whether its time limit has passed; the recorded interactions stay."""
        return self.ends_at is not None and now >= self.ends_at

    async def give_cassettes(self, session: str) -> None:
        """Give a session its copy of the cassettes, unless it has it. Requests at the same moment
        all give it, which changes nothing."""
        if self.state is None or session in self._sessions:
            return
        for document in self.cassettes:
            await put_scenario(self.state, session, str(document["name"]), document)
        self._sessions.add(session)

    def begin(self) -> int | None:
        """Return the number of the slot of a new interaction, or None if the recording is full."""
        with self._changed:
            if len(self._slots) >= MAX_INTERACTIONS:
                self.add_problem(
                    f"more than {MAX_INTERACTIONS:,} interactions; later ones are not recorded"
                )
                return None
            self._slots.append(None)
            self._open += 1
            return len(self._slots) - 1

    def end(self, place: int | None, interaction: Interaction | None, problem: str = "") -> None:
        """Fill the slot `place`, if any, with the interaction or None; add the problem, if any."""
        with self._changed:
            if problem:
                self.add_problem(problem)
            if place is not None:
                self._slots[place] = interaction
                self._open -= 1
                self._changed.notify_all()

    def serve(self, scenario: str, step: str) -> None:
        """Record that the step with this label answered."""
        with self._changed:
            self._served.add((scenario, step))

    def add_miss(self, request: MissedRequest) -> None:
        """Record a request that no recording answers."""
        with self._changed:
            if len(self._missed) < MAX_INTERACTIONS:
                self._missed.append(request)

    def __len__(self) -> int:
        """Return the number of interactions."""
        with self._changed:
            return sum(slot is not None for slot in self._slots)

    def __bool__(self) -> bool:
        """Return True, also without interactions."""
        return True

    @property
    def problems(self) -> tuple[str, ...]:
        with self._changed:
            return tuple(self._problems)

    def wait_for_result(self, *, seconds: float = END_SECONDS) -> RecordedSession:
        """Return the result once all requests are answered, or after this many seconds."""
        with self._changed:
            if not self._changed.wait_for(lambda: not self._open, seconds):
                self.add_problem(f"{self._open} answers were still running; they are not recorded")
            return RecordedSession(
                tuple(slot for slot in self._slots if slot is not None),
                tuple(self._missed),
                frozenset(self._served),
                tuple(self._problems),
            )

    def add_problem(self, problem: str) -> None:
        """Add a problem to the result, unless it is listed already."""
        with self._changed:
            if problem not in self._problems and len(self._problems) < MAX_INTERACTIONS:
                self._problems.append(problem)


# Recordings by session; None is for all sessions.
Recordings: TypeAlias = dict[str | None, Recording]


def recording_of(
    recordings: Recordings, session: str, *, clock: Callable[[], float] = time.monotonic
) -> Recording | None:
    """Return the recording that a session's requests belong to, found by its name or its key's.
    None without one, and once it is over."""
    recording = recordings.get(session) or recordings.get(alias(session)) or recordings.get(None)
    return None if recording is None or recording.is_over(clock()) else recording
