"""Matches the requests that the journal has kept: read again from what it has of them, and left
unjudged where that is too little to be sure; which conditions of steps they meet is looked at
before they leave it."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TypeAlias
from uuid import UUID

from asgiref.sync import async_to_sync
from django.db.models import QuerySet

from scenarios_app.catalog import catalog
from scenarios_app.engine.canonical import CanonicalRequest
from scenarios_app.engine.conditions.match import Match, Mismatch
from scenarios_app.engine.conditions.request import HeaderCondition
from scenarios_app.engine.conditions.subjects import RequestReader
from scenarios_app.engine.secrets import MASK
from scenarios_app.models import ServedRequest
from scenarios_app.serving import archive
from scenarios_app.serving.options import Options
from scenarios_app.serving.read import admit
from scenarios_app.serving.services import services
from scenarios_app.verdict.coverage import find_unmet_conditions, select_met_conditions
from scenarios_app.wire.base import Call
from scenarios_app.wire.errors import WireError
from scenarios_app.wire.registry import find_target

NEAREST = 3
# Near ones are sought among so many of the last.
AMONG = 1_000
COLUMNS = (
    "uid",
    "session",
    "provider",
    "method",
    "path",
    "query",
    "model",
    "way",
    "matched",
    "request_headers",
    "request_body",
    "request_cut",
)
_BATCH = 100
# A masked string behind its key, also in JSON within JSON.
_MASKED = re.compile(r'\\*"\s*:\s*\\*"' + re.escape(MASK))

Found: TypeAlias = tuple[tuple[int, float], ServedRequest, RequestReader]


@dataclass(frozen=True, slots=True)
class NearRequest:
    """A request that does not match, and what keeps it from it."""

    row: ServedRequest
    mismatches: tuple[Mismatch, ...]


@dataclass(frozen=True, slots=True)
class Tally:
    """How many requests match for sure, which came nearest of those that do not, nearest first,
    and for which there is a reason why nobody can tell, oldest first."""

    count: int
    nearest: tuple[NearRequest, ...]
    unjudged: tuple[tuple[UUID, str], ...]


def tally(match: Match, rows: QuerySet[ServedRequest]) -> Tally:
    """Judge requests of the journal.

    A request that was refused (a 400, a 401, a path that is not there) never was one that a step
    could have answered: it counts for nothing.
    """
    judge = _Judge.of(match, services().pipeline.options)
    count, missed = 0, 0
    nearest: list[Found] = []
    unjudged: list[tuple[UUID, str]] = []
    for row in newest_first(rows):
        match judge.judge(row):
            case True:
                count += 1
            case RequestReader() as reader if missed < AMONG:
                missed += 1
                failed, distance = judge.sure.count_failed(reader), judge.sure.distance(reader)
                nearest.append(((failed, distance), row, reader))
                nearest = sorted(nearest, key=lambda found: found[0])[:NEAREST]
            case str(reason):
                unjudged.append((row.uid, reason))
    return Tally(
        count=count,
        nearest=tuple(
            NearRequest(row, judge.sure.mismatches(reader)) for _, row, reader in nearest
        ),
        unjudged=tuple(reversed(unjudged)),
    )


@dataclass(frozen=True, slots=True)
class _Judge:
    """`sure` are the conditions on what the journal keeps of every request it has whole, `outside`
    those of them that need no body, and `masked` the headers of which it keeps four characters."""

    sure: Match
    outside: Match
    masked: tuple[str, ...]
    options: Options

    @classmethod
    def of(cls, match: Match, options: Options) -> "_Judge":
        sure = Match(tuple(one for one in match.conditions if not one.is_masked))
        outside = Match(tuple(one for one in sure.conditions if not one.needs_body))
        headers = match.of(HeaderCondition)
        masked = tuple(one.subject.name for one in headers if one.is_masked)
        return cls(sure, outside, masked, options)

    def judge(self, row: ServedRequest) -> "bool | RequestReader | str":
        """True for a match, the reading for none, a reason where nobody can tell, and False for
        what is not asked about."""
        if not row.way and not row.matched:
            return False
        request = None if row.request_cut else read_again(row, self.options)
        if request is not None:
            conditions, reader = self.sure, RequestReader(request)
        else:
            conditions, reader = self.outside, RequestReader(_from_outside(row))
        if not conditions.holds(reader):
            if request is not None and self._may_be_masked(row, reader):
                return "the journal masks values in its body"
            return reader
        if any(name not in row.request_headers for name in self.masked):
            return reader
        if request is None and len(self.sure.conditions) > len(self.outside.conditions):
            return "the journal has not all of its body"
        if self.masked:
            return f"the journal masks {', '.join(self.masked)}"
        return True

    def _may_be_masked(self, row: ServedRequest, reader: RequestReader) -> bool:
        """Whether all that keeps a request from matching may have been masked in its body."""
        return bool(_MASKED.search(row.request_body)) and all(
            condition.may_be_masked
            for condition in self.sure.conditions
            if not condition.holds(reader)
        )


def newest_first(rows: QuerySet[ServedRequest]) -> Iterator[ServedRequest]:
    """The rows, in batches: a cursor that stays open would keep everybody from writing."""
    newest = rows.order_by("-pk").only(*COLUMNS)
    batch = list(newest[:_BATCH])
    while batch:
        yield from batch
        batch = list(newest.filter(pk__lt=batch[-1].pk)[:_BATCH])


def _call(row: ServedRequest) -> Call:
    body = row.request_body.encode()
    return Call(row.method, row.path, row.query, row.request_headers, body)


def read_again(row: ServedRequest, options: Options) -> CanonicalRequest | None:
    """The request of a row whose body was kept whole; None where it cannot be read any more."""
    call = _call(row)
    target = find_target(call)
    if target is None:
        return None
    try:
        request = admit(call, target, options)
        archival = target.endpoint.archival if target.endpoint else None
        if archival is None or not archival.references(request, {}):
            return request
        state = services().state
        return async_to_sync(archive.resolve)(request, archival, row.session, archive=state)
    except WireError:
        # What was masked in it may have been of another type, what it named is kept no longer.
        return None


def _from_outside(row: ServedRequest) -> CanonicalRequest:
    """What is known of a request without its body."""
    target = find_target(_call(row))
    route = target.endpoint.canonical if target and target.endpoint else row.path
    return CanonicalRequest(
        provider=row.provider,
        path=row.path,
        route=route,
        model=row.model,
        headers=row.request_headers,
    )


def since_begin(rows: QuerySet[ServedRequest]) -> QuerySet[ServedRequest]:
    """Those of the rows that the run's coverage is about."""
    return rows.filter(at__gte=datetime.fromtimestamp(services().steps.since, UTC))


def observe(rows: QuerySet[ServedRequest]) -> None:
    """Note which conditions these requests meet, of common scenarios and of those that sessions
    have, or had, as their own."""
    here = services()
    seen = here.steps.coverage()
    scenarios = {**here.steps.session_scenarios(), **catalog.snapshot().index.by_name}
    wanted = dict(find_unmet_conditions(scenarios.values(), seen.served, seen.met))
    if not wanted:
        return
    for row in newest_first(since_begin(rows).only(*COLUMNS)):
        request = None if row.request_cut else read_again(row, here.pipeline.options)
        if request is None or not (row.way or row.matched):
            continue
        met = list(select_met_conditions(wanted.items(), request))
        here.steps.add_met_conditions(met)
        for named in met:
            del wanted[named]
        if not wanted:
            return
