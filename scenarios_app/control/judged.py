"""What is judged: the journal's rows of a session with what its state and scenarios hold."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, cast

from asgiref.sync import async_to_sync

from scenarios_app.catalog import catalog
from scenarios_app.control.kit import completeness, rows_of_session
from scenarios_app.control.matches import read_again
from scenarios_app.engine.document import DocumentError
from scenarios_app.engine.state import SessionState
from scenarios_app.models import ServedRequest
from scenarios_app.serving.options import Options
from scenarios_app.serving.services import services
from scenarios_app.verdict.session import JudgedExchange, JudgedSession, Outcome

# Bodies of one session that are looked at together, in characters; the rest is judged without.
MOST_TEXT = 64_000_000
_BATCH = 100


@dataclass(frozen=True, slots=True)
class Judged:
    """A session, and whether all that it did is known. `documents` are its own scenarios."""

    session: JudgedSession
    complete: bool
    lost: int
    documents: dict[str, Any]


def sessions_known() -> list[str]:
    """Every session that the journal or the state knows, by name."""
    rows = rows_of_session(None).order_by().values_list("session", flat=True).distinct()
    return sorted({*rows, *async_to_sync(services().state.sessions)()})


def judged(name: str) -> Judged:
    """A session as it is now; the journal has been flushed."""
    here = services()
    state, (version, documents) = _remembered(name)
    try:
        index = catalog.index_for(documents, version)
    except DocumentError:
        # What was pushed under other settings holds no longer; requests have met it as an error.
        index = catalog.snapshot().index
    text_left = MOST_TEXT
    exchanges: list[JudgedExchange] = []
    for row in _rows(name):
        text_left -= len(row.request_body) + len(row.response_body)
        exchanges.append(exchange_of(row, here.pipeline.options, bodies=text_left >= 0))
    known = completeness(name)
    consumed = {(step.scenario, step.key) for step in state.consumed}
    tried = {(attempt.step.scenario, attempt.step.key) for attempt, _ in state.attempts}
    session = JudgedSession(
        name,
        tuple(sorted(exchanges, key=lambda one: one.at)),
        scenarios=index.by_name,
        own=frozenset(documents),
        served=here.everywhere.served_in(name).union(consumed, tried),
        violations=state.violations,
    )
    complete = bool(known["complete"]) and text_left >= 0 and state.ordinal <= len(exchanges)
    return Judged(session, complete, known["lost"], dict(documents))


@async_to_sync
async def _remembered(name: str) -> tuple[SessionState, tuple[int, Mapping[str, Any]]]:
    """Both at once: each way to the event loop and back costs more than what is done there."""
    state = services().state
    return await state.read(name), await state.scenarios_of(name)


def _rows(name: str) -> Iterator[ServedRequest]:
    """In batches: a cursor that stays open would keep everybody from writing."""
    rows = rows_of_session(name)
    batch = list(rows[:_BATCH])
    yield from batch
    while len(batch) == _BATCH:
        batch = list(rows.filter(pk__gt=batch[-1].pk)[:_BATCH])
        yield from batch


def exchange_of(row: ServedRequest, options: Options, *, bodies: bool = True) -> JudgedExchange:
    """A row of the journal as it is judged, with its bodies or as if they were not kept."""
    at = row.at.timestamp()
    ended_at = at + row.duration_ms / 1000
    head_ms = row.timings.get("head_ms")
    readable = bodies and not row.request_cut
    return JudgedExchange(
        id=str(row.uid),
        at=at,
        answered_at=ended_at if head_ms is None else at + head_ms / 1000,
        ended_at=ended_at,
        method=row.method,
        path=row.path,
        status=row.status,
        outcome=cast(Outcome, row.outcome),
        provider=row.provider,
        query=row.query,
        streamed=row.streamed,
        scenario=row.scenario,
        step=row.step,
        step_key=row.step_key,
        way=row.way,
        matched=row.matched,
        fallback=row.fallback,
        fault=row.fault,
        violations=tuple(row.violations),
        near_misses=row.near_misses,
        request=read_again(row, options) if readable else None,
        request_headers=row.request_headers,
        request_body=row.request_body if bodies else "",
        request_bytes=row.request_bytes,
        response_headers=row.response_headers,
        response_body=row.response_body if bodies else "",
        response_bytes=row.response_bytes,
        response_cut=row.response_cut or not bodies,
    )
