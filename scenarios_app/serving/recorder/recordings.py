"""The recordings under way: whose, in which mode, and what they hold so far."""

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
# So many interactions and requests one recording holds; a run that asks more is no test.
MOST: Final = 10_000
# How long an end waits for answers that are still being given.
END_SECONDS: Final = 5.0


@dataclass(frozen=True, slots=True)
class Asked:
    """A request that nothing recorded answers, without its secrets."""

    provider: str
    request: RecordedRequest


@dataclass(frozen=True, slots=True)
class Ended:
    """What a recording came to. `interactions` are in the order in which they were asked;
    `problems` say what was to be kept and could not be."""

    interactions: tuple[Interaction, ...]
    missed: tuple[Asked, ...]
    served: frozenset[tuple[str, str]]
    problems: tuple[str, ...]


@dataclass
class Recording:
    """One session's recording, or with the session None that of every session without one of its
    own. In mode `none` only what is recorded answers, in `new` what is not is asked for upstream,
    in `all` everything is. `upstreams` are base URLs by provider, those of the settings where it is
    empty. `keys` are real ones by provider, sent in place of the session's own; an empty one leaves
    the session's. From `ends_at` on, in seconds of `time.monotonic`, it answers nothing more.
    `cassettes` are scenario documents that each session which it is for gets, in this `state`.

    It is written by event loops and read by others.
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
    _missed: list[Asked] = field(default_factory=list)
    _served: set[tuple[str, str]] = field(default_factory=set)
    _problems: list[str] = field(default_factory=list)
    _changed: Condition = field(default_factory=lambda: Condition(RLock()), repr=False)

    @property
    def records(self) -> bool:
        """Whether what nothing answers is asked for upstream."""
        return self.mode != "none"

    def is_over(self, now: float) -> bool:
        """Whether its time is up; it still holds what it recorded."""
        return self.ends_at is not None and now >= self.ends_at

    async def give_cassettes(self, session: str) -> None:
        """Have a session its own copy of what is recorded, before its first request is answered."""
        with self._changed:
            known = session in self._sessions
            self._sessions.add(session)
        if self.state is not None and not known:
            for document in self.cassettes:
                await put_scenario(self.state, session, str(document["name"]), document)

    def begin(self) -> int | None:
        """The place of an interaction that begins now; None where there is no more room."""
        with self._changed:
            if len(self._slots) >= MOST:
                self.tell(f"more than {MOST:,} interactions: what came later is not kept")
                return None
            self._slots.append(None)
            self._open += 1
            return len(self._slots) - 1

    def end(self, place: int | None, interaction: Interaction | None, problem: str = "") -> None:
        """What became of the interaction at this place; None where nothing is kept of it."""
        with self._changed:
            if problem:
                self.tell(problem)
            if place is not None:
                self._slots[place] = interaction
                self._open -= 1
                self._changed.notify_all()

    def serve(self, scenario: str, step: str) -> None:
        """The step of this label has answered."""
        with self._changed:
            self._served.add((scenario, step))

    def miss(self, asked: Asked) -> None:
        """Nothing that is recorded answers this."""
        with self._changed:
            if len(self._missed) < MOST:
                self._missed.append(asked)

    def __len__(self) -> int:
        """How many interactions it holds."""
        with self._changed:
            return sum(slot is not None for slot in self._slots)

    def __bool__(self) -> bool:
        return True

    @property
    def problems(self) -> tuple[str, ...]:
        with self._changed:
            return tuple(self._problems)

    def ended(self, *, seconds: float = END_SECONDS) -> Ended:
        """What it holds, once what was asked is answered, or after so many seconds."""
        with self._changed:
            if not self._changed.wait_for(lambda: not self._open, seconds):
                self.tell(f"{self._open} answers were still being given: they are not kept")
            return Ended(
                tuple(slot for slot in self._slots if slot is not None),
                tuple(self._missed),
                frozenset(self._served),
                tuple(self._problems),
            )

    def tell(self, problem: str) -> None:
        """Something that was to be kept and could not be; told once."""
        with self._changed:
            if problem not in self._problems and len(self._problems) < MOST:
                self._problems.append(problem)


# By session.
Recordings: TypeAlias = dict[str | None, Recording]


def recording_of(
    recordings: Recordings, session: str, *, clock: Callable[[], float] = time.monotonic
) -> Recording | None:
    """The recording that a session's requests belong to, begun under its name or its key's."""
    recording = recordings.get(session) or recordings.get(alias(session)) or recordings.get(None)
    return None if recording is None or recording.is_over(clock()) else recording
