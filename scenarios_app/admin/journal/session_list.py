"""Sessions by their names for people: their display names, and what tells keys apart."""

import asyncio
import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from asgiref.sync import async_to_sync
from django.db.models import Count, Max, Min

from mockllm_site.kit.admin.records import excerpt
from scenarios_app.admin.journal.record import session_url
from scenarios_app.engine.state import SessionState, is_key_session
from scenarios_app.models import UNMATCHED_ROWS, ServedRequest, SessionName
from scenarios_app.serving.services import services

# Sessions whose names are derived from what they hold; others are found by key and display name.
MAX_DERIVED_NAMES: Final = 500
# The session of a conversation of the chat, or of a side of a comparison.
_CHAT_SESSION: Final = re.compile(r"chat-[0-9a-f]{8}-")


@dataclass(frozen=True, slots=True)
class JournalCounts:
    """The numbers of a session's requests in the journal, and the time of the last one."""

    requests: int = 0
    unmatched: int = 0
    last: datetime | None = None


@dataclass(frozen=True, slots=True)
class FoundSession:
    """A session with its name for people, or "", and the counts of its requests."""

    name: str
    called: str
    seen: JournalCounts

    @property
    def url(self) -> str:
        return session_url(self.name)


@dataclass(slots=True)
class SessionLine:
    """A session in the list, with counts of the journal, its state, and the `revision` of its
    private scenarios. `called` is its name for people, or "". `passed` is the verdict, None if it
    was not judged."""

    name: str
    seen: JournalCounts
    state: SessionState
    revision: int
    called: str = ""
    passed: bool | None = None

    @property
    def url(self) -> str:
        return session_url(self.name)


def find_sessions(query: str = "") -> Sequence[FoundSession]:
    """Return the sessions with state or requests, the last used first; with a query those whose key
    or name contains it, in any letter case."""
    counts = journal_counts()
    names = {*async_to_sync(services().state.sessions)(), *counts}
    newest = sorted(names, key=lambda name: (_last_used(counts[name]), name), reverse=True)
    called = dict(SessionName.objects.values_list("session", "name"))
    called = _derived_names(newest[:MAX_DERIVED_NAMES]) | called
    term = query.casefold()
    return [
        FoundSession(name, called.get(name, ""), counts[name])
        for name in newest
        if term in name.casefold() or term in called.get(name, "").casefold()
    ]


def names_for_people(sessions: Collection[str]) -> dict[str, str]:
    """Return the display names of these sessions, else their derived ones; a session that a person
    or a program named itself has none."""
    return _derived_names(sessions) | display_names_of(sessions)


def _derived_names(sessions: Iterable[str]) -> dict[str, str]:
    """Return names for the sessions of API keys and chats: the names of their own scenarios, which
    a test loads from its files, else their first message. Those without either are left out."""
    names = [name for name in sessions if is_key_session(name) or _CHAT_SESSION.match(name)]
    first = ServedRequest.objects.order_by().filter(session__in=names).exclude(request_preview="")
    keys = [pk for _, pk in first.values_list("session").annotate(Min("pk"))]
    rows = ServedRequest.objects.order_by().filter(pk__in=keys)
    messages = rows.values_list("session", "request_preview")
    derived = {name: f"“{excerpt(text)}”" for name, text in messages}
    for name, own in zip(names, _own_scenarios(names), strict=True):
        if own:
            derived[name] = ", ".join(own)
    return derived


@async_to_sync
async def _own_scenarios(sessions: Sequence[str]) -> list[list[str]]:
    """Return the names of each session's own scenarios, sorted."""
    state = services().state
    own = await asyncio.gather(*(state.scenarios_of(name) for name in sessions))
    return [sorted(documents) for _, documents in own]


def display_names_of(sessions: Collection[str]) -> dict[str, str]:
    """Return the display names of these sessions, by session; those without one are left out."""
    rows = SessionName.objects.filter(session__in=sessions)
    return dict(rows.values_list("session", "name"))


def lines_of(sessions: Sequence[FoundSession]) -> list[SessionLine]:
    """Return the sessions with their states, not judged."""
    states = _read_states([session.name for session in sessions])
    return [
        SessionLine(session.name, session.seen, state, revision, session.called)
        for session, (state, revision) in zip(sessions, states, strict=True)
    ]


@async_to_sync
async def _read_states(names: Sequence[str]) -> list[tuple[SessionState, int]]:
    """Return each session's state and the revision of its private scenarios, all in one switch to
    the event loop, since the switch costs more than the reads."""
    state = services().state

    async def read(name: str) -> tuple[SessionState, int]:
        revision, _ = await state.scenarios_of(name)
        return await state.read(name), revision

    return await asyncio.gather(*map(read, names))


def journal_counts(name: str | None = None) -> defaultdict[str, JournalCounts]:
    """Return counts of journaled requests by session, zeros for others; with `name` only its."""
    rows = ServedRequest.objects.order_by()
    if name is not None:
        rows = rows.filter(session=name)
    unmatched = Count("pk", filter=UNMATCHED_ROWS)
    counted = rows.values_list("session").annotate(Count("pk"), unmatched=unmatched, last=Max("at"))
    counts = {session: JournalCounts(*numbers) for session, *numbers in counted}
    return defaultdict(JournalCounts, counts)


def _last_used(counts: JournalCounts) -> float:
    """Return the Unix time of the last request, 0.0 without any."""
    return counts.last.timestamp() if counts.last else 0.0
