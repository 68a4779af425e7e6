"""Loads a session for its verdict: its journal rows, its state and its scenarios."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from asgiref.sync import async_to_sync

from scenarios_app.catalog import catalog
from scenarios_app.control.kit import journal_completeness, rows_of_session
from scenarios_app.control.matches import iterate_rows, parse_row
from scenarios_app.engine.document import DocumentError
from scenarios_app.engine.journal_entry import COLUMNS
from scenarios_app.engine.state import SessionState
from scenarios_app.models import ServedRequest
from scenarios_app.serving.options import Options
from scenarios_app.serving.services import services
from scenarios_app.verdict.session import JudgedExchange, JudgedSession

# Bodies of one session that are read for its verdict; rows beyond it are judged without bodies.
MAX_BODY_CHARS = 64_000_000


@dataclass(frozen=True, slots=True)
class LoadedSession:
    """A session for a verdict, with its private `documents` by name. `complete` is false if the
    journal may lack some of its requests; `lost` is the number that it certainly lacks."""

    session: JudgedSession
    complete: bool
    lost: int
    documents: dict[str, Any]


def list_session_names() -> list[str]:
    """Return the sorted names of all sessions in the journal, if flushed, or the state."""
    rows = rows_of_session(None).order_by().values_list("session", flat=True).distinct()
    return sorted({*rows, *async_to_sync(services().state.sessions)()})


def load_session(name: str) -> LoadedSession:
    """Return a session as it is now; the caller flushes the journal first. If one of its private
    scenarios is invalid, only the common ones are visible to it."""
    current = services()
    state, (version, documents) = _read_state(name)
    try:
        index = catalog.index_for(documents, version)
    except DocumentError:
        # Stored under other settings; requests got an error.
        index = catalog.snapshot().index
    text_left = MAX_BODY_CHARS
    exchanges: list[JudgedExchange] = []
    for row in iterate_rows(rows_of_session(name), after="pk__gt"):
        text_left -= len(row.request_body) + len(row.response_body)
        exchanges.append(to_exchange(row, current.pipeline.options, bodies=text_left >= 0))
    journal = journal_completeness(name)
    consumed = {(step.scenario, step.key) for step in state.consumed}
    attempted = {(attempt.step.scenario, attempt.step.key) for attempt, _ in state.attempts}
    session = JudgedSession(
        name,
        tuple(sorted(exchanges, key=lambda exchange: exchange.at)),
        scenarios=index.by_name,
        own=frozenset(documents),
        served=current.cluster.served_in(name).union(consumed, attempted),
        violations=state.violations,
    )
    complete = bool(journal["complete"]) and text_left >= 0 and state.ordinal <= len(exchanges)
    return LoadedSession(session, complete, journal["lost"], dict(documents))


@async_to_sync
async def _read_state(name: str) -> tuple[SessionState, tuple[int, Mapping[str, Any]]]:
    """Return a session's state, and the revision and documents of its private scenarios. Both are
    read in one switch to the event loop, since the switch costs more than the reads."""
    state = services().state
    return await state.read(name), await state.scenarios_of(name)


def to_exchange(row: ServedRequest, options: Options, *, bodies: bool = True) -> JudgedExchange:
    """Return a journal row as an exchange to judge, without its bodies if `bodies` is false."""
    values: dict[str, Any] = {name: getattr(row, name) for name in COLUMNS.values()}
    values |= {"uid": str(row.uid), "at": row.at.timestamp()}
    if not bodies:
        values |= {"request_body": "", "response_body": "", "response_cut": True}
    readable = bodies and not row.request_cut
    return JudgedExchange(**values, request=parse_row(row, options) if readable else None)
