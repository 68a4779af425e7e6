"""Matches journal rows against conditions: for `verify`, and for the coverage of a run.

A row whose body was cut or masked may be undecidable; it counts as unjudged.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from operator import itemgetter
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
from scenarios_app.serving.read import read_call
from scenarios_app.serving.services import services
from scenarios_app.verdict.coverage import find_unmet_conditions, select_met_conditions
from scenarios_app.verdict.metrics import merge_counts
from scenarios_app.wire.base import Call
from scenarios_app.wire.errors import WireError
from scenarios_app.wire.registry import find_target

MAX_NEAREST = 3
# Only the latest requests that do not match are ranked by distance.
MAX_RANKED = 1_000
RESPONSE_COLUMNS = ("response_headers", "response_text")
# Ways of requests that no scenario was looked for.
REFUSED_WAYS = frozenset({"", "url"})
_BATCH = 100
# A masked string after its key, also in JSON within JSON.
_MASKED = re.compile(r'\\*"\s*:\s*\\*"' + re.escape(MASK))

ScoredRow: TypeAlias = tuple[tuple[int, float], ServedRequest, RequestReader]


@dataclass(frozen=True, slots=True)
class MatchCount:
    """The number of certain matches, the nearest requests that do not match with the conditions
    that fail (nearest first), and the undecidable requests with the reason (oldest first)."""

    count: int
    nearest: tuple[tuple[ServedRequest, tuple[Mismatch, ...]], ...]
    unjudged: tuple[tuple[UUID, str], ...]


def count_matches(match: Match, rows: QuerySet[ServedRequest]) -> MatchCount:
    """Count the journal rows that match. A refused request (a 400, a 401, an unknown path) is
    skipped: no step could have answered it."""
    matcher = _RowMatcher.of(match, services().pipeline.options)
    count, missed = 0, 0
    nearest: list[ScoredRow] = []
    unjudged: list[tuple[UUID, str]] = []
    for row in iterate_newest_first(rows):
        match matcher.match_row(row):
            case True:
                count += 1
            case RequestReader() as reader if missed < MAX_RANKED:
                missed += 1
                score = matcher.certain.count_failed(reader), matcher.certain.distance(reader)
                nearest = sorted([*nearest, (score, row, reader)], key=itemgetter(0))[:MAX_NEAREST]
            case str(reason):
                unjudged.append((row.uid, reason))
    near = tuple((row, matcher.certain.mismatches(reader)) for _, row, reader in nearest)
    return MatchCount(count, near, tuple(reversed(unjudged)))


@dataclass(frozen=True, slots=True)
class _RowMatcher:
    """Decides whether a journal row meets a `match`, or why that is undecidable: its body was cut
    or a tested value is masked. `certain` holds the conditions on values that the journal stores
    unmasked, `without_body` those of them that need no body, and `masked_headers` the headers that
    are stored masked."""

    certain: Match
    without_body: Match
    masked_headers: tuple[str, ...]
    options: Options

    @classmethod
    def of(cls, match: Match, options: Options) -> "_RowMatcher":
        """Return the matcher for a `match`; `options` name the headers that are stored masked."""
        certain = Match(tuple(c for c in match.conditions if not c.is_masked))
        without_body = Match(tuple(c for c in certain.conditions if not c.needs_body))
        headers = match.of(HeaderCondition)
        masked = tuple(header.subject.name for header in headers if header.is_masked)
        return cls(certain, without_body, masked, options)

    def match_row(self, row: ServedRequest) -> "bool | RequestReader | str":
        """Return True for a match, the reader if it does not match, a reason if that cannot be
        decided, and False for a refused request."""
        if not row.matched and row.way in REFUSED_WAYS:
            return False
        request = None if row.request_cut else parse_row(row, self.options)
        if request is not None:
            conditions, reader = self.certain, RequestReader(request)
        else:
            conditions, reader = self.without_body, RequestReader(_request_without_body(row))
        if not conditions.holds(reader):
            if request is not None and self._may_be_masked(row, reader):
                return "the journal masks values in its body"
            return reader
        if any(name not in row.request_headers for name in self.masked_headers):
            return reader
        if request is None and len(self.certain.conditions) > len(self.without_body.conditions):
            return "the journal has not all of its body"
        if self.masked_headers:
            return f"the journal masks {', '.join(self.masked_headers)}"
        return True

    def _may_be_masked(self, row: ServedRequest, reader: RequestReader) -> bool:
        """Return True if the body has masked values that every failed condition may be due to."""
        return bool(_MASKED.search(row.request_body)) and all(
            condition.may_be_masked
            for condition in self.certain.conditions
            if not condition.holds(reader)
        )


def iterate_newest_first(rows: QuerySet[ServedRequest]) -> Iterator[ServedRequest]:
    """Yield the rows without their responses, the newest first."""
    return iterate_rows(rows.order_by("-pk").defer(*RESPONSE_COLUMNS), after="pk__lt")


def iterate_rows(rows: QuerySet[ServedRequest], after: str) -> Iterator[ServedRequest]:
    """Yield the rows in batches, since an open cursor would block writers. The rows are ordered by
    primary key; `after` is the lookup of the next ones, `pk__gt` or `pk__lt`."""
    batch = list(rows[:_BATCH])
    yield from batch
    while len(batch) == _BATCH:
        batch = list(rows.filter(**{after: batch[-1].pk})[:_BATCH])
        yield from batch


def call_of(row: ServedRequest) -> Call:
    """Return the call of a row, as far as the journal has it."""
    body = row.request_body.encode()
    return Call(row.method, row.path, row.query, row.request_headers, body)


def parse_row(row: ServedRequest, options: Options) -> CanonicalRequest | None:
    """Return the request of a row, whose body must be whole, or None if it cannot be parsed any
    more."""
    call = call_of(row)
    target = find_target(call)
    if target is None:
        return None
    try:
        request = read_call(call, target, options)
        archival = target.endpoint.archival if target.endpoint else None
        if archival is None or not archival.references(request, {}):
            return request
        state = services().state
        return async_to_sync(archive.load_references)(request, archival, row.session, archive=state)
    except WireError:
        # A masked value may have been of another type, or a stored response may be gone.
        return None


def _request_without_body(row: ServedRequest) -> CanonicalRequest:
    """Return the request of a row as far as it can be built without the body."""
    target = find_target(call_of(row))
    route = target.endpoint.canonical if target and target.endpoint else row.path
    return CanonicalRequest(row.provider, row.path, route, row.model, headers=row.request_headers)


def rows_of_coverage_run(rows: QuerySet[ServedRequest]) -> QuerySet[ServedRequest]:
    """Return the rows since the coverage run began."""
    return rows.filter(at__gte=datetime.fromtimestamp(services().steps.since, UTC))


def record_met_conditions(rows: QuerySet[ServedRequest]) -> None:
    """Record which step conditions these requests meet, for the coverage of the run."""
    current = services()
    seen = merge_counts([current.steps.to_message()])
    scenarios = {**current.steps.session_scenarios(), **catalog.snapshot().index.by_name}
    wanted = dict(find_unmet_conditions(scenarios.values(), seen.served, seen.met))
    if not wanted:
        return
    for row in iterate_newest_first(rows_of_coverage_run(rows)):
        request = None if row.request_cut else parse_row(row, current.pipeline.options)
        if request is None or not (row.way or row.matched):
            continue
        met = list(select_met_conditions(wanted.items(), request))
        current.steps.add_met_conditions(met)
        for key in met:
            del wanted[key]
        if not wanted:
            return
