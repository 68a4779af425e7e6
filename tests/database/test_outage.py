"""PostgreSQL is away while requests are answered: the journal has all of them afterwards."""

from pathlib import Path

import pytest

from scenarios_app.journal import ENTRY_BYTES
from tools.load.outage import outage

REQUESTS_BEFORE, REQUESTS_DURING, REQUESTS_AFTER = 50, 300, 50


@pytest.mark.parametrize("fast", [True, False])
def test_short_database_outage_loses_no_row(tmp_path: Path, fast: bool) -> None:
    report = outage(
        tmp_path,
        before=REQUESTS_BEFORE,
        during=REQUESTS_DURING,
        after=REQUESTS_AFTER,
        warm=True,
        fast=fast,
    )
    assert len(report.answered) == report.sent == REQUESTS_BEFORE + REQUESTS_DURING + REQUESTS_AFTER
    assert (report.complete, report.lost) == (True, 0)
    assert report.journal == report.answered
    # The database was away: no request was in it, and answers waited; the last may be running.
    assert report.inside == 0
    assert report.waiting >= (REQUESTS_DURING - 1) * ENTRY_BYTES
    # The mock still answers; requests that need the database get an error.
    assert (report.ready, report.healthy, report.database) == (200, 503, "OperationalError")
